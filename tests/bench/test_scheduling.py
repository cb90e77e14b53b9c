"""Scheduling class and cores: asked for, given or refused with the remedy; nothing is left changed on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from collmark.bench import scheduling
from collmark.core.case import Binding, Scheduling
from collmark.core.errors import UnavailableError

linux = pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="this system has no scheduling classes")


@pytest.fixture
def unchanged() -> Iterator[None]:
    """Give scheduling class and cores back afterwards."""
    policy, parameters, cores = os.sched_getscheduler(0), os.sched_getparam(0), os.sched_getaffinity(0)
    yield
    os.sched_setscheduler(0, policy, parameters)
    os.sched_setaffinity(0, cores)


def refuse(*_arguments: object) -> None:
    raise PermissionError(1, "Operation not permitted")


@linux
def test_asking_changes_nothing() -> None:
    before = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    scheduling.refusal()
    assert (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority) == before


@linux
def test_other_is_what_there_is() -> None:
    before = os.sched_getscheduler(0)
    scheduling.apply(Scheduling.OTHER)
    assert os.sched_getscheduler(0) == before


@linux
@pytest.mark.usefixtures("unchanged")
def test_fifo_where_permitted() -> None:
    if reason := scheduling.refusal():
        pytest.skip(reason)
    scheduling.apply(Scheduling.FIFO)
    assert os.sched_getscheduler(0) == os.SCHED_FIFO
    assert os.sched_getparam(0).sched_priority == 1
    assert scheduling.name() == "fifo"


@linux
def test_fifo_where_it_is_not_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert scheduling.refusal() == "SCHED_FIFO is not permitted here: Operation not permitted"
    with pytest.raises(UnavailableError, match=r"use --scheduling other, or give the right \(ulimit -r"):
        scheduling.apply(Scheduling.FIFO)


@linux
def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for policy, name in ((os.SCHED_OTHER, "other"), (os.SCHED_FIFO, "fifo"), (os.SCHED_RR, "round-robin"), (77, "77")):
        monkeypatch.setattr(os, "sched_getscheduler", lambda _pid, policy=policy: policy)
        assert scheduling.name() == name


def test_a_system_without_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in ("sched_setscheduler", "sched_getscheduler", "sched_setaffinity"):
        monkeypatch.delattr(os, function, raising=False)
    assert scheduling.refusal() == "this system has no SCHED_FIFO"
    assert scheduling.name() == "other"
    scheduling.apply(Scheduling.OTHER)
    scheduling.bind(Binding.NONE, 0, 2)
    with pytest.raises(UnavailableError, match="use --scheduling other"):
        scheduling.apply(Scheduling.FIFO)
    with pytest.raises(UnavailableError, match="use --bind none"):
        scheduling.bind(Binding.CORES, 0, 2)


@linux
@pytest.mark.parametrize(
    ("cores", "ranks", "shares"),
    [
        ({0, 1}, 2, [{0}, {1}]),
        ({0, 1}, 1, [{0, 1}]),
        ({2, 5, 7, 9}, 2, [{2, 5}, {7, 9}]),
        ({0, 1, 2, 3, 4}, 2, [{0, 1}, {2, 3}]),
    ],
)
def test_each_rank_gets_an_equal_share_of_the_cores(
    monkeypatch: pytest.MonkeyPatch, cores: set[int], ranks: int, shares: list[set[int]]
) -> None:
    given: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: cores)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, mask: given.append(set(mask)))
    for rank in range(ranks):
        scheduling.bind(Binding.CORES, rank, ranks)
    assert given == shares


@linux
def test_more_ranks_than_cores_cannot_be_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    with pytest.raises(UnavailableError, match="3 ranks cannot have a core each, there are 2; use --bind none"):
        scheduling.bind(Binding.CORES, 0, 3)


@linux
@pytest.mark.usefixtures("unchanged")
def test_binding_this_process() -> None:
    before = sorted(os.sched_getaffinity(0))
    scheduling.bind(Binding.CORES, 0, len(before))
    assert os.sched_getaffinity(0) == {before[0]}


@linux
def test_unbound_ranks_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    scheduling.bind(Binding.NONE, 0, 2)
