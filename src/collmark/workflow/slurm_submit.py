"""From a plan and a site's profile to jobs: what to submit, for how long, and what is there or queued already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from collmark.bench.backends.index import BACKENDS
from collmark.bench.cluster import client
from collmark.bench.cluster.client import Queued
from collmark.bench.cluster.layout import Element, Shape, shapes_of
from collmark.bench.cluster.profile import Profile
from collmark.bench.cluster.render import (
    SIGNAL_SECONDS,
    Script,
    Work,
    check_folder,
    collect_script,
    cpus_per_task,
    job_script,
)
from collmark.bench.cluster.slurm_time import parse_limit
from collmark.bench.cluster.state import FOLDER, Entry, State, read_state, submitting, write_file, write_state
from collmark.core.case import Case
from collmark.core.errors import CollmarkError, UsageError
from collmark.core.expansion import expand
from collmark.core.numeral import counted
from collmark.core.plan import AUTO, Plan, check_plan
from collmark.core.units import format_duration
from collmark.workflow.bound import most_seconds
from collmark.workflow.prepare import check_planted, same_plan
from collmark.workflow.slurm_status import missing_launches

MARGIN = 1.5
"""What a time limit gives of the upper bound: nodes of a cluster are slower than expected more often than faster."""
START_SECONDS = 60.0
"""For each launch to start: imports by many ranks at once from a file system over the network."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job in one allocation, and its script.

    Attributes
    ----------
    shape : Shape
        Its placements.
    allocation : int
        1, 2 ... of those that repeat it.
    entries : tuple of Entry
        One for each placement.
    script : Script
        The script.
    bound : float
        Upper bound of the measurement, in s.
    """

    shape: Shape
    allocation: int
    entries: tuple[Entry, ...]
    script: Script
    bound: float


class Laid(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a submission is made of.

    Attributes
    ----------
    results : Path
        Where runs will lie.
    plan, profile
        What was asked for.
    jobs : tuple of Job
        In their order.
    collect : Script
        Fits, judges and reports.
    plans : dict of str to Plan
        Of each placement.
    notices : tuple of str
        What is left out, shrunk or bounded.
    """

    results: Path
    plan: Plan
    profile: Profile
    jobs: tuple[Job, ...]
    collect: Script
    plans: dict[str, Plan]
    notices: tuple[str, ...]


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


def lay_jobs(plan: Plan, profile: Profile, results: Path, *, allocations: int = 1) -> Laid:
    """Return the jobs of a plan on a site; nothing is written or submitted, and no library is needed.

    Raises
    ------
    UsageError
        If the plan, or the plan on this site, is wrong anywhere.
    """
    check_plan(plan)
    results = results.absolute()
    check_folder(results)
    if plan.launches == AUTO:
        raise UsageError("launches auto: a job's time has to be known; name a number with --launches")
    shapes, notices = shapes_of(plan.placements, profile)
    found: list[str] = list(notices)
    plans, jobs = {}, []
    for shape in shapes:
        cases = {}
        for element in shape.elements:
            plans[element.name] = msgspec.structs.replace(plan, placements=(element.placement,))
            cases[element.name], left_out = _cases(plans[element.name], element)
            found += left_out
        seconds, bound, capped = _time(plan, profile, cases)
        found += [f"{shape.name}: {capped}"] if capped else []
        for allocation in range(1, allocations + 1):
            jobs.append(_job(plan, profile, results, shape, cases, allocation, seconds, bound))
    return Laid(
        results=results,
        plan=plan,
        profile=profile,
        jobs=tuple(jobs),
        collect=collect_script(results, results / FOLDER, profile),
        plans=plans,
        notices=tuple(dict.fromkeys(found)),
    )


def _cases(plan: Plan, element: Element) -> tuple[dict[str, tuple[Case, ...]], tuple[str, ...]]:
    """Return the cases of each backend at a placement, and notices."""
    expansion = expand(plan, element.placement, {name: BACKENDS[name].capability for name in BACKENDS})
    check_planted(plan, expansion.cases)
    cases = {backend: tuple(case for case in expansion.cases if case.backend == backend) for backend in plan.backends}
    return {backend: found for backend, found in cases.items() if found}, expansion.notices


