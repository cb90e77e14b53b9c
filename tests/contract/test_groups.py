"""Every operation in groups of ranks, alone and all at once: right results, of the group and of no other."""

from __future__ import annotations

import collections
from pathlib import Path

import msgspec
import pytest
from tests.contract.conftest import measure
from tests.mpi_libraries import PLACES, path_of

from collmark.bench.backends.index import BACKENDS
from collmark.core.case import Case, Form
from collmark.core.errors import PlanError
from collmark.core.expansion import expand
from collmark.core.grouping import Company
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import Status

pytestmark = pytest.mark.timeout(300)
RANKS = 4
GROUPS = ("all", "blocked:2", "strided:2")
GOOD = (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE)


def cases_of(backend: str, form: Form = Form.BLOCKING) -> tuple[Case, ...]:
    plan = Plan(
        operations=tuple(OPERATIONS), sizes="800B", messages=4, backends=(backend,), traffic="zipf:1.2", forms=(form,),
        groups=GROUPS,
    )  # fmt: skip
    cases = expand(plan, Placement(ranks_per_node=RANKS), {backend: BACKENDS[backend].capability}).cases
    # The last rank of a group as root, too: as torch counts ranks, it is another one in each group.
    return (*cases, *(msgspec.structs.replace(case, root=1) for case in cases if OPERATIONS[case.operation].rooted))


@pytest.mark.parametrize(("backend", "library", "form"), [
    ("simulated", "", Form.BLOCKING), ("gloo", "", Form.BLOCKING),
    *(("mpi", library, Form.BLOCKING) for library in PLACES), ("mpi", "mpich-wheel", Form.PERSISTENT),
])  # fmt: skip
def test_every_operation_in_groups(backend: str, library: str, form: Form, tmp_path: Path) -> None:
    cases = cases_of(backend, form)
    folder = measure(backend, RANKS, cases, tmp_path / "run", path_of(library) if library else "")
    records = [record for record in folder.records() if record.sentinel is None]
    assert sorted(record.case.key for record in records) == sorted(case.key for case in cases)
    found: collections.Counter[tuple[str, int, Company]] = collections.Counter()
    for record in records:
        case = record.case
        assert record.status in GOOD, (case.key, record.error, record.check.first)
        assert record.check.wrong == 0
        assert record.check.checked > 0
        assert record.timing is not None
        assert record.ranks is not None
        assert len(record.ranks.local) == (2 if OPERATIONS[case.operation].pair else case.placement.ranks)
        assert record.evidence.because
        if case.group is not None:
            found[case.group.arrangement, case.group.index, case.group.company] += 1
    assert len(found) == 8
    assert len(set(found.values())) == 1


def test_groups_at_once_are_measured_at_once(tmp_path: Path) -> None:
    folder = measure("gloo", RANKS, cases_of("gloo"), tmp_path / "run")
    started: dict[tuple[object, ...], set[str]] = collections.defaultdict(set)
    for record in folder.records():
        group = record.case.group
        if record.sentinel is None and group is not None:
            alone = group.index if group.company is Company.ALONE else None
            started[record.case.operation, record.case.root, group.arrangement, alone].add(record.started)
    assert len(started) == 3 * 2 * (len(OPERATIONS) + 4)
    assert all(len(moments) == 1 for moments in started.values())


@pytest.mark.parametrize(("backend", "library"), [
    ("simulated", ""), ("gloo", ""), *(("mpi", library) for library in PLACES),
])  # fmt: skip
def test_every_exchange_of_two_in_rounds_of_pairs(backend: str, library: str, tmp_path: Path) -> None:
    names = [name for name, operation in OPERATIONS.items() if operation.pair] + ["send_recv"]
    rounds = {"pairs:0": 2, "pairs:0:back": 2, "pairs:2": 2, "pairs:3-1": 1}
    plan = Plan(operations=tuple(names), sizes="800B", messages=4, backends=(backend,), groups=tuple(rounds))
    cases = expand(plan, Placement(ranks_per_node=RANKS), {backend: BACKENDS[backend].capability}).cases
    assert len(cases) == len(names) * sum(rounds.values())
    folder = measure(backend, RANKS, cases, tmp_path / "run", path_of(library) if library else "")
    records = [record for record in folder.records() if record.sentinel is None]
    assert sorted(record.case.key for record in records) == sorted(case.key for case in cases)
    for record in records:
        assert record.status in GOOD, (record.case.key, record.error, record.check.first)
        assert record.check.wrong == 0
        assert record.check.checked > 0
    # A stream goes from the first of a pair to the second: which one that is, shows in who receives.
    members = {record.case.group.arrangement: record.case.members for record in records if record.case.group}
    assert tuple(members["pairs:0"]) == tuple(members["pairs:0:back"])[::-1]


def test_pairs_are_of_two_and_collectives_are_refused() -> None:
    plan = Plan(operations=("all_reduce",), backends=("gloo",), groups=("pairs:0",))
    with pytest.raises(PlanError, match="operations between two"):
        expand(plan, Placement(ranks_per_node=RANKS), {"gloo": BACKENDS["gloo"].capability})
