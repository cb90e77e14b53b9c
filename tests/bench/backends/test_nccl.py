"""What the NCCL session does on one rank, with stand-ins for CUDA's stream and events, and gloo to move the bytes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from collmark.bench.backends import nccl
from collmark.bench.backends.gpu_seat import SHARED, VARIABLE
from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.nccl import NcclSession
from collmark.bench.backends.torch_session import TorchSession
from collmark.bench.group import Group
from collmark.bench.rank import DEVICE, ENTER, EXIT, QUEUED, Rank
from collmark.core.case import Case, Device
from collmark.core.errors import MeasurementError, UnavailableError
from collmark.core.expansion import expand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement, Tier
from collmark.core.plan import Plan
from collmark.kernels.device_buffer import DeviceBuffer

torch = pytest.importorskip("torch", reason="torch is not installed (pip install torch)")


class Stream:
    """A stream that writes down what is done to it."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def synchronize(self) -> None:
        self.log.append("synchronize")


class Event:
    """An event that knows its place in the log of its stream; 1.5 us lie between two entries."""

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        self.place = -1

    def record(self, stream: Stream) -> None:
        stream.log.append("event")
        self.place = len(stream.log)

    def elapsed_time(self, other: Event) -> float:
        return (other.place - self.place) * 1.5e-3


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, log: list[str]) -> SimpleNamespace:
    """Put stand-ins in the place of torch.cuda, whose two GPUs reach each other."""
    stand_in = SimpleNamespace(
        device_count=lambda: 2,
        set_device=lambda _gpu: None,
        get_device_properties=lambda gpu: SimpleNamespace(name="a GPU", uuid=f"uuid-{gpu}"),
        current_stream=lambda: Stream(log),
        Event=Event,
        can_device_access_peer=lambda _one, _other: True,
        nccl=SimpleNamespace(version=lambda: (2, 29, 7)),
    )
    monkeypatch.setattr(torch, "cuda", stand_in)
    monkeypatch.setattr("torch.distributed.is_nccl_available", lambda: True)
    for name in (VARIABLE, "NCCL_HOSTID", "NCCL_NET", "NCCL_SOCKET_IFNAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)  # now it is put back afterwards, whatever the session sets
    monkeypatch.setattr(TorchSession, "join", lambda _session, _backend, _store, _device: None)
    return stand_in


def group(rank: int = 0, ranks: int = 1, share: Callable[[bytes], bytes] = lambda value: value) -> Group:
    return Group(
        rank=rank, ranks=ranks, local_rank=rank, one_host=True, host="127.0.0.1", address="127.0.0.1", timeout=5.0,
        hand_over=share,
    )  # fmt: skip


def cases(*operations: str) -> tuple[Case, ...]:
    plan = Plan(operations=operations, backends=("nccl",), sizes="1KiB", dtypes=("float32", "bfloat16"))
    return expand(plan, Placement(), {"nccl": BACKENDS["nccl"].capability}).cases


@pytest.fixture
def session(cuda: SimpleNamespace, log: list[str]) -> Iterator[NcclSession]:
    """Return a session of one rank, opened; its calls go to gloo, and write down that they were made."""
    del cuda
    session = NcclSession(group())
    session.place = "cpu"
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    calls = {name: _noted(make, log) for name, make in session.calls.items()}
    session.calls = calls
    yield session
    session.close()


def _noted(make: Callable[[Any], Callable[[], object]], log: list[str]) -> Callable[[Any], Callable[[], object]]:
    def made(call: Any) -> Callable[[], object]:  # noqa: ANN401 - what a call is made of
        right = make(call)

        def noted() -> None:
            log.append("call")
            right()

        return noted

    return made


SINGLE = tuple(name for name, row in OPERATIONS.items() if row.minimum_ranks == 1)


@pytest.mark.parametrize("operation", SINGLE)
def test_a_call_lies_between_its_events_and_is_waited_for(session: NcclSession, log: list[str], operation: str) -> None:
    session.reserve(1024)
    rank = Rank(0, session, lambda _timeout: log.append("start"))
    for case in cases(operation):
        rank.bind([case])
        rank.prepare(1, poison=True)
        log.clear()
        stamps = rank.block(3, 1.0)
        assert log == ["start", "event", "call", "event", "synchronize"] * 3
        assert stamps[DEVICE].tolist() == [3000] * 3  # ns: two entries of the log
        assert (stamps[ENTER] <= stamps[QUEUED]).all()
        assert (stamps[QUEUED] <= stamps[EXIT]).all()
        found = rank.compare(1)
        assert (found.wrong, found.first) == (0, "")
        assert found.checked > 0 or operation == "barrier"
        rank.release()


def test_buffers_are_of_the_device(session: NcclSession) -> None:
    session.reserve(1024)
    bound = session.bind(cases("all_gather")[0], 0)
    assert isinstance(bound.send, DeviceBuffer)
    assert isinstance(bound.receive, DeviceBuffer)


def test_what_the_library_raises_is_a_lost_measurement(session: NcclSession, monkeypatch: pytest.MonkeyPatch) -> None:
    session.reserve(1024)
    rank = Rank(0, session, lambda _timeout: None)
    rank.bind(cases("all_reduce")[:1])

    def fail() -> None:
        raise torch.distributed.DistBackendError("NCCL error:\nunhandled cuda error")

    monkeypatch.setattr(session._stream, "synchronize", fail)
    with pytest.raises(MeasurementError, match="rank 0 in all_reduce 1024 B float32: NCCL error: unhandled cuda error"):
        rank.block(1, 1.0)


def test_memory_that_is_not_there_is_said_with_its_remedy(
    session: NcclSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_sizes: object, **_options: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate ...")

    monkeypatch.setattr(session.torch, "empty", full)
    with pytest.raises(UnavailableError, match=r"2 buffers of 99 B do not fit into memory .*: choose smaller --sizes"):
        session.reserve(99)


def test_facts_name_versions_and_what_an_event_costs(session: NcclSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def answer(command: list[str], **_options: object) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(stdout="580.95.05, 1980 MHz, 1980 MHz\n")

    monkeypatch.setattr(subprocess, "run", answer)
    facts = session.facts()
    assert asked[0][:2] == ["nvidia-smi", "--id=GPU-uuid-0"]
    assert (facts["nccl"], facts["gpu"], facts["driver"]) == ("2.29.7", "a GPU", "580.95.05")
    assert facts["sm_clock"] == facts["most_sm_clock"] == "1980 MHz"
    assert facts["event_record"].endswith(" us of each T and time to queue")
    assert "arrangement" not in facts


def test_without_nvidia_smi_its_facts_are_left_out(session: NcclSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_words: object, **_options: object) -> None:
        raise FileNotFoundError("nvidia-smi")

    monkeypatch.setattr(subprocess, "run", absent)
    assert {"driver", "sm_clock"}.isdisjoint(session.facts())


def test_a_link_is_never_guessed(session: NcclSession, cuda: SimpleNamespace) -> None:
    session.world = group(ranks=2)
    found = session.evidence(one_host=session.world.one_host)
    assert found.tier is Tier.UNKNOWN
    assert "2 of 2 pairs of GPUs can reach each other's memory; torch does not tell whether" in found.because[1]
    cuda.can_device_access_peer = lambda _one, _other: False
    assert (
        session.evidence(one_host=session.world.one_host).because[1]
        == "0 of 2 pairs of GPUs can reach each other's memory"
    )
    session.world = group(ranks=3)
    assert session.evidence(one_host=session.world.one_host).because == [
        "one host",
        "rank 0 does not see the other ranks' GPUs",
    ]


def test_a_torch_without_nccl_is_named(cuda: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    del cuda
    monkeypatch.setattr("torch.distributed.is_nccl_available", lambda: False)
    with pytest.raises(UnavailableError, match="this torch is built without NCCL"):
        NcclSession(group())


def test_ranks_that_share_unasked_are_refused(cuda: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    del cuda
    store = {"gpu-1": b"uuid-0"}
    fake = SimpleNamespace(set=lambda name, value: store.update({name: value.encode()}), get=store.__getitem__)
    monkeypatch.setattr(TorchSession, "open_store", lambda _session: fake)
    with pytest.raises(UnavailableError, match="ranks 0, 1 have the same GPU"):
        NcclSession(group(ranks=2))
    store["gpu-1"] = b"uuid-1"
    assert NcclSession(group(ranks=2)).place == "cuda:0"


def test_rank_0_decides_whether_ranks_share(cuda: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    del cuda
    monkeypatch.setattr(TorchSession, "open_store", lambda _session: None)
    session = NcclSession(group(rank=3, ranks=4, share=lambda _value: b"shared"))
    assert session.place == "cuda:1"
    assert os.environ["NCCL_HOSTID"].endswith("-rank-3")
    assert os.environ["NCCL_SOCKET_IFNAME"] == "lo"
    found = session.evidence(one_host=session.world.one_host)
    assert found.tier is Tier.SHARED_GPU
    assert SHARED in found.because
    assert session.facts()["arrangement"] == SHARED


def test_variables_of_the_user_stay_but_for_the_host(cuda: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    del cuda
    monkeypatch.setattr(TorchSession, "open_store", lambda _session: None)
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "eth7")
    monkeypatch.setenv("NCCL_HOSTID", "one for all")
    NcclSession(group())
    assert os.environ["NCCL_SOCKET_IFNAME"] == "eth7"
    assert os.environ["NCCL_HOSTID"].endswith("-rank-0")


def test_its_row_needs_no_torch_to_say_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    row = BACKENDS["nccl"]
    assert row.capability.device is Device.CUDA
    assert set(row.capability.operations) == set(OPERATIONS)
    assert {case.device for case in cases("all_reduce")} == {Device.CUDA}
    assert "/cuda/" in cases("all_reduce")[0].key
    monkeypatch.setattr(nccl, "find_driver", lambda: None)
    assert row.devices() == ()
    assert row.missing()
