"""gloo's benchmark: how large an element is, what a time means, and where a name may be cut."""

import pytest

from collmark.analysis.importers.gloo_algorithm import algorithm_of, centred, is_ambiguous
from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts
from collmark.core.case import Device

OLD = "   elements   min (us)   p50 (us)   p99 (us)   max (us)   avg (GB/s)    samples"
NEW = "   size (B)   elements   min (us)   p50 (us)   p99 (us)   max (us)   bandwidth (GB/s)   iterations"
ROW = "    1000000       1000       1010       1100       1500        {}       2000"


def head(name: str, processes: int = 4) -> list[str]:
    return [f"Algorithm:   {name}", f"Options:     processes={processes}, inputs=1, threads=1", ""]


def title(name: str) -> str:
    return f"{name.upper():>{49 + len(name) // 2}}"


def read(*lines: str) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", Facts())


@pytest.mark.parametrize(
    ("bandwidth", "dtype", "nbytes"), [("3.680", "float32", 4_000_000), ("1.840", "float16", 2_000_000)]
)
def test_the_bandwidth_tells_the_element(bandwidth: str, dtype: str, nbytes: int) -> None:
    row = read(*head("allreduce_ring"), OLD, ROW.format(bandwidth)).rows[0]  # in 2^30 B/s of a mean near 1012 us
    assert (row.dtype, row.nbytes, row.nbytes_printed, row.ranks) == (dtype, nbytes, None, 4)
    assert row.seconds == pytest.approx(1010e-6)
    assert row.statistic == "median of iterations, rank 0"
    assert row.percentiles == pytest.approx({"min": 1e-3, "p99": 1.1e-3, "max": 1.5e-3})


def test_a_bandwidth_of_too_few_digits_tells_no_element() -> None:
    found = read(
        *head("allreduce_ring"), OLD, "        100       5000       5010       5100       5500        0.000       2000"
    )
    assert (found.rows[0].dtype, found.rows[0].nbytes) == ("", None)
    assert len(found.warned) == 1


def test_a_round_trip_is_twice_the_way() -> None:
    new = "    4000000    1000000       1000       1010       1100       1500              3.680         2000"
    row = read(
        title("sendrecv_roundtrip"), "Options:     processes=2, inputs=1, threads=1, verify=true", NEW, new
    ).rows[0]
    assert row.operation == "ping_pong"
    assert row.seconds == pytest.approx(505e-6)


def test_all_to_all_moves_eight_bytes_an_element_and_prints_four() -> None:
    new = "    4000000    1000000       1000       1010       1100       1500              3.680         2000"
    row = read(title("alltoall"), "Options:     processes=4, inputs=1, threads=1, verify=true", NEW, new).rows[0]
    assert (row.nbytes_printed, row.nbytes) == (4_000_000, 4 * 8_000_000)


def test_several_inputs_are_no_size_of_what_goes_out() -> None:
    lines = [line.replace("inputs=1", "inputs=2") for line in head("allgather_ring")]
    assert read(*lines, OLD, ROW.format("3.680")).rows[0].nbytes is None


@pytest.mark.parametrize(
    ("name", "operation", "device"),
    [
        ("cuda_allreduce_halving_doubling_pipelined", "all_reduce", Device.CUDA),
        ("new_allreduce_ring", "all_reduce", Device.CPU),
        ("barrier_all_to_one", "barrier", Device.CPU),
        ("reduce_scatter", "reduce_scatter", Device.CPU),
    ],
)
def test_a_name_tells_the_operation(name: str, operation: str, device: Device) -> None:
    found = algorithm_of(name)
    assert found is not None
    assert (found.operation, found.device) == (operation, device)


def test_a_name_that_may_be_cut_needs_its_place_in_the_middle_of_the_line() -> None:
    assert centred(title("reduce_scatter"))
    assert not centred(title("reduce_scatter")[: -len("_scatter")])
    assert is_ambiguous("reduce", capitals=True)
    assert is_ambiguous("reduce", capitals=False)  # the versions that write so have no algorithm of that name
    found = read(*head("reduce"), OLD, ROW.format("3.680"))
    assert found.rows == ()
    assert len(found.skipped) == 1


@pytest.mark.parametrize("cut", [1, 3])
def test_a_last_figure_that_does_not_end_where_its_column_does_is_refused(cut: int) -> None:
    found = read(*head("allreduce_ring"), OLD, ROW.format("3.680")[:-cut])
    assert found.rows == ()
    assert "may be cut off" in found.skipped[0].reason
