"""Time stamps of all ranks, and the times derived from them. Legend: R ranks, I repetitions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.rank import DEVICE, ENTER, EXIT, QUEUED
from collmark.core.durations import durations
from collmark.core.operation import Estimand

NS = 1e-9
CLOCK_SHARE = 0.05  # of T, that clocks of several hosts may be off


class Stamps(msgspec.Struct, frozen=True, kw_only=True):
    """Raw stamps of one or more blocks.

    Attributes
    ----------
    layers_SRI : array of int64
        Layers as in :mod:`collmark.bench.rank`, ns: enter, exit and, if asynchronous, queued and device interval.
    starts_I : array of int64 or None
        Agreed start of each repetition on the common clock, ns.
    comparable : bool
        All stamps come from one clock, or were mapped onto one.
    error : float
        Bound in s of the error between stamps of any two ranks; 0 for one clock.
    batch : int
        Calls of each repetition, back to back.
    """

    layers_SRI: NDArray[np.int64]
    starts_I: NDArray[np.int64] | None
    comparable: bool
    batch: int = 1
    error: float = 0.0

    @property
    def repetitions(self) -> int:
        """Number of repetitions."""
        return int(self.layers_SRI.shape[2])

    @property
    def local_RI(self) -> NDArray[np.float64]:
        """Local durations of one call in s."""
        duration: NDArray[np.float64] = (self.layers_SRI[EXIT] - self.layers_SRI[ENTER]) * (NS / self.batch)
        return duration

    @property
    def skew_I(self) -> NDArray[np.float64]:
        """Last entry minus first entry in s; meaningful where clocks are comparable."""
        enter = self.layers_SRI[ENTER]
        skew: NDArray[np.float64] = (enter.max(axis=0) - enter.min(axis=0)) * NS
        return skew

    def after(self, cut: int) -> Stamps:
        """Return the stamps without the first `cut` repetitions."""
        starts = None if self.starts_I is None else self.starts_I[cut:]
        return msgspec.structs.replace(self, layers_SRI=self.layers_SRI[:, :, cut:], starts_I=starts)

    def of(self, members: Sequence[int], error: float | None = None) -> Stamps:
        """Return the stamps of some ranks, in their order; `error` is the bound in s between them, where it is less."""
        if len(members) == self.layers_SRI.shape[1]:
            return self
        bound = self.error if error is None else error
        return msgspec.structs.replace(self, layers_SRI=self.layers_SRI[:, list(members)], error=bound)

    def tells(self, seconds: float) -> bool:
        """Whether the clocks are good enough for entries and exits of several ranks to tell such a time of a call."""
        return self.comparable and (self.error == 0 or self.error < CLOCK_SHARE * self.batch * seconds)

    def apart(self) -> Stamps:
        """Return the same as stamps of clocks that cannot be compared."""
        return msgspec.structs.replace(self, starts_I=None, comparable=False)

    def queued_RI(self) -> NDArray[np.float64] | None:
        """Time that it took to queue one call, in s; None if blocking."""
        if len(self.layers_SRI) <= QUEUED:
            return None
        duration: NDArray[np.float64] = (self.layers_SRI[QUEUED] - self.layers_SRI[ENTER]) * (NS / self.batch)
        return duration

    def device_RI(self) -> NDArray[np.float64] | None:
        """Device intervals in s; None if blocking."""
        if len(self.layers_SRI) <= DEVICE:
            return None
        duration: NDArray[np.float64] = self.layers_SRI[DEVICE] * NS
        return duration


def joined(blocks: list[Stamps]) -> Stamps:
    """Return the stamps of several blocks of one case as one."""
    starts = [block.starts_I for block in blocks if block.starts_I is not None]
    return Stamps(
        layers_SRI=np.concatenate([block.layers_SRI for block in blocks], axis=2),
        starts_I=np.concatenate(starts) if len(starts) == len(blocks) else None,
        comparable=all(block.comparable for block in blocks),
        batch=blocks[0].batch,
        error=max(block.error for block in blocks),
    )


def usable_estimand(estimand: Estimand, *, comparable: bool) -> Estimand:
    """Return the estimand that the clocks allow: D_max where entries of several ranks cannot be compared."""
    if comparable or estimand in (Estimand.HALF_ROUND_TRIP, Estimand.PER_MESSAGE):
        return estimand
    return Estimand.LONGEST_LOCAL


def repetition_times(stamps: Stamps, estimand: Estimand, messages: int) -> NDArray[np.float64]:
    """Return T of each repetition, that of one call, in s, shape (I,): the estimand, or what the clocks allow of it."""
    usable = usable_estimand(estimand, comparable=stamps.comparable)
    return durations(stamps.layers_SRI[ENTER], stamps.layers_SRI[EXIT], usable, messages=messages, batch=stamps.batch)
