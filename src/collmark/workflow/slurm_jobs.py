"""From a plan and a site's profile to jobs: the script of each, and how long it may take."""

from __future__ import annotations

from pathlib import Path

import msgspec

from collmark.bench.backends.index import BACKENDS
from collmark.bench.cluster.layout import Shape, shapes_of
from collmark.bench.cluster.profile import Profile
from collmark.bench.cluster.render import SIGNAL_SECONDS, Script, Work, check_folder, collect_script, job_script
from collmark.bench.cluster.slurm_time import parse_limit
from collmark.bench.cluster.state import FILE, FOLDER, Entry, write_file
from collmark.core.errors import PlanError, UsageError
from collmark.core.expansion import expand
from collmark.core.numeral import counted
from collmark.core.plan import AUTO, Plan, check_plan
from collmark.core.units import format_duration
from collmark.workflow.bound import most_seconds
from collmark.workflow.prepare import check_planted

MARGIN = 1.5
"""What a time limit gives of the upper bound: nodes of a cluster are slower than expected more often than faster."""
START_SECONDS = 60.0
"""For each launch to start: imports by many ranks at once from a file system over the network."""

OF_GPUS = "nccl"


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
    found, jobs = list(notices), []
    if profile.gpus_per_node and OF_GPUS not in plan.backends:
        names = ", ".join(plan.backends)
        found.append(f"the site has GPUs, and {names} of the plan moves no byte between them: --backend {OF_GPUS} does")
    plans = {
        element.name: msgspec.structs.replace(plan, placements=(element.placement,))
        for shape in shapes
        for element in shape.elements
    }
    for shape in shapes:
        entries, bound, left_out = _entries(shape, plans, profile)
        found += left_out
        seconds, words = _limit(shape.name, bound, len(entries[0].runs) * plan.first_launches, profile)
        found += words
        entries = [msgspec.structs.replace(entry, seconds=seconds) for entry in entries]
        jobs += [_job(shape, entries, number, bound, profile, results) for number in range(1, allocations + 1)]
    collect = collect_script(results, results / FOLDER, profile)
    _check_names([*(job.script.name for job in jobs), collect.name, Path(FILE).stem])
    return Laid(
        results=results,
        plan=plan,
        profile=profile,
        jobs=tuple(jobs),
        collect=collect,
        plans=plans,
        notices=tuple(dict.fromkeys(found)),
    )


def _check_names(names: list[str]) -> None:
    """Raise PlanError where a label would make two files of one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PlanError([f"placements: label {name!r} would name two files of jobs: choose another" for name in twice])


def _entries(shape: Shape, plans: dict[str, Plan], profile: Profile) -> tuple[list[Entry], float, list[str]]:
    """Return what a job measures in its first allocation, the seconds that this takes at most, and notices."""
    entries, bounds = [], []
    notices: list[str] = []
    for element in shape.elements:
        plan = plans[element.name]
        expansion = expand(plan, element.placement, {name: BACKENDS[name].capability for name in BACKENDS})
        check_planted(plan, expansion.cases)
        notices += expansion.notices
        of = {name: [case for case in expansion.cases if case.backend == name] for name in plan.backends}
        launches = [cases for cases in of.values() if cases for _launch in range(plan.first_launches)]
        bounds.append(most_seconds(plan, launches, profile.cpus_per_node))
        entries.append(
            Entry(
                job=shape.name,
                name=element.name,
                allocation=1,
                placement=element.placement,
                runs={f"{element.name}-{name}": len(cases) for name, cases in of.items() if cases},
                launches=plan.first_launches,
                seconds=0.0,
            )
        )
    return entries, max(bounds), notices


def _limit(name: str, bound: float, launches: int, profile: Profile) -> tuple[float, list[str]]:
    """Return the time limit of a job, and what is said where a site gives less."""
    seconds = SIGNAL_SECONDS + MARGIN * bound + launches * START_SECONDS
    most = parse_limit(profile.time_limit) if profile.time_limit else seconds
    if seconds <= most:
        return seconds, []
    if most < 2 * SIGNAL_SECONDS:
        raise UsageError(f"profile: time_limit: {profile.time_limit}: too short to stop in good order before it")
    words = f"{name}: may need {format_duration(seconds)}, and time_limit gives {format_duration(most)}"
    return most, [f"{words}: the job keeps what is finished, requeues itself and goes on"]


def _job(shape: Shape, entries: list[Entry], allocation: int, bound: float, profile: Profile, results: Path) -> Job:
    """Return a job of an allocation; its runs are to have so many launches more than after the one before."""
    launches = allocation * entries[0].launches
    work = Work(
        shape=shape,
        backends=tuple(dict.fromkeys(run.removeprefix(f"{e.name}-") for e in entries for run in e.runs)),
        launches=launches,
        plans=results / FOLDER,
        results=results,
        seconds=entries[0].seconds,
    )
    script = job_script(work, profile)
    if allocation > 1:
        script = msgspec.structs.replace(script, name=f"{script.name}-{allocation}")
    first = launches - entries[0].launches + 1
    changes = {"job": script.name, "allocation": allocation, "first": first, "launches": launches}
    changed = tuple(msgspec.structs.replace(entry, **changes) for entry in entries)
    return Job(shape=shape, allocation=allocation, entries=changed, script=script, bound=bound)


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


def time_words(job: Job) -> str:
    """Return how a job's time limit came about."""
    placements = f"{counted(len(job.shape.elements), 'placement')}, " if job.shape.is_array else ""
    return (
        f"{placements}at most {format_duration(job.bound)} by the plan, half as much again, {START_SECONDS:.0f} s for "
        f"each launch to start and {SIGNAL_SECONDS} s to stop in good order"
    )
