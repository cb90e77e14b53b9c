"""What the processes of one launch are told."""

from __future__ import annotations

import msgspec

from collmark.core.case import Case
from collmark.core.doctor.facts import Objection
from collmark.core.placement import Placement
from collmark.core.plan import Plan


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of one backend on one placement.

    Attributes
    ----------
    folder : str
        Folder of the run; only rank 0 writes there.
    launch : int
        Id of the launch.
    backend : str
        Name of the backend.
    placement : Placement
        Where the ranks lie.
    cases : tuple of Case
        What to measure, in the plan's order.
    plan : Plan
        Precision, budgets, time-outs.
    budget : float
        Seconds for the launch, its start included.
    samples_left : int
        Bytes of raw samples that may still be kept.
    launcher, allocation : str
        Who started the ranks; the job whose nodes they share with other launches.
    only_examine : bool
        Look for what is wrong, and measure nothing.
    asked : int or None
        Ranks that the user asked for, where a launcher decides.
    objections : tuple of Objection
        What was noticed before the ranks came together.
    there : tuple of (str, str)
        What earlier processes of this launch have measured: keys of cases, each with its place as a sentinel, if any.
    restarts : tuple of str
        How those processes ended.
    """

    folder: str
    launch: int
    backend: str
    placement: Placement
    cases: tuple[Case, ...]
    plan: Plan
    budget: float
    samples_left: int
    launcher: str
    allocation: str = ""
    only_examine: bool = False
    asked: int | None = None
    objections: tuple[Objection, ...] = ()
    there: tuple[tuple[str, str], ...] = ()
    restarts: tuple[str, ...] = ()


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """One rank's place in a launch.

    Attributes
    ----------
    rank, ranks, local_rank : int
        Index, number of ranks, index on the host.
    addresses : tuple of (str, int)
        Where rank 0 may be found.
    secret : bytes
        Known to the ranks of this launch.
    patience : float
        Seconds for the ranks to find each other.
    """

    rank: int
    ranks: int
    local_rank: int
    addresses: tuple[tuple[str, int], ...]
    secret: bytes
    patience: float
