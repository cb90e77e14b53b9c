"""Every row of kind M on records made for it: each verdict that it can reach, and none without data."""

from __future__ import annotations

import msgspec
import pytest
from tests.analysis.claims.links import GB, SIZES, TIGHT, US, WIDE, finding, findings, link, named
from tests.analysis.made import results_of

from collmark.analysis.claims.finding import Kind, Verdict
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.quantity import read_quantity
from collmark.analysis.claims.table import Table
from collmark.analysis.results import Results
from collmark.core.record import Record

Records = list[list[Record]]
REAL = 128 * 1024**2  # bytes of a real all-reduce of tensor parallelism


def gap(ratio: float, levels: tuple[float, ...] = TIGHT) -> Records:
    return [link("nvlink", rate=ratio * 45 * GB, levels=levels), link("infiniband", rate=45 * GB, levels=levels)]


def pair(a: str, b: str, ratio: float, levels: tuple[float, ...] = TIGHT) -> Records:
    return [link(a, rate=ratio * 45 * GB, levels=levels), link(b, rate=45 * GB, levels=levels)]


def reduced(ratio: float, levels: tuple[float, ...] = TIGHT) -> Records:
    return [
        link("roce", "all_reduce", rate=ratio * 45 * GB, ranks=4, alpha=20 * US, levels=levels),
        link("infiniband", "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US, levels=levels),
    ]


def latency(a: str, b: str, ratio: float, levels: tuple[float, ...] = TIGHT) -> Records:
    return [
        link(a, "ping_pong", alpha=ratio * 2 * US, levels=levels),
        link(b, "ping_pong", alpha=2 * US, levels=levels),
    ]


def ping(seconds: float, levels: tuple[float, ...] = TIGHT) -> Records:
    return [link("infiniband", "ping_pong", alpha=seconds, levels=levels)]


def big(rate: float, operation: str, ranks: int, size: int, levels: tuple[float, ...] = TIGHT) -> Records:
    return [link("infiniband", operation, rate=rate, ranks=ranks, sizes=[size], levels=levels)]


def tensor(alpha: float, rate: float, levels: tuple[float, ...] = TIGHT) -> Records:
    return [link("nvlink", "all_reduce", alpha=alpha, rate=rate, ranks=8, levels=levels)]


def sensitive(ratio: float, levels: tuple[float, ...] = TIGHT) -> Records:
    """All-reduce 4 times as fast on NVLink, all-to-all so many times more."""
    return [
        link("nvlink", "all_to_all", rate=ratio * 4 * 20 * GB, ranks=8, alpha=20 * US, levels=levels),
        link("infiniband", "all_to_all", rate=20 * GB, ranks=8, alpha=20 * US, levels=levels),
        link("nvlink", "all_reduce", rate=4 * 50 * GB, ranks=8, alpha=20 * US, levels=levels),
        link("infiniband", "all_reduce", rate=50 * GB, ranks=8, alpha=20 * US, levels=levels),
    ]


def stream(place: str, rate: float, label: str, levels: tuple[float, ...] = TIGHT) -> Records:
    return [link(place, rate=rate, label=label, levels=levels)]


def both_ways(rate: float, levels: tuple[float, ...] = TIGHT) -> Records:
    return [link("nvlink", "bidirectional_stream", rate=rate, label="nvlink4", levels=levels)]


# Id to what makes it hold, fail, and neither; None where a verdict cannot be reached with so few records.
CASES: dict[str, tuple[Records | None, Records, Records]] = {
    "gap-18x": (gap(18), gap(8.2), gap(16, WIDE)),
    "gap-36x": (gap(36), gap(8.2), gap(32, WIDE)),
    "ndr-50": (
        stream("infiniband", 47 * GB, "ndr"),
        stream("infiniband", 24 * GB, "NDR"),
        stream("infiniband", 42 * GB, "ndr", WIDE),
    ),
    "eth-50": (
        stream("roce", 47 * GB, "400gbe"),
        stream("roce", 11 * GB, "400gbe"),
        stream("tcp", 42 * GB, "400gbe", WIDE),
    ),
    "nvlink4-900": (both_ways(392 * GB), both_ways(200 * GB), both_ways(380 * GB, WIDE)),
    "xgmi-parity": (pair("xgmi", "nvlink", 1.02), pair("xgmi", "nvlink", 1 / 7), pair("xgmi", "nvlink", 1.0, WIDE)),
    "roce-parity": (reduced(0.97), reduced(0.6), reduced(0.97, WIDE)),
    "ib-latency-2us": (ping(2.1 * US), ping(5 * US), ping(2.1 * US, WIDE)),
    "ib-under-roce": (
        latency("infiniband", "roce", 0.8),
        latency("infiniband", "roce", 1.3),
        latency("infiniband", "roce", 0.95, WIDE),
    ),
    "eth-latency-10x": (
        latency("tcp", "infiniband", 15),
        latency("roce", "infiniband", 1.3),
        latency("tcp", "infiniband", 9, WIDE),
    ),
    "nvl72-uniform": (None, [], []),  # below: whole domains
    "tp-microseconds": (
        tensor(12 * US, 6000 * GB),
        tensor(12 * US, 480 * GB),
        tensor(80 * US, 20000 * GB, WIDE),
    ),
    "pp-80ms": (
        big(48 * GB, "ping_pong", 2, 4 * 10**9),
        big(24 * GB, "ping_pong", 2, 4 * 10**9),
        big(44 * GB, "ping_pong", 2, 4 * 10**9, WIDE),
    ),
    "dp-2.8s": (
        big(98 * GB, "all_reduce", 64, 140 * 10**9),
        big(48 * GB, "all_reduce", 64, 140 * 10**9),
        big(90 * GB, "all_reduce", 64, 140 * 10**9, WIDE),
    ),
    "moe-a2a": (sensitive(2), sensitive(0.9), sensitive(1.3, WIDE)),
}
REACHED = [
    (name, verdict, records)
    for name, cases in CASES.items()
    for verdict, records in zip((Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE), cases, strict=True)
    if records
]


def test_every_row_is_here(table: Table) -> None:
    rows = [claim.id for claim in table.claims if any(aspect.kind is Kind.MEASURED for aspect in claim.aspects)]
    assert rows == list(CASES)


@pytest.mark.parametrize(("name", "verdict", "records"), REACHED, ids=[f"{name} {word}" for name, word, _r in REACHED])
def test_verdict_is_reached(table: Table, name: str, verdict: Verdict, records: Records) -> None:
    found = finding(table, name, *records)
    assert found.verdict is verdict, found.by
    assert found.found is not None
    assert found.found.estimate is not None
    assert found.found.estimate.over == "launches"
    assert found.band is not None
    assert found.rule
    assert found.would_change
    assert len(found.evidence) >= len(records) - len(found.parts)
    assert all("run run" in line and "launches 1, 2, 3, 4, 5" in line for line in found.evidence)
    if verdict is Verdict.INCONCLUSIVE:
        assert "launches" in found.would_change


@pytest.mark.parametrize("name", CASES)
def test_no_record_is_no_data(table: Table, name: str) -> None:
    for results in ([], [results_of([], "empty")]):
        (found,) = findings(table, name, results)
        assert found.verdict is Verdict.NO_DATA
        assert found.found is None
        assert "no records of " in found.by
        assert found.command


@pytest.mark.parametrize("name", CASES)
def test_records_of_a_laptop_are_no_data(table: Table, name: str) -> None:
    operations = ("stream", "bidirectional_stream", "ping_pong", "all_reduce", "all_to_all", "all_to_all_v")
    laptop = [link("loopback", operation, ranks=ranks) for operation in operations for ranks in (2, 8)]
    laptop = [
        records for records in laptop if records[0].case.placement.ranks == 2 or "all" in records[0].case.operation
    ]
    (found,) = findings(table, name, [results_of([r for records in laptop for r in records], "demo")])
    assert found.verdict is Verdict.NO_DATA
    assert found.command


@pytest.mark.parametrize(
    ("name", "records"),
    [(name, cases[0]) for name, cases in CASES.items() if cases[0]],
    ids=lambda value: str(value)[:20],
)
def test_one_launch_has_no_interval_and_never_holds(table: Table, name: str, records: Records) -> None:
    first = [[record for record in group if record.launch == 1] for group in records]
    found = finding(table, name, *first)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "one launch: no interval" in found.by
    assert found.found is not None
    assert found.found.estimate is None
    assert found.would_change == "more launches"


def domain(members: int, *, slow: float = 1.0, left_out: int = 0) -> list[Results]:
    """Return a run for each pair of a domain; one pair is so many times slower."""
    pairs = [(i, j) for i in range(members) for j in range(i + 1, members)][left_out:]
    return [
        named(
            f"run{i}-{j}",
            f"{i}-{j}",
            link("nvlink", rate=750 * GB / (slow if (i, j) == pairs[-1] else 1), sizes=SIZES[-3:]),
        )
        for i, j in pairs
    ]


@pytest.fixture
def small(table: Table, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Return the table with the row of the NVL72 for a domain of five."""
    from collmark.analysis.claims.table import load_table

    del table
    file = tmp_path_factory.mktemp("claims") / "five.toml"
    file.write_text(
        '[[claims]]\nid = "five"\nsentence = "Five are uniform."\n[claims.M]\npredicate = "pair_uniformity"\n'
        'rule = "uniform"\ntier_a = "nvlink"\nparameters = { operation = "stream", members = 5 }\n',
        encoding="utf-8",
    )
    return load_table([file])


def test_whole_domain_holds_or_fails(small: Table) -> None:
    good = findings(small, "five", domain(5))[0]
    assert (good.verdict, "10 of 10 pairs" in good.by) == (Verdict.HOLDS, True)
    bad = findings(small, "five", domain(5, slow=1.2))[0]
    assert bad.verdict is Verdict.FAILS
    assert bad.found is not None
    assert bad.found.value == pytest.approx(1 / 1.2, rel=0.02)
    assert "3, 4" in " ".join(bad.steps)


def test_part_of_a_domain_can_fail_and_never_hold(small: Table, table: Table) -> None:
    part = findings(small, "five", domain(5, left_out=2))[0]
    assert part.verdict is Verdict.INCONCLUSIVE
    assert "8 of the 10 pairs" in part.by
    assert part.would_change == "records of all pairs"
    assert findings(small, "five", domain(5, left_out=2, slow=1.2))[0].verdict is Verdict.FAILS
    assert findings(table, "nvl72-uniform", domain(3, slow=1.2))[0].verdict is Verdict.FAILS
    assert "of the 2556 pairs" in findings(table, "nvl72-uniform", domain(3))[0].by


def test_row_of_the_nvl72_reaches_every_verdict(table: Table) -> None:
    """The row itself, with a domain of five in place of 72: 10 runs where it would need 2,556."""
    (claim,) = table.of(["nvl72-uniform"])
    (aspect,) = claim.aspects
    (question,) = aspect.questions
    five = msgspec.structs.replace(question, parameters={**question.parameters, "members": read_quantity(5)})
    row = msgspec.structs.replace(claim, aspects=(msgspec.structs.replace(aspect, questions=(five,)),))

    def verdict(results: list[Results]) -> Verdict:
        return judge([row], table.rules, results)[0].verdict

    assert verdict(domain(5)) is Verdict.HOLDS
    assert verdict(domain(5, slow=1.2)) is Verdict.FAILS
    assert verdict(domain(5, left_out=2)) is Verdict.INCONCLUSIVE
    assert verdict([]) is Verdict.NO_DATA
    assert findings(table, "nvl72-uniform", domain(3))[0].verdict is Verdict.INCONCLUSIVE


def test_uniformity_of_nothing_said_about_pairs_is_no_data(table: Table) -> None:
    found = finding(table, "nvl72-uniform", link("nvlink"))
    assert found.verdict is Verdict.NO_DATA
    assert "do not say which pair" in found.by


def test_real_size_is_judged_apart(table: Table) -> None:
    found = finding(table, "tp-microseconds", *tensor(12 * US, 480 * GB))
    small, real = found.parts
    assert (small.verdict, real.verdict) == (Verdict.HOLDS, Verdict.FAILS)
    assert real.found is not None
    # 2 x 7/8 x 128 MiB / 480 GB/s and the latency.
    assert real.found.value == pytest.approx(1.75 * REAL / (480 * GB) / US + 12, rel=0.02)


def test_time_between_sizes_comes_from_the_fit(table: Table) -> None:
    sizes = [size for size in (*SIZES, 4**3 * SIZES[-1]) if size != 4 * 10**9]
    found = finding(table, "pp-80ms", link("infiniband", "ping_pong", rate=48 * GB, sizes=sizes))
    assert found.verdict is Verdict.HOLDS
    assert "fitted" in found.by


def test_time_beyond_the_sizes_is_not_decided(table: Table) -> None:
    found = finding(table, "pp-80ms", link("infiniband", "ping_pong", rate=48 * GB))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "measured up to 512 MiB only" in found.by
    assert "extrapolated" in found.by
    assert found.found is not None


def test_smallest_message_must_be_small(table: Table) -> None:
    found = finding(table, "ib-latency-2us", link("infiniband", "ping_pong", sizes=SIZES[3:]))
    assert found.verdict is Verdict.NO_DATA
    assert "needs 64 B" in found.by


def test_latency_says_whose_memory(table: Table) -> None:
    found = finding(table, "ib-latency-2us", *ping(2 * US))
    assert "buffers in GPU memory" in found.notes
    assert any("leaf switch" in note for note in found.notes)
