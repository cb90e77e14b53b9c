"""The number of ranks follows from bandwidths as far as their rounding allows, and what disagrees is said."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.analysis.importers.figure import Figure, figure
from collmark.analysis.importers.row import Facts, RanksFrom, Row, SizeIs
from collmark.analysis.importers.section import Draft, Log
from collmark.analysis.importers.settle import RECOVERS, recovered, settle
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import MOST_RANKS

BASE = Row(
    tool="a tool",
    operation="all_reduce",
    nbytes_printed=2**20,
    seconds=None,
    statistic="mean",
    file="log",
    line=3,
    printed={"size": "1048576"},
    backend="nccl",
)


def _exactly(value: float) -> Figure:
    return Figure(str(value), value, value, value)


def _draft(
    ranks: int, operation: str = "all_reduce", nbytes: int = 2**20, seconds: float = 1e-4, decimals: int = 2
) -> Draft:
    """Return what a tool with so many decimals would print of a run."""
    algorithm = nbytes / seconds
    bus = algorithm * OPERATIONS[operation].bus_factor(ranks)
    return Draft(
        row=msgspec.structs.replace(BASE, operation=operation, nbytes_printed=nbytes),
        seconds=figure(f"{seconds * 1e6:.{decimals}f}", 1e-6),
        algorithm=figure(f"{algorithm / 1e9:.{decimals}f}", 1e9),
        bus=figure(f"{bus / 1e9:.{decimals}f}", 1e9),
    )


def _settled(*drafts: Draft, facts: Facts | None = None, ranks: int | None = None, nodes: int | None = None) -> Log:
    log = Log("log", facts or Facts())
    settle(log, drafts, ranks=ranks, nodes=nodes)
    return log


@given(
    ranks=st.integers(1, 4096),
    operation=st.sampled_from(sorted(RECOVERS)),
    seconds=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6),
    decimals=st.integers(1, 6),
    nbytes=st.integers(1, 2**34),
)
def test_the_true_number_of_ranks_is_always_possible(
    ranks: int, operation: str, seconds: list[float], decimals: int, nbytes: int
) -> None:
    least, most = recovered([_draft(ranks, operation, nbytes, one, decimals) for one in seconds])
    assert least <= ranks <= most


@pytest.mark.parametrize("ranks", [2, 3, 8, 16, 96])
def test_it_is_told_where_the_figures_are_large(ranks: int) -> None:
    log = _settled(_draft(ranks, nbytes=2**30, seconds=5e-3))
    assert [(row.ranks, row.ranks_from) for row in log.rows] == [(ranks, RanksFrom.FACTOR)]
    assert not log.warned


def test_it_is_not_told_where_they_are_small() -> None:
    log = _settled(_draft(8, nbytes=8, seconds=2e-5))
    assert log.rows[0].ranks is None
    assert log.rows[0].ranks_from is None
    assert log.rows[0].bus_bandwidth == 0.0


def test_one_row_tells_for_all_of_a_run() -> None:
    log = _settled(_draft(8, nbytes=8, seconds=2e-5), _draft(8, nbytes=2**30, seconds=5e-3))
    assert [row.ranks for row in log.rows] == [8, 8]


def test_the_text_is_believed_and_the_option_fills_gaps() -> None:
    small = _draft(8, nbytes=8, seconds=2e-5)
    assert _settled(small, ranks=16).rows[0].ranks_from is RanksFrom.TEXT
    asked = _settled(small, facts=Facts(ranks=24, nodes=3)).rows[0]
    assert (asked.ranks, asked.ranks_from, asked.nodes) == (24, RanksFrom.OPTION, 3)


def test_disagreement_is_said() -> None:
    large = _draft(8, nbytes=2**30, seconds=5e-3)
    text = _settled(large, ranks=16)
    assert "says 16 ranks" in text.warned[0].text
    assert text.rows[0].ranks == 8
    option = _settled(large, facts=Facts(ranks=16))
    assert "--ranks says 16" in option.warned[0].text
    mixed = _settled(large, _draft(16, nbytes=2**30, seconds=5e-3))
    assert "no single number of ranks" in mixed.warned[0].text
    both = _settled(_draft(8, nbytes=8, seconds=2e-5), ranks=16, facts=Facts(ranks=8))
    assert "the text 16" in both.warned[0].text


def test_more_bus_bandwidth_than_any_number_of_ranks_gives_is_said() -> None:
    draft = msgspec.structs.replace(_draft(8, nbytes=2**30, seconds=5e-3), bus=_exactly(1e15))
    log = _settled(draft)
    assert log.rows[0].ranks is None
    assert log.warned


def test_a_pair_is_two() -> None:
    row = msgspec.structs.replace(BASE, operation="ping_pong")
    log = _settled(Draft(row=row, seconds=_exactly(1e-6)))
    assert (log.rows[0].ranks, log.rows[0].ranks_from) == (2, RanksFrom.TEXT)


def test_a_share_becomes_the_whole_once_ranks_are_known() -> None:
    row = msgspec.structs.replace(BASE, operation="all_gather", nbytes_printed=1024, size_is=SizeIs.BLOCK)
    draft = Draft(row=row, seconds=_exactly(1e-5))
    assert _settled(draft).rows[0].nbytes is None
    known = _settled(draft, ranks=4).rows[0]
    assert (known.nbytes, known.nbytes_printed) == (4096, 1024)
    assert known.algorithm_bandwidth == pytest.approx(4096 / 1e-5)
    assert known.bus_bandwidth == pytest.approx(4096 / 1e-5 * 3 / 4)


def test_figures_that_do_not_fit_are_said() -> None:
    good = _draft(8, nbytes=2**30, seconds=5e-3)
    assert not _settled(good, ranks=8).warned
    for field in ("algorithm", "bus"):
        figure_of = getattr(good, field)
        spoilt = msgspec.structs.replace(good, **{field: _exactly(figure_of.value * 1.5)})
        assert any(field in one.text for one in _settled(spoilt, ranks=8).warned)


def test_a_time_follows_from_a_bandwidth() -> None:
    by_algorithm = _settled(Draft(row=BASE, algorithm=_exactly(2e9)), ranks=4).rows[0]
    assert by_algorithm.seconds == pytest.approx(2**20 / 2e9)
    by_bus = _settled(Draft(row=BASE, bus=_exactly(3e9)), ranks=4).rows[0]
    assert by_bus.seconds == pytest.approx(2**20 * 1.5 / 3e9)
    assert _settled(Draft(row=BASE, bus=_exactly(3e9))).rows[0].seconds is None


def test_what_is_no_operation_of_ours_keeps_its_figures() -> None:
    row = msgspec.structs.replace(BASE, operation="host_to_device_copy")
    found = _settled(Draft(row=row, algorithm=_exactly(5e10))).rows[0]
    assert found.algorithm_bandwidth == 5e10
    assert found.ranks is None


@pytest.mark.parametrize("ranks", [0, -8, MOST_RANKS + 1])
def test_an_impossible_number_of_ranks_is_not_told(ranks: int) -> None:
    row = _settled(_draft(8, nbytes=8, seconds=2e-5), ranks=ranks, nodes=1).rows[0]
    assert (row.ranks, row.nodes) == (None, None)


def test_nothing_is_nothing() -> None:
    assert _settled().rows == []
    assert recovered([]) == (1.0, math.inf)
