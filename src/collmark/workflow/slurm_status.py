"""How far jobs are: what lies in their folder of results, and what Slurm says of them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from collmark.bench.cluster import client
from collmark.bench.cluster.client import Queued
from collmark.bench.cluster.state import Entry, State, read_state
from collmark.core.errors import CollmarkError, UsageError
from collmark.core.record import Outcome, Record
from collmark.core.store import RUN_FILE, RunFolder, TornLineWarning
from collmark.workflow.run import DONE, lacks_sentinel

FORGOTTEN = Queued(state="FORGOTTEN", reason="Slurm no longer knows it")
UNKNOWN = Queued(state="UNKNOWN", reason="Slurm did not say")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One placement in one allocation.

    Attributes
    ----------
    name : str
        The placement.
    allocation : int
        Which of those that repeat it.
    placement : str
        Nodes x ranks per node.
    id : str
        The job; empty where none was submitted.
    queued : Queued
        What Slurm says of it.
    records, wanted : int
        Cases that are measured, over launches and backends, and those that are to be.
    """

    name: str
    allocation: int
    placement: str
    id: str
    queued: Queued
    records: int
    wanted: int

    @property
    def is_done(self) -> bool:
        """Whether everything is measured."""
        return self.records >= self.wanted

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected."""
        return self.is_done or not may_go_on(self.queued)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How far the jobs of a folder are.

    Attributes
    ----------
    results : str
        The folder.
    rows : tuple of Row
        In the order of submission.
    collect : str
        Id of the job that collects; empty for none.
    collect_state : str
        Its state.
    report : str
        The report; empty while there is none.
    notices : tuple of str
        What could not be asked.
    """

    results: str
    rows: tuple[Row, ...]
    collect: str
    collect_state: str
    report: str
    notices: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected of any job."""
        return all(row.is_over for row in self.rows) and not may_go_on(Queued(state=self.collect_state))


def may_go_on(job: Queued) -> bool:
    """Whether a job runs or will, as far as is known."""
    return job.is_active or job.state == UNKNOWN.state


def missing_launches(run: Path, launches: int) -> list[int]:
    """Return which of a run's launches 1 to `launches` lack a case, or the end of one that was broken off.

    All where there is no run yet.
    """
    if not (run / RUN_FILE).exists():
        return list(range(1, launches + 1))
    told = RunFolder(run).read_run()
    known = {launch.id: launch for launch in told.launches}
    there: dict[int, set[tuple[str, str]]] = {}
    for record in _done(run):
        there.setdefault(record.launch, set()).add((record.case.key, record.sentinel or ""))

    def is_missing(number: int) -> bool:
        launch, own = known.get(number), there.get(number, set())
        # Of a launch whose budget was spent nothing more is to be expected.
        is_spent = launch is not None and launch.outcome is Outcome.BUDGET
        cases = sum(not mark for _key, mark in own)
        return not is_spent and (cases < len(told.cases) or lacks_sentinel(launch, own))

    return [number for number in range(1, launches + 1) if is_missing(number)]


def state_of(results: Path) -> State:
    """Return what was submitted for a folder; UsageError where nothing was."""
    state = read_state(results)
    if state is None:
        raise UsageError(f"{results}: nothing was submitted for it; collmark slurm submit PLAN.toml --output {results}")
    return state


def status_of(results: Path) -> Status:
    """Return how far the jobs of a folder are, also where Slurm does not answer or has forgotten them."""
    state = state_of(results)
    notices: list[str] = []
    ids = [*(entry.ids[-1] for entry in state.entries if entry.ids), *([state.collect] if state.collect else [])]
    try:
        queued = client.queue()
        queued |= client.accounted([job for job in ids if job not in queued])
    except CollmarkError as error:
        notices.append(f"what Slurm says is not known: {error}")
        queued = dict.fromkeys(ids, UNKNOWN)
    counts = {run: _records(results / run) for entry in state.entries for run in entry.runs}
    collected = queued.get(state.collect, FORGOTTEN).state if state.collect else ""
    report = results / "report.html"
    return Status(
        results=str(results),
        rows=tuple(_row(entry, queued, counts) for entry in state.entries),
        collect=state.collect,
        collect_state=collected,
        report=str(report) if report.exists() else "",
        notices=tuple(notices),
    )


def _row(entry: Entry, queued: Mapping[str, Queued], counts: Mapping[str, Counter[int]]) -> Row:
    """Return how far one placement is."""
    own = range(entry.first, entry.launches + 1)
    there = sum(counts[run][launch] for run in entry.runs for launch in own)
    job = entry.ids[-1] if entry.ids else ""
    return Row(
        name=entry.name,
        allocation=entry.allocation,
        placement=str(entry.placement),
        id=job,
        queued=queued.get(job, FORGOTTEN),
        records=there,
        wanted=len(own) * sum(entry.runs.values()),
    )


def _records(run: Path) -> Counter[int]:
    """Return the number of cases that each launch of a run has measured; none while there is no run."""
    return Counter(record.launch for record in _done(run) if record.sentinel is None)


def _done(run: Path) -> list[Record]:
    """Return what was measured so far; nothing while there is no run."""
    if not (run / RUN_FILE).exists():
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornLineWarning)  # a job writes it just now
        return [record for record in RunFolder(run).records() if record.status in DONE]


def cancel_jobs(results: Path) -> list[str]:
    """Cancel the jobs of a folder that run or wait; return their ids."""
    state = state_of(results)
    queued = client.queue()
    ids = [*(entry.ids[-1] for entry in state.entries if entry.ids), *([state.collect] if state.collect else [])]
    active = [job for job in ids if job in queued and queued[job].is_active]
    if active:
        client.cancel(active)
    return active
