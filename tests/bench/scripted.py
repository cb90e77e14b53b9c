"""Ranks that do what the script says, to measure a case on. R ranks, I repetitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

import msgspec
import numpy as np

from collmark.bench.common_clock import one_clock
from collmark.bench.measurement import Measured, Measurement, Progress, Terms
from collmark.bench.stamps import Stamps
from collmark.core.case import Case
from collmark.core.placement import Placement, Tier
from collmark.core.record import Check, Clock, Evidence, Sentinel

CASE = Case(
    operation="all_reduce",
    backend="gloo",
    dtype="float32",
    placement=Placement(ranks_per_node=2),
    nbytes=64,
    requested_nbytes=66,
    reduction="sum",
    in_place=True,
)
BARRIER = msgspec.structs.replace(CASE, operation="barrier", reduction="", nbytes=0, requested_nbytes=0)
TERMS = Terms(launch=3, precision=0.05, timeout=30.0, tick=1e-9)
RIGHT = Check(checked=32, wrong=0)
WRONG = Check(checked=32, wrong=2, first="rank 1, element 3: expected 1, found 2")
OVERHEAD = 20e-6  # s between two calls


class ScriptedTeam:
    """Two ranks on a virtual clock: each call takes what `durations` says next."""

    ranks = 2

    def __init__(self, durations: Iterator[float], *, clock: Clock = Clock.SHARED, layers: int = 2) -> None:
        self.clock = clock
        self.common = one_clock(2)
        self.evidence = Evidence(tier=Tier.SIMULATED if clock is Clock.VIRTUAL else Tier.LOOPBACK)
        self.durations = durations
        self.layers = layers
        self.time = 100.0
        self.log: list[str] = []
        self.blocks: list[tuple[int, float]] = []
        self.checked: list[int] = []  # pairs of buffers
        self.checks: Iterator[Check] = repeat(RIGHT)
        self.check_seconds = 0.0
        self.early = 0.0
        self.hides = 0.0  # share of a call that a computation inside does not lengthen
        self.bind_error: Exception | None = None
        self.threads = (0, 0)

    def now(self) -> float:
        return self.time

    def reserve(self, nbytes: int, _eviction: int) -> None:
        self.log.append(f"reserve {nbytes}")

    def evidence_of(self, _case: Case) -> Evidence:
        return self.evidence

    def bind(self, cases: Sequence[Case], _cache: int) -> None:
        self.log.append(f"bind {cases[0].operation}")
        if self.bind_error:
            raise self.bind_error

    def prepare(self, epoch: int, *, poison: bool, slot: int) -> None:
        self.time += self.check_seconds
        self.checked.append(slot)
        self.log.append(f"prepare {epoch} {'poisoned' if poison else 'as it is'}")

    def neutralise(self) -> None:
        self.log.append("neutralise")

    def once(self, timeout: float, slot: int) -> Stamps:
        assert slot == self.checked[-1]
        return self.block(1, timeout)

    def block(self, count: int, timeout: float, compute: int = 0) -> Stamps:
        self.log.append(f"block {count}")
        self.blocks.append((count, timeout))
        stamps = np.zeros((self.layers, 2, count), np.int64)
        for index in range(count):
            duration = next(self.durations)
            if compute:
                duration += compute * 1e-9 - self.hides * duration
            begun = round(self.time * 1e9)
            stamps[0, :, index] = begun
            stamps[1, :, index] = begun + round(duration * 1e9)
            stamps[:2, 1, index] += round(self.early * 1e9)
            if self.layers == 4:
                stamps[2, :, index] = [begun + 2000, begun + 3000]
                stamps[3, :, index] = round(duration * 5e8)
            self.time += duration + OVERHEAD
        return Stamps(layers_SRI=stamps, starts_I=None, comparable=self.clock is not Clock.LOCAL)

    def compare(self, epoch: int, slot: int, groups: Sequence[Sequence[int]]) -> list[Check]:
        assert slot == self.checked[-1]
        self.log.append(f"compare {epoch}")
        return [next(self.checks) for _members in groups]

    def count_threads(self) -> tuple[int, int]:
        return self.threads

    def release(self) -> None:
        self.log.append("release")


def measured(
    team: ScriptedTeam,
    case: Case = CASE,
    *,
    budget: float = 10.0,
    sentinel: Sentinel | None = None,
    terms: Terms = TERMS,
    is_stopping: Callable[[], bool] = lambda: False,
    report: Callable[[Progress], None] = lambda _progress: None,
) -> Measured:
    (one,) = Measurement(team, terms, is_stopping, report).measure([case], budget, sentinel)
    return one


def noisy(seconds: float, cv: float) -> Iterator[float]:
    random = np.random.default_rng(5)
    return (seconds * float(np.exp(cv * random.standard_normal())) for _ in itertools.count())
