"""One rank: what it does to buffers, and what becomes of a library's errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import pytest

from collmark.bench.rank import DEVICE, ENTER, EXIT, QUEUED, Rank
from collmark.bench.rotation import LEAST
from collmark.core.case import Buffers, Cadence, Case
from collmark.core.dtype import DTYPES
from collmark.core.errors import MeasurementError
from collmark.core.grouping import Company, Group, groups_of
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement, Tier
from collmark.core.record import Evidence
from collmark.kernels.addition import add
from collmark.kernels.buffer import HostBuffer


def case_of(operation: str, *, in_place: bool = False) -> Case:
    return Case(
        operation=operation,
        backend="gloo",
        dtype="int32",
        placement=Placement(ranks_per_node=2),
        nbytes=64,
        requested_nbytes=64,
        reduction="sum" if OPERATIONS[operation].reduces else "",
        in_place=in_place,
    )


class Bound:
    """Buffers in memory, and a call that copies what is sent to where it is received, or fails."""

    program = None

    def __init__(self, case: Case, rank: int) -> None:
        operation, kind = OPERATIONS[case.operation], DTYPES[case.dtype]
        counts = [sum(s.count for s in law(case.exchange, rank)) for law in (operation.sends, operation.expects)]

        def buffer(count: int) -> HostBuffer:
            return HostBuffer(np.zeros(count, kind.storage), kind, reduction=case.reduction, ranks=2)

        self.send: HostBuffer | None = buffer(max(counts) if case.in_place else counts[0])
        self.receive: HostBuffer | None = self.send if case.in_place else buffer(counts[1])
        self.is_released = False
        self.error: Exception | None = None
        self.calls = 0
        self.call: Callable[[], object] = self._call

    def _call(self) -> None:
        self.calls += 1
        if self.error:
            raise self.error

    def overlapping(self, _compute: int) -> None:
        """No program."""

    def device_time(self) -> int:
        return 7

    def release(self) -> None:
        self.is_released = True


class Session:
    """A session whose clock counts its reads."""

    timer = None
    add = staticmethod(add)

    def __init__(self, *, asynchronous: bool = False) -> None:
        self.asynchronous = asynchronous
        self.bound: list[Bound] = []
        self.arranged: list[str] = []
        self.waits = 0
        self.reads = 0

    def clock(self) -> int:
        self.reads += 1
        return self.reads

    def reserve(self, nbytes: int) -> None:
        """Nothing to do."""

    def arrange(self, group: Group) -> None:
        self.arranged.append(str(group))

    def bind(self, case: Case, _slot: int) -> Bound:
        self.bound.append(Bound(case, 0))
        return self.bound[-1]

    def synchronize(self) -> None:
        self.waits += 1

    def facts(self) -> Mapping[str, str]:
        return {}

    def evidence(self, *, one_host: bool) -> Evidence:
        assert one_host
        return Evidence(tier=Tier.UNKNOWN)

    def close(self) -> None:
        """Nothing to do."""


def rank_of(session: Session, waits: list[float] | None = None) -> Rank:
    seen: list[float] = [] if waits is None else waits
    return Rank(0, session, seen.append)


def test_what_is_received_is_poisoned_and_what_is_sent_is_written() -> None:
    session = Session()
    rank = rank_of(session)
    rank.bind([case_of("all_gather")])
    (bound,) = session.bound
    assert bound.send is not None
    assert bound.receive is not None
    rank.prepare(1, poison=True)
    assert bound.receive.array.tolist() == [-1] * 16
    assert bound.send.compare(OPERATIONS["all_gather"].sends(case_of("all_gather").exchange, 0), 1).wrong == 0
    assert rank.compare(1).wrong == 16
    bound.receive.write(OPERATIONS["all_gather"].expects(case_of("all_gather").exchange, 0), 1)
    assert rank.compare(1) == type(rank.compare(1))(checked=16, wrong=0)
    # Without poison what is there stays, to be found as stale.
    rank.prepare(2, poison=False)
    assert rank.compare(1).wrong == 0
    assert rank.compare(2).wrong == 16


def test_one_buffer_is_poisoned_before_it_is_written() -> None:
    session = Session()
    rank = rank_of(session)
    rank.bind([case_of("all_reduce", in_place=True)])
    rank.prepare(1, poison=True)
    send = session.bound[0].send
    assert send is not None
    assert -1 not in send.array


@pytest.mark.parametrize(("operation", "in_place", "is_neutral"), [
    ("all_reduce", True, True), ("all_reduce", False, False), ("broadcast", True, False), ("all_gather", False, False)
])  # fmt: skip
def test_only_reductions_in_place_are_made_harmless(operation: str, *, in_place: bool, is_neutral: bool) -> None:
    session = Session()
    rank = rank_of(session)
    rank.bind([case_of(operation, in_place=in_place)])
    rank.prepare(1, poison=False)
    rank.neutralise()
    send = session.bound[0].send
    assert send is not None
    assert (not send.array.any()) == is_neutral


def test_a_rank_that_receives_nothing_compares_nothing() -> None:
    session = Session()
    rank = rank_of(session)
    rank.bind([case_of("stream")])  # rank 0 only sends
    assert rank.compare(1).checked == 0
    rank.bind([case_of("barrier")])
    rank.prepare(1, poison=True)
    assert rank.compare(1).checked == 0


def test_stamps_of_blocking_calls() -> None:
    waits: list[float] = []
    session = Session()
    rank = rank_of(session, waits)
    rank.bind([case_of("all_gather")])
    stamps = rank.block(3, 12.5)
    assert stamps.shape == (2, 3)
    assert stamps[ENTER].tolist() == [1, 3, 5]
    assert stamps[EXIT].tolist() == [2, 4, 6]
    assert waits == [12.5] * 3
    assert session.waits == 0


def test_stamps_of_asynchronous_calls() -> None:
    session = Session(asynchronous=True)
    rank = rank_of(session)
    rank.bind([case_of("all_gather")])
    stamps = rank.block(2, 1.0)
    assert stamps.shape == (4, 2)
    assert stamps[ENTER].tolist() == [1, 4]
    assert stamps[QUEUED].tolist() == [2, 5]
    assert stamps[EXIT].tolist() == [3, 6]
    assert stamps[DEVICE].tolist() == [7, 7]
    assert session.waits == 2


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("error", [RuntimeError("connection\nclosed"), ConnectionResetError(104, "reset by peer")])
def test_what_a_library_raises_in_a_call_is_a_lost_measurement(error: Exception, *, asynchronous: bool) -> None:
    session = Session(asynchronous=asynchronous)
    rank = rank_of(session)
    rank.bind([case_of("all_gather")])
    session.bound[0].error = error
    with pytest.raises(MeasurementError, match=r"rank 0 in all_gather 64 B int32: .*(closed|reset)") as caught:
        rank.block(1, 1.0)
    assert caught.value.__cause__ is error


def test_binding_anew_gives_the_old_buffers_back() -> None:
    session = Session()
    rank = rank_of(session)
    rank.bind([case_of("all_gather")])
    rank.bind([case_of("barrier")])
    assert [bound.is_released for bound in session.bound] == [True, False]
    rank.release()
    rank.release()
    assert session.bound[1].is_released


@pytest.mark.parametrize("asynchronous", [False, True])
def test_calls_go_through_the_buffers_in_turn_and_on_over_blocks(*, asynchronous: bool) -> None:
    session = Session(asynchronous=asynchronous)
    rank = rank_of(session)
    rank.bind([msgspec.structs.replace(case_of("all_gather"), buffers=Buffers.ROTATED)], cache=4)
    assert len(session.bound) == LEAST
    rank.block(3, 1.0)
    rank.block(3, 1.0)
    assert [bound.calls for bound in session.bound] == [2, 2, 1, 1]
    rank.once(1.0, 3)
    assert [bound.calls for bound in session.bound] == [2, 2, 1, 2]
    rank.release()
    assert all(bound.is_released for bound in session.bound)


def test_caches_are_emptied_before_buffers_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    rank = rank_of(session)
    rank.bind([msgspec.structs.replace(case_of("all_gather"), buffers=Buffers.ROTATED)], cache=2**20)
    slots, emptied = len(session.bound), []
    monkeypatch.setattr(rank, "_evict", lambda: emptied.append(sum(bound.calls for bound in session.bound)))
    for count in (1, slots - 2, 1, 2, slots):
        stamps = rank.block(count, 1.0)
        assert stamps.shape == (2, count)
        assert (np.diff(stamps[ENTER]) > 0).all()
    assert emptied == [0, slots, 2 * slots]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_batch_is_made_between_two_reads_and_waited_for_once(*, asynchronous: bool) -> None:
    session = Session(asynchronous=asynchronous)
    rank = rank_of(session)
    rank.bind([msgspec.structs.replace(case_of("all_gather"), cadence=Cadence.STREAMING, batch=5)])
    rank.block(3, 1.0)
    assert session.bound[0].calls == 15
    assert session.waits == (3 if asynchronous else 0)
    rank.once(1.0)
    assert session.bound[0].calls == 16


def test_every_pair_of_buffers_is_checked_by_itself() -> None:
    session = Session()
    rank = rank_of(session)
    case = msgspec.structs.replace(case_of("all_gather"), buffers=Buffers.ROTATED)
    rank.bind([case], cache=4)
    receive = session.bound[2].receive
    assert receive is not None
    rank.prepare(1, poison=True, slot=2)
    receive.write(OPERATIONS["all_gather"].expects(case.exchange, 0), 1)
    assert rank.compare(1, 2).wrong == 0
    assert rank.compare(1, 1).wrong == 16


def grouped(operation: str = "all_gather") -> tuple[Case, ...]:
    """Return a case on each of two groups of four ranks: 0 and 2, 1 and 3."""
    group = groups_of("strided:2", Placement(ranks_per_node=4), Company.TOGETHER)[0]
    return msgspec.structs.replace(case_of(operation), group=group, placement=group.placement).company


def test_what_another_group_sends_is_wrong_here() -> None:
    received = []
    for index in range(4):
        session = Session()
        rank = Rank(index, session, lambda _timeout: None)
        rank.bind(grouped())
        assert session.arranged == ["strided:2 of 1x4, group 0, together"]
        rank.prepare(7, poison=True)
        receive = session.bound[0].receive
        assert receive is not None
        receive.write(OPERATIONS["all_gather"].expects(grouped()[index % 2].exchange, index // 2), 7 + 2 * (index % 2))
        assert rank.compare(7).wrong == 0
        received.append(receive.array.copy())
    assert (received[0] == received[2]).all()
    assert (received[0] != received[1]).all()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_rank_whose_group_does_not_communicate_waits(*, asynchronous: bool) -> None:
    session = Session(asynchronous=asynchronous)
    rank = Rank(3, session, lambda _timeout: None)
    rank.bind(grouped()[:1])
    assert not session.bound
    rank.prepare(1, poison=True)
    rank.neutralise()
    assert rank.once(1.0).shape == ((4 if asynchronous else 2), 1)
    assert rank.block(3, 1.0).shape == ((4 if asynchronous else 2), 3)
    assert rank.compare(1).checked == 0
    rank.release()


def test_a_rank_that_waits_takes_as_many_turns_as_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    cold = [msgspec.structs.replace(case, buffers=Buffers.ROTATED) for case in grouped()[:1]]
    turns = []
    for index in (0, 3):
        rank = Rank(index, Session(), lambda _timeout: None)
        rank.bind(cold, cache=2**20)
        emptied: list[int] = []
        monkeypatch.setattr(rank, "_evict", lambda emptied=emptied: emptied.append(1))
        rank.block(1000, 1.0)
        turns.append(len(emptied))
    assert turns[0] == turns[1] > 1
