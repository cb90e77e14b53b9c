"""Jobs to Slurm: what is neither measured nor queued is submitted, and noted before anything else happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from collmark.bench.cluster import client
from collmark.bench.cluster.client import Queued
from collmark.bench.cluster.render import cpus_per_task
from collmark.bench.cluster.state import FOLDER, Entry, State, read_state, submitting, write_state
from collmark.core.errors import CollmarkError, PlanError, UsageError
from collmark.core.plan import load_plan
from collmark.workflow.prepare import same_plan
from collmark.workflow.slurm_jobs import Job, Laid, write_scripts
from collmark.workflow.slurm_status import missing_launches


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one placement in one allocation.

    Attributes
    ----------
    name : str
        The placement.
    allocation : int
        Which of those that repeat it.
    id : str
        The job that measures it; empty where all of it is there.
    words : str
        Submitted, or why not.
    """

    name: str
    allocation: int
    id: str
    words: str


def submit_jobs(laid: Laid) -> Iterator[Outcome]:
    """Submit what is neither measured nor queued; each job is noted before the next is submitted.

    Raises
    ------
    UsageError
        If the folder holds jobs of another plan, or Slurm refuses.
    UnavailableError
        If Slurm does not answer.
    """
    with submitting(laid.results):
        state = _known(laid)
        queued = client.queue()
        write_scripts(laid)
        submitted: list[str] = []
        before: dict[str, str] = {}
        for job in laid.jobs:
            wanted = []
            for entry in _with_ids(job, state, queued, laid.results):
                outcome = _there(laid.results, entry, queued)
                if outcome is None:
                    wanted.append(entry)
                else:
                    yield outcome
                    before[entry.name] = outcome.id
                    state = _noted(state, [entry])
            if not wanted:
                continue
            ids = _submit(laid, job, wanted, [before[entry.name] for entry in wanted if before.get(entry.name)])
            submitted += ids
            new = [msgspec.structs.replace(e, ids=(*e.ids, i)) for e, i in zip(wanted, ids, strict=True)]
            state = _noted(state, new)
            write_state(laid.results, state)
            for entry in new:
                before[entry.name] = entry.ids[-1]
                yield Outcome(name=entry.name, allocation=job.allocation, id=entry.ids[-1], words="submitted")
        write_state(laid.results, state)
        if submitted:
            active = [e.ids[-1] for e in state.entries if e.ids and (e.ids[-1] in submitted or _active(e, queued))]
            script = laid.results / FOLDER / f"{laid.collect.name}.sbatch"
            collect = client.submit(script, [f"--dependency=afterany:{':'.join(active)}"])
            write_state(laid.results, msgspec.structs.replace(state, collect=collect))
            if state.collect in queued and queued[state.collect].state == "PENDING":
                with contextlib.suppress(CollmarkError):  # it has begun since, and reports on less: no harm
                    client.cancel([state.collect])
            yield Outcome(name="collect", allocation=1, id=collect, words="submitted, after all others")


def _known(laid: Laid) -> State:
    """Return what was submitted before; UsageError where that was something else."""
    state = read_state(laid.results)
    if state is None:
        return State(profile=laid.profile)
    placements = {entry.name: entry.placement for entry in state.entries}
    for name, plan in laid.plans.items():
        if name not in placements:
            continue  # placements of several plans may lie in one folder
        (wanted,) = plan.placements
        if placements[name] != wanted:
            raise UsageError(
                f"{laid.results}: {name} was submitted as {placements[name]}, and is {wanted} now; use another --output"
            )
        try:
            same_plan(load_plan(laid.results / FOLDER / f"{name}.json"), plan)
        except PlanError as error:
            raise PlanError([f"{name}: {problem}, with another --output" for problem in error.problems]) from error
    return msgspec.structs.replace(state, profile=laid.profile)


def _with_ids(job: Job, state: State, queued: Mapping[str, Queued], results: Path) -> list[Entry]:
    """Return what a job measures with the ids that are noted, or in the queue: sbatch's answer may have been lost."""
    known = {(entry.name, entry.allocation): entry.ids for entry in state.entries}
    script = str(results / FOLDER / f"{job.script.name}.sbatch")
    found = []
    for entry in job.entries:
        index = f"_{entry.placement.nodes}" if job.shape.is_array else ""
        lost = [key for key, one in queued.items() if one.command == script and one.is_active and key.endswith(index)]
        ids = known.get((entry.name, entry.allocation), ())
        found.append(msgspec.structs.replace(entry, ids=(*ids, *(key for key in lost if key not in ids))))
    return found


def _noted(state: State, new: Sequence[Entry]) -> State:
    entries = {(entry.name, entry.allocation): entry for entry in (*state.entries, *new)}
    return msgspec.structs.replace(state, entries=tuple(entries.values()))


def _active(entry: Entry, queued: Mapping[str, Queued]) -> bool:
    return bool(entry.ids) and entry.ids[-1] in queued and queued[entry.ids[-1]].is_active


def _there(results: Path, entry: Entry, queued: Mapping[str, Queued]) -> Outcome | None:
    """Return why a placement need not be submitted; None where it must."""
    said = Outcome(name=entry.name, allocation=entry.allocation, id="", words="all there, nothing to submit")
    if not any(missing_launches(results / run, entry.launches) for run in entry.runs):
        return said
    if _active(entry, queued):
        job = entry.ids[-1]
        return msgspec.structs.replace(said, id=job, words=f"queued already, {queued[job].state.lower()}")
    return None


def _submit(laid: Laid, job: Job, wanted: Sequence[Entry], before: Sequence[str]) -> list[str]:
    """Submit a job for some of its placements and return an id for each."""
    script = laid.results / FOLDER / f"{job.script.name}.sbatch"
    options = [f"--dependency=afterany:{':'.join(dict.fromkeys(before))}"] if before else []
    if not job.shape.is_array:
        return [client.submit(script, options)]
    array = ",".join(str(entry.placement.nodes) for entry in wanted)
    most = max(entry.placement.nodes for entry in wanted)
    number = client.submit(script, [*options, "--hold", f"--array={array}", f"--nodes={most}"])
    try:
        for entry in wanted:
            place = entry.placement
            cpus = place.ranks * cpus_per_task(laid.profile)
            client.resize(f"{number}_{place.nodes}", nodes=place.nodes, tasks=place.ranks, cpus=cpus)
    except CollmarkError:  # its elements then have more nodes than they use: a waste, and no fault
        pass
    try:
        client.release(number)
    except CollmarkError as error:
        raise UsageError(
            f"job {number} is held, and would wait for ever: scontrol release {number} ({error})"
        ) from error
    return [f"{number}_{entry.placement.nodes}" for entry in wanted]
