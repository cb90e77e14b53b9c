"""What a report says of pairs: who is slow, in the picture, in the tables, and on the first screen."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from tests.analysis.made import case_of, curve, record_of, results_of
from tests.analysis.made_pairs import run_of, sweep_run
from tests.analysis.report.test_sections import section, table_of, words_of

from collmark.analysis.figures.pairs import MOST, tiles
from collmark.analysis.pairs.find import again
from collmark.analysis.pairs.of_runs import judge
from collmark.analysis.report.material import Material, gather
from collmark.analysis.report.sections.first import first
from collmark.analysis.report.sections.pairs import rows_of
from collmark.analysis.report.sentences import sentences
from collmark.core.errors import UsageError
from collmark.core.grouping import Company, groups_of
from collmark.core.placement import Placement


@pytest.fixture(scope="module")
def found() -> Material:
    sweep = sweep_run()
    (one,) = judge([sweep])
    there = [[*met] for met in again(one.sweep, one.rounds, 1)]
    names = ["pairs:" + "+".join(f"{a}-{b}" for a, b in met) for met in there]
    names += ["pairs:" + "+".join(f"{b}-{a}" for a, b in met) for met in there]
    return gather([sweep, run_of(names, "again", launches=5)])


def test_the_first_screen_names_who_is_slow(found: Material) -> None:
    said = sentences(found)
    assert said.found.startswith("gloo stream 1 MiB: rank 5 takes ")
    assert said.found.endswith(" % longer than usual between nodes.")
    assert "new launches (5 here)" in said.sure
    assert said.next == "Look at rank 5 first: take it out, and measure again."
    table = next(block for block in first(found).blocks if getattr(block, "anchor", "") == "verdicts")
    (row,) = table.rows  # type: ignore[union-attr]
    assert [cell.text for cell in row][:2] == ["rank 5", "other nodes"]
    assert float(row[2].text) == pytest.approx(1.2, abs=0.02)


def test_the_section_says_how_many_pairs_and_lists_the_furthest(found: Material) -> None:
    said = words_of(section(found, "pairs").blocks)
    assert "gloo stream 1 MiB: all 28 pairs of 4 nodes x 2 ranks, which scatter by " in said
    assert "again in 5 of 5 launches" in said
    rows = table_of(found, "pairs", "pairs-table").rows
    assert len(rows) == 56
    for row in rows[:14]:
        assert "5" in {row[1].text, row[3].text}
        assert float(row[6].text) == pytest.approx(1.2, abs=0.05)


def test_pairs_are_no_curves_and_other_records_stay(found: Material) -> None:
    assert found.table.empty
    both = gather([*found.results, results_of(curve(), "other"), sweep_run()])
    assert set(both.table["operation"]) == {"all_reduce"}
    assert both.pairs


def test_a_sweep_alone_names_nobody() -> None:
    said = sentences(gather([sweep_run()]))
    assert "not measured again yet: nobody is named" in said.found
    assert said.next == "Measure the suspects again: collmark pairs RUN --write-plan again.json."
    clean = sentences(gather([sweep_run(factor=1.0)]))
    assert "nothing is named (" in clean.found or "not measured again yet" in clean.found


def test_tiles_are_ranks_or_of_many_nodes(found: Material) -> None:
    rows = rows_of(found)
    square, what = tiles(rows)
    assert (square.shape, what) == ((8, 8), "rank")
    assert np.isnan(np.diag(square)).all()
    assert np.nanargmax(square.mean(axis=1)) == 5
    many = rows.assign(sender=rows["sender"] * 10, receiver=rows["receiver"] * 10, each=10)
    assert many[["sender", "receiver"]].max().max() > MOST
    square, what = tiles(many)
    assert (square.shape, what) == ((8, 8), "node")


def test_several_sweeps_are_refused() -> None:
    with pytest.raises(UsageError, match="sweep, other: several sweeps over pairs"):
        judge([sweep_run(), replace(sweep_run(), name="other")])


@pytest.mark.parametrize("shape", [(2, 2), (2, 4)], ids=["fewer", "as many, otherwise placed"])
def test_runs_of_other_ranks_are_refused(shape: tuple[int, int]) -> None:
    other = Placement(nodes=shape[0], ranks_per_node=shape[1])
    groups = groups_of("pairs:1", other, Company.TOGETHER)
    records = [record_of(case_of("stream", 64, placement=one.placement, group=one), 1e-4) for one in groups]
    with pytest.raises(UsageError, match="different numbers of ranks"):
        judge([sweep_run(), results_of(records, "small")])