def _time(plan: Plan, profile: Profile, cases: Mapping[str, Mapping[str, Sequence[Case]]]) -> tuple[float, float, str]:
    """Return the time limit and the upper bound of the slowest placement, and what is said where a site gives less."""
    bound = launches = 0.0
    for of_backends in cases.values():
        each = [most_seconds(plan, plan.first_launches * [of], profile.cpus_per_node) for of in of_backends.values()]
        bound, launches = max(bound, sum(each)), max(launches, plan.first_launches * len(each))
    seconds = SIGNAL_SECONDS + MARGIN * bound + launches * START_SECONDS
    if not profile.time_limit or seconds <= (most := parse_limit(profile.time_limit)):
        return seconds, bound, ""
    if most < 2 * SIGNAL_SECONDS:
        raise UsageError(
            f"profile: time_limit: {profile.time_limit}: too short to measure anything and stop in good order"
        )
    return (
        most,
        bound,
        (
            f"may need {format_duration(seconds)}, and time_limit gives {format_duration(most)}: the job keeps what is "
            "finished, requeues itself and goes on"
        ),
    )


def _job(
    plan: Plan,
    profile: Profile,
    results: Path,
    shape: Shape,
    cases: Mapping[str, Mapping[str, Sequence[Case]]],
    allocation: int,
    seconds: float,
    bound: float,
) -> Job:
    launches = allocation * plan.first_launches
    backends = tuple(dict.fromkeys(backend for of_backends in cases.values() for backend in of_backends))
    work = Work(
        shape=shape, backends=backends, launches=launches, plans=results / FOLDER, results=results, seconds=seconds
    )
    script = job_script(work, profile)
    if allocation > 1:
        script = msgspec.structs.replace(script, name=f"{script.name}-{allocation}")
    entries = [
        Entry(
            job=script.name,
            name=element.name,
            allocation=allocation,
            placement=element.placement,
            runs={f"{element.name}-{backend}": len(of) for backend, of in cases[element.name].items()},
            launches=launches,
            seconds=seconds,
        )
        for element in shape.elements
    ]
    return Job(shape=shape, allocation=allocation, entries=tuple(entries), script=script, bound=bound)


def write_scripts(laid: Laid) -> list[Path]:
    """Write the scripts and the plans that they name; return the scripts' paths."""
    folder = laid.results / FOLDER
    for name, plan in laid.plans.items():
        write_file(folder / f"{name}.json", msgspec.json.format(msgspec.json.encode(plan), indent=1))
    paths = []
    for script in (*(job.script for job in laid.jobs), laid.collect):
        paths.append(folder / f"{script.name}.sbatch")
        write_file(paths[-1], script.text.encode())
    return paths


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
            for entry in _with_ids(job.entries, state):
                outcome = _there(laid.results, entry, queued)
                if outcome is None:
                    wanted.append(entry)
                else:
                    yield outcome
                    before[entry.name] = outcome.id
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
        if submitted:
            active = [e.ids[-1] for e in state.entries if e.ids and (e.ids[-1] in submitted or _active(e, queued))]
            script = laid.results / FOLDER / f"{laid.collect.name}.sbatch"
            collect = client.submit(script, [f"--dependency=afterany:{':'.join(active)}"])
            write_state(laid.results, msgspec.structs.replace(state, collect=collect))
            yield Outcome(name="collect", allocation=1, id=collect, words="submitted, after all others")


def _known(laid: Laid) -> State:
    """Return what was submitted before; UsageError where that was something else."""
    state = read_state(laid.results)
    if state is None:
        return State(plan=laid.plan, profile=laid.profile)
    same_plan(state.plan, laid.plan)
    placements = {entry.name: entry.placement for entry in state.entries}
    for job in laid.jobs:
        for entry in job.entries:
            there = placements.get(entry.name, entry.placement)
            if there != entry.placement:
                raise UsageError(
                    f"{laid.results}: {entry.name} was submitted as {there}, and is {entry.placement} by this profile; "
                    "use another --output"
                )
    return msgspec.structs.replace(state, profile=laid.profile)


def _with_ids(entries: Sequence[Entry], state: State) -> list[Entry]:
    known = {(entry.name, entry.allocation): entry.ids for entry in state.entries}
    return [msgspec.structs.replace(e, ids=known.get((e.name, e.allocation), ())) for e in entries]


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
    client.release(number)
    return [f"{number}_{entry.placement.nodes}" for entry in wanted]


def time_words(job: Job) -> str:
    """Return how a job's time limit came about."""
    launches = counted(len(job.shape.elements), "placement") + ", " if job.shape.is_array else ""
    return (
        f"{launches}at most {format_duration(job.bound)} by the plan, half as much again, {START_SECONDS:.0f} s for each "
        f"launch to start and {SIGNAL_SECONDS} s to stop in good order"
    )
