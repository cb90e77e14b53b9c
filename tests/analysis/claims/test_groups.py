"""Groups of ranks that communicate at once share what they measure: they decide no claim; one group alone may."""

from __future__ import annotations

import msgspec
import pytest
from tests.analysis.made import curve, replaced, results_of

from collmark.analysis.claims.measured.material import gather
from collmark.core.grouping import Company, groups_of
from collmark.core.placement import Placement
from collmark.core.record import Record


def grouped(company: Company) -> list[Record]:
    group = groups_of("blocked:2", Placement(ranks_per_node=4), company)[0]
    return [
        replaced(record, case=msgspec.structs.replace(record.case, group=group, placement=group.placement))
        for record in curve()
    ]


@pytest.mark.parametrize(("company", "curves"), [(Company.ALONE, 1), (Company.TOGETHER, 0)])
def test_groups_at_once_decide_no_claim(company: Company, curves: int) -> None:
    measured = gather([results_of(grouped(company))])[""]
    assert len(measured.curves) == len(measured.longest) == curves


def test_a_group_alone_is_not_put_beside_all_ranks() -> None:
    measured = gather([results_of([*grouped(Company.ALONE), *curve()])])[""]
    one, other = measured.curves
    assert one.condition != other.condition
