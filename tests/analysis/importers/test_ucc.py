"""ucc_perftest: what its sizes mean, by version, and what tells the number of ranks."""

import pytest

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, RanksFrom, SizeIs
from collmark.core.case import Cadence, Device

PLAIN = (
    "       Count        Size                Time, us",
    "                                 avg         min         max",
)
FULL = (
    "       Count        Size                Time, us                           Bandwidth, GB/s",
    "                                 avg         min         max         avg         max         min",
)
TOTAL = "Total time: 0.2 ms"


def head(collective: str, **settings: str) -> list[str]:
    told = {"Collective": collective, "Memory type": "cuda", "Datatype": "float32", "Inplace": "0"} | settings
    return [*(f"{name + ': ':<24}{value}" for name, value in told.items()), ""]


def row(count: int, *tokens: str) -> str:
    return "".join(f"{token:>12}" for token in (str(count), str(4 * count), *tokens))


def read(*lines: str, facts: Facts | None = None) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", facts or Facts())


def test_a_row_holds_the_mean_over_ranks_of_means_over_isolated_calls() -> None:
    found = read(*head("Allreduce", Reduction="sum"), *PLAIN, row(1024, "20.00", "19.50", "21.00")).rows[0]
    assert (found.operation, found.dtype, found.reduction, found.nbytes) == ("all_reduce", "float32", "sum", 4096)
    assert (found.device, found.cadence, found.in_place) == (Device.CUDA, Cadence.ISOLATED, False)
    assert found.seconds == pytest.approx(20e-6)
    assert found.statistic == "mean of iterations, mean of ranks"
    assert found.percentiles == pytest.approx({"min": 19.5e-6, "max": 21e-6})


@pytest.mark.parametrize(
    ("heading", "blocks", "bandwidth", "after", "size_is", "nbytes"),
    [
        ("Bandwidth", 15, "20.00", [], SizeIs.BLOCK, 2**26),  # 15 of 16 blocks of 4 MiB go out
        ("Bus Bandwidth", 15, "20.00", [], SizeIs.BLOCK, 2**26),
        ("Bus Bandwidth", 15 / 16, "20.00", [TOTAL], SizeIs.CANONICAL, 2**22),
    ],
)
def test_the_size_of_an_all_to_all_is_told_by_its_bandwidth(
    heading: str, blocks: float, bandwidth: str, after: list[str], size_is: SizeIs, nbytes: int
) -> None:
    time = f"{2**22 * blocks / 20e3:.2f}"
    header = (FULL[0].replace("    Bandwidth", "Bus Bandwidth") if heading.startswith("Bus") else FULL[0], FULL[1])
    found = read(*head("Alltoall"), *header, row(2**20, time, time, time, *[bandwidth] * 3), *after).rows[0]
    assert (found.size_is, found.nbytes, found.ranks) == (size_is, nbytes, 16)


def test_the_size_of_an_all_to_all_without_bandwidths_is_told_by_the_version_alone() -> None:
    lines = [*head("Alltoall"), *PLAIN, row(1024, "20.00", "19.50", "21.00")]
    known = read(*lines, TOTAL).rows[0]
    assert (known.nbytes_printed, known.nbytes) == (4096, 4096)
    unclear = read(*lines, facts=Facts(ranks=8))
    assert (unclear.rows[0].nbytes_printed, unclear.rows[0].nbytes) == (4096, None)
    assert len(unclear.warned) == 1


def test_bandwidths_tell_the_ranks_of_a_block_wise_collective() -> None:
    times = [f"{2**22 * 7 / 50e3:.2f}"] * 3  # 7 blocks at 50 GB/s
    found = read(*head("Allgather"), *FULL, row(2**20, *times, "50.00", "50.00", "50.00")).rows[0]
    assert (found.ranks, found.ranks_from, found.nbytes) == (8, RanksFrom.FACTOR, 2**25)


def test_a_row_of_another_tool_does_not_stand_below_the_columns() -> None:
    found = read(*head("Allreduce"), *PLAIN, "       1024         4096       20.00       19.50       21.00")
    assert found.rows == ()
    assert "does not stand below its header" in found.skipped[0].reason


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*PLAIN, row(4, "1.00", "1.00", "1.00")], "no line above says which collective this is"),
        ([*head("Allred"), *PLAIN, row(4, "1.00", "1.00", "1.00")], "no line above says which collective this is"),
        ([*head("Allreduce"), row(4, "1.00", "1.00", "1.00")], "the columns have no header"),
        (
            [*head("Allreduce"), FULL[0], PLAIN[1], row(4, "1.00", "1.00", "1.00")],
            "the two lines of the header contradict each other",
        ),
        (
            [*head("Allreduce", Datatype="float64"), *PLAIN, row(4, "1.00", "1.00", "1.00")],
            "count and size contradict each other or the element type",
        ),
        ([*head("Barrier"), *PLAIN, row(4, "1.00", "1.00", "1.00")], "the sizes are not those of barrier"),
        (
            [*head("Alltoall"), *FULL, row(4, "1.00", "1.00", "1.00", "N/A", "N/A", "N/A")],
            "the bandwidths are not those of all_to_all",
        ),
    ],
)
def test_what_cannot_be_told_is_refused(lines: list[str], expected: str) -> None:
    found = read(*lines)
    assert found.rows == ()
    assert [one.reason for one in found.skipped] == [expected]


def test_a_reduce_whose_bandwidths_are_those_of_a_reduce_scatter_is_refused() -> None:
    time = f"{2**22 * 0.75 / 50e3:.2f}"
    found = read(*head("Reduce"), *FULL, row(2**20, time, time, time, "50.00", "50.00", "50.00"))
    assert found.rows == ()
