"""Look for what is wrong with ranks, hosts and libraries, and measure nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from collmark.bench.event import Examined, PipedEvent
from collmark.bench.job import Job
from collmark.bench.launchers.joined import Joined
from collmark.bench.launchers.seating import be_rank
from collmark.bench.launchers.start import launch_of
from collmark.core.doctor.facts import OURS, Facts, Objection
from collmark.core.doctor.finding import Diagnosis
from collmark.core.doctor.table import diagnose
from collmark.core.errors import MeasurementError, UnavailableError, UsageError
from collmark.core.placement import Placement
from collmark.workflow.interruption import StopSignals
from collmark.workflow.planning import make_plan, ranks_of, read_ranks
from collmark.workflow.prepare import MOST_LOCAL_RANKS, SIMULATED, default_ranks, with_mpi_library
from collmark.workflow.settings import read_settings


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what was found.

    Attributes
    ----------
    backend, launcher, placement : str
        What would move the bytes, who started the ranks, nodes x ranks per node.
    diagnosis : Diagnosis
        Findings, and what was good or not told.
    """

    backend: str
    launcher: str
    placement: str
    diagnosis: Diagnosis


def examine(job: Job, joined: Joined | None, on_fault: Callable[[str], None]) -> Examination | None:
    """Start the ranks of a launch, or be one of them, and look for what is wrong.

    Parameters
    ----------
    job : Job
        From :func:`examination_of`.
    joined : Joined or None
        The launcher that started this process, if any.
    on_fault : callable
        Receives one line before a watchdog ends this process.

    Returns
    -------
    Examination or None
        None on all ranks but 0, which have told theirs.

    Raises
    ------
    UsageError
        If another rank was started with other options.
    InterruptedRunError
        If a signal came.
    """
    found: list[Diagnosis] = []

    def take(event: PipedEvent) -> None:
        if isinstance(event, Examined):
            found.append(event.diagnosis)

    with StopSignals(lambda _number: None) as signals:
        try:
            if joined is not None:
                be_rank(joined, job, take, lambda: signals.received, on_fault)
            elif not job.objections:  # else nothing can be started
                _start(job, take, signals)
        except (UnavailableError, MeasurementError) as error:
            if joined is not None and joined.rank:
                raise
            job = msgspec.structs.replace(job, objections=(*job.objections, Objection(check="ranks", words=str(error))))
    if joined is not None and joined.rank:
        return None
    return Examination(
        backend=job.backend,
        launcher=job.launcher,
        placement=str(job.placement),
        diagnosis=found[0] if found else _diagnosis_of(job.objections),
    )


def without_ranks(words: str) -> Examination:
    """Return the finding that a launcher started this process in a way that tells it no rank."""
    objections = (Objection(check="ranks", words=words),)
    return Examination(backend="", launcher="", placement="", diagnosis=_diagnosis_of(objections))


def _diagnosis_of(objections: tuple[Objection, ...]) -> Diagnosis:
    """Return what is known where no ranks came together: why. Nothing else was looked at."""
    return msgspec.structs.replace(diagnose(Facts(backend="", objections=objections)), good=[], unknown={})


def examination_of(given: Mapping[str, list[str]], ranks: str | None, joined: Joined | None) -> Job:
    """Return what ranks are told that are only to be examined.

    Parameters
    ----------
    given : mapping of str to list of str
        Options of a plan, as the user wrote them.
    ranks : str or None
        How many to start; under a launcher, how many it was asked for.
    joined : Joined or None
        The launcher that started this process, if any.

    Raises
    ------
    UsageError
        If the options make no sense.
    """
    settings = read_settings()
    plan = make_plan(None, given, settings)
    asked = ranks_of(ranks, plan, settings) if joined is None else read_ranks(ranks)
    if len(plan.backends) > 1:
        raise UsageError(f"--backend {','.join(plan.backends)}: one backend is examined at a time")
    (backend,) = plan.backends
    if backend == SIMULATED:
        raise UsageError(f"--backend {SIMULATED}: simulated ranks have nothing that could be wrong; name another")
    if joined is None:
        if asked and asked > MOST_LOCAL_RANKS:
            raise UsageError(f"--ranks {asked}: at most {MOST_LOCAL_RANKS} are started on one host")
        placement = Placement(ranks_per_node=asked or default_ranks(plan.backends))
    else:
        placement = Placement(nodes=joined.nodes, ranks_per_node=joined.ranks // joined.nodes)
    objections: tuple[Objection, ...] = ()
    if backend == "mpi":
        try:
            plan, _words = with_mpi_library(plan, joined, os.environ)
        except UnavailableError as error:
            objections = (Objection(check="launcher", words=str(error)),)
    return Job(
        folder="",
        launch=1,
        backend=backend,
        placement=placement,
        cases=(),
        plan=msgspec.structs.replace(plan, placements=(placement,)),
        budget=0.0,
        samples_left=0,
        launcher=joined.launcher if joined else OURS,
        only_examine=True,
        asked=asked if joined else None,
        objections=objections,
    )


def _start(job: Job, take: Callable[[PipedEvent], None], signals: StopSignals) -> None:
    with tempfile.TemporaryDirectory(prefix="collmark-doctor-") as logs:
        launch_of(job, Path(logs), keep=()).run(take, signals.is_stopping)
