"""Ranks on two hosts whose clocks are 5 s apart and drift: their stamps are mapped onto one clock within the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.multiprocess.program import BIN, Program, collmark, is_complete
from tests.multiprocess.two_hosts import ADDRESSES, RATE, Hosts, two_hosts

from collmark.bench.stamps import CLOCK_SHARE
from collmark.core.operation import Estimand
from collmark.core.placement import Tier
from collmark.core.record import Clock, Record
from collmark.core.store import RunFolder, read_samples
from collmark.kernels.native import load_loop

Start = Callable[..., Program]
Times = NDArray[np.int64]
pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(300)]
AHEAD = 5  # s
# The clocks can tell the time of the large case, and most often not that of the small one.
PLAN = ("--operation", "all_reduce,broadcast", "--case-budget", "500ms", "--timeout", "20 s")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with two_hosts(tmp_path_factory.mktemp("clock")) as made:
        yield made


def by_hand(hosts: Hosts, start: Start, ahead: int) -> None:
    """Run gloo with one rank on each host, joined by the variables that torch asks for."""
    variables = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": "29519"}
    words = collmark("run", *PLAN, "--sizes", "64B:16MiB:x262144", "--into", "joined")
    programs = [start(*hosts.words(rank, ahead), *words, RANK=str(rank), **variables) for rank in range(2)]
    assert [program.end(240) for program in programs] == [0, 0], [program.errors for program in programs]


def through_mpiexec(hosts: Hosts, start: Start, ahead: int) -> None:
    """Run MPI with one rank on each host, the native loop in both."""
    if not (BIN / "mpiexec").exists() or load_loop() is None:
        pytest.skip("needs the mpich wheel and the native loop")
    mpi = ("--backend", "mpi", "--mpi-library", "environment", "--sizes", "64B:4MiB:x65536")
    words = collmark("run", *mpi, *PLAN, "--into", "joined")
    # mpiexec knows one host: each rank is told that it is alone on its own.
    alone = ("MPI_LOCALNRANKS=1", "MPI_LOCALRANKID=0", f"COLLMARK_CONTROL_HOST={ADDRESSES[0]}")
    ranks = [("-n", "1", *hosts.words(rank, ahead, *alone), *words) for rank in range(2)]
    program = start(str(BIN / "mpiexec"), *ranks[0], ":", *ranks[1])
    assert program.end(240) == 0, program.errors


def last_in_last_out(stamps_SRI: Times) -> Times:
    length: Times = stamps_SRI[1].max(axis=0) - stamps_SRI[0].max(axis=0)
    return length


def first_in_last_out(stamps_SRI: Times) -> Times:
    length: Times = stamps_SRI[1].max(axis=0) - stamps_SRI[0].min(axis=0)
    return length


def check_record(record: Record, mapped_SRI: Times, hosts: Hosts, ahead: int) -> None:
    """Compare the stamps of a record with the one clock beneath both hosts."""
    model, timing, ranks = record.clock_model, record.timing, record.ranks
    assert model is not None
    assert timing is not None
    assert ranks is not None
    own_SRI, true_SRI = mapped_SRI.copy(), mapped_SRI.copy()
    since = mapped_SRI[:, 1] - round(model.at * 1e9)
    own_SRI[:, 1] += np.rint(model.ahead[0] * 1e9 + model.drift[0] * since).astype(np.int64)
    true_SRI[:, 1] = hosts.truth(own_SRI[:, 1], ahead)
    bound = model.error * 1e9
    assert model.leaders == [1]
    assert model.ahead[0] == pytest.approx(ahead, abs=0.1)
    assert np.abs(mapped_SRI - true_SRI).max() <= bound
    for length in (last_in_last_out, first_in_last_out):
        assert np.abs(length(mapped_SRI) - length(true_SRI)).max() <= bound
    if record.case.operation == "all_reduce":
        # Whatever the model: nobody is done before the other has come.
        assert (mapped_SRI[1].min(axis=0) >= mapped_SRI[0].max(axis=0) - bound).all()
    # Without a model the ranks would be seconds apart, and G another figure.
    assert np.abs(own_SRI[:, 1] - true_SRI[:, 1]).min() > bound
    if ahead:
        assert np.abs(first_in_last_out(own_SRI) - first_in_last_out(true_SRI)).min() > bound
    if record.clock is Clock.MODELLED:
        assert timing.estimand is record.case.estimand
        assert model.error < CLOCK_SHARE * timing.median
        assert ranks.skew is not None
        enter_RI = true_SRI[0, :, timing.cut :]
        skew = float(np.median(enter_RI.max(axis=0) - enter_RI.min(axis=0))) * 1e-9
        assert abs(ranks.skew - skew) <= model.error
    else:
        assert record.clock is Clock.LOCAL
        assert timing.estimand is Estimand.LONGEST_LOCAL
        assert ranks.skew is None


@pytest.mark.parametrize("run", [by_hand, through_mpiexec])
def test_mapped_stamps_agree_with_the_one_clock_beneath(
    hosts: Hosts, start: Start, tmp_path: Path, run: Callable[[Hosts, Start, int], None]
) -> None:
    run(hosts, start, AHEAD)
    folder = RunFolder(tmp_path / "joined")
    assert is_complete(folder, launches=1)
    records = list(folder.records())
    for record in records:
        assert record.samples is not None
        check_record(record, read_samples(folder, record.samples), hosts, AHEAD)
        assert record.clock_model is not None
        assert record.clock_model.note == ""
    # On a machine that is busy with other things the bound is coarse, but not always.
    assert Clock.MODELLED in {record.clock for record in records}
    last = records[-1].clock_model
    assert last is not None
    assert last.drift[0] == pytest.approx(RATE, rel=0.2)
    (launch,) = folder.read_run().launches
    assert launch.timer.loop == ("native" if run is through_mpiexec else "python")


def test_a_rank_that_only_says_it_shares_the_clock_is_found_out(hosts: Hosts, start: Start, tmp_path: Path) -> None:
    # No time namespace: both ranks name one clock, and that of rank 1 gains all the same.
    by_hand(hosts, start, 0)
    folder = RunFolder(tmp_path / "joined")
    for record in folder.records():
        assert record.clock_model is not None
        assert "rank 1 says that it reads the clock of rank 0" in record.clock_model.note
        assert record.samples is not None
        check_record(record, read_samples(folder, record.samples), hosts, 0)


def test_groups_of_a_host_and_across_hosts_have_their_own_tier(hosts: Hosts, start: Start, tmp_path: Path) -> None:
    variables = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": "29521"}
    plan = ("--operation", "all_reduce", "--sizes", "64KiB", "--case-budget", "300ms", "--timeout", "20 s")
    words = collmark("run", *plan, "--groups", "node,strided:2", "--oversubscribe", "--into", "grouped")
    programs = [
        start(*hosts.words(rank // 2, AHEAD), *words, RANK=str(rank), LOCAL_RANK=str(rank % 2), **variables)
        for rank in range(4)
    ]
    assert [program.end(240) for program in programs] == [0] * 4, [program.errors for program in programs]
    records = [record for record in RunFolder(tmp_path / "grouped").records() if record.sentinel is None]
    assert len(records) == 2 * 2 * 2
    for record in records:
        group = record.case.group
        assert group is not None
        assert record.check.wrong == 0
        assert record.timing is not None
        is_within = group.arrangement == "node"
        assert record.case.placement.nodes == (1 if is_within else 2)
        assert record.evidence.tier is (Tier.LOOPBACK if is_within else Tier.TCP)
        if is_within and group.index == 0:
            assert (record.clock, record.clock_model, record.timing.estimand) == (
                Clock.SHARED, None, Estimand.LAST_IN_LAST_OUT
            )  # fmt: skip
        if not is_within:
            assert record.clock_model is not None
