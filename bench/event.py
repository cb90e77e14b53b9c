"""What happens during a run, as rank 0 tells it to whoever shows or stores it."""

from __future__ import annotations

import msgspec

from collmark.bench.measurement import Progress
from collmark.bench.runner import BudgetSpent, Finished
from collmark.core.doctor.finding import Diagnosis
from collmark.core.record import Launch, Outcome, Run


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A run's folder is there and its first launch is about to start.

    Attributes
    ----------
    folder : str
        Where results go.
    run : Run
        Plan, cases and notices.
    records : int
        Records to be made now.
    kept : int
        Records that are there already, from before a resume.
    at_most : float
        Upper bound of the duration in s.
    warnings : tuple of str
        What the user should know before believing the figures.
    """

    folder: str
    run: Run
    records: int
    kept: int
    at_most: float
    warnings: tuple[str, ...]


class LaunchStarted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All ranks of a launch are there."""

    launch: Launch
    cases: int


class LaunchEnded(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A launch is over."""

    launch: int
    outcome: Outcome


class Examined(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What was found before anything was timed, where that is all that was asked for."""

    diagnosis: Diagnosis


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Rank 0 gives up; `status` is the exit status that its reason asks for."""

    text: str
    status: int


class Beat(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Rank 0 is alive."""


Event = RunStarted | LaunchStarted | Progress | Finished | BudgetSpent | LaunchEnded
PipedEvent = LaunchStarted | Progress | Finished | BudgetSpent | LaunchEnded | Examined | Fault | Beat
