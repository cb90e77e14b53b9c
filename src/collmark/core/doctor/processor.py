"""Checks of processors and clocks: the cores ranks were given, governors, clock sources, wall clocks."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.core.doctor.check import Check, NotTold, Seen
from collmark.core.doctor.facts import Facts, RankFacts
from collmark.core.doctor.finding import Level
from collmark.core.numeral import counted, spans
from collmark.core.units import Seconds, format_duration

STEADY = "performance"
SLOW_SOURCES = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
"""Sources that the kernel cannot read in user space (no vDSO mode): every read is a system call, about 1 us."""
WALL_CLOCK: Seconds = 1.0
"""Times in logs and records are written in whole seconds."""
THREADS_OF_GLOO = 4
"""Threads that run in a rank at least: docs/method.md, more runnable threads than cores."""


def _cores(facts: Facts) -> Iterator[Seen | NotTold]:
    if not any(rank.cores for rank in facts.ranks):
        yield NotTold(why="the system does not tell which cores a process may run on")
        return
    for host, ranks in facts.ranks_of.items():
        union = {core for rank in ranks for core in rank.cores}
        online = facts.hosts[host].cores or len(union)
        if len(union) < len(ranks) and len(union) < online:
            # Where all cores of the host are in use, the user has been told and has asked for it.
            yield Seen(
                level=Level.WARNING,
                ranks=ranks,
                found=f"{counted(len(ranks), 'rank')} on {_core_words(sorted(union))}, of {online} that are there",
            )
        else:
            yield from _few(ranks, online, facts.backend)


def _few(ranks: tuple[RankFacts, ...], online: int, backend: str) -> Iterator[Seen]:
    short = [rank for rank in ranks if len(rank.cores) < min(online, rank.process.claims.get("SLURM_CPUS_PER_TASK", 1))]
    if short:
        asked = short[0].process.claims["SLURM_CPUS_PER_TASK"]
        yield Seen(
            level=Level.WARNING,
            ranks=tuple(short),
            found=f"{counted(len(short[0].cores), 'core')} a rank, and the job asked for {asked} (SLURM_CPUS_PER_TASK)",
            mend="since Slurm 22.05 srun does not take them over: export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK",
        )
        return
    bound = [rank for rank in ranks if len(rank.cores) == 1]
    if backend == "gloo" and bound and online >= THREADS_OF_GLOO * len(ranks):
        yield Seen(
            level=Level.WARNING,
            ranks=tuple(bound),
            found=f"1 core a rank, of {online}: the {THREADS_OF_GLOO} threads of a gloo rank take turns on it",
        )


def _core_words(cores: list[int]) -> str:
    return f"core{'s' if len(cores) > 1 else ''} {spans(cores)}"


def _governor(facts: Facts) -> Iterator[Seen | NotTold]:
    if not any(host.governors for host in facts.hosts.values()):
        yield NotTold(why="the system tells no governor: a virtual machine, or none is in use")
    for name, host in facts.hosts.items():
        if set(host.governors) - {STEADY}:
            words = ", ".join(f"{governor} on {counted(n, 'core')}" for governor, n in host.governors.items())
            yield Seen(level=Level.WARNING, hosts=(name,), found=words)


def _clock_source(facts: Facts) -> Iterator[Seen | NotTold]:
    if not any(host.clock_source for host in facts.hosts.values()):
        yield NotTold(why="the system does not tell what its clock is made of")
    for name, host in facts.hosts.items():
        if host.clock_source in SLOW_SOURCES:
            yield Seen(level=Level.WARNING, hosts=(name,), found=f"clock source {host.clock_source}")


def _wall_clock(facts: Facts) -> Iterator[Seen]:
    for host, offset in facts.offsets.items():
        if abs(offset) > WALL_CLOCK:
            ahead = "ahead of" if offset > 0 else "behind"
            first = facts.ranks[0].host if facts.ranks else "rank 0"
            yield Seen(level=Level.WARNING, hosts=(host,), found=f"{format_duration(abs(offset))} {ahead} {first}")


PROCESSOR = {
    "cores": Check(
        looks="cores that a launcher gave each rank: not one core for all, nor fewer than the job asked for",
        breaks="ranks and their threads take turns on a core: times are those of the scheduler, ms instead of us",
        mend="srun --cpus-per-task, mpiexec --bind-to none (Open MPI) or -bind-to none (MPICH)",
        rule=_cores,
        sources=("Slurm's release notes 22.05 on SRUN_CPUS_PER_TASK",),
    ),
    "governor": Check(
        looks="CPU frequency governor of every core",
        breaks="clocks follow the load: ranks that wait slow down",
        mend="cpupower frequency-set -g performance",
        rule=_governor,
    ),
    "clock source": Check(
        looks="the clock that the kernel reads",
        breaks="every read of the clock is a system call: times below some 10 us are mostly reads",
        mend="boot with tsc=reliable, if the vendor says that it is; ask the cloud for a machine with an invariant TSC",
        rule=_clock_source,
        sources=("Linux, clocksources without a vDSO mode",),
    ),
    "wall clock": Check(
        looks="time of day on every host, beside rank 0's",
        breaks="logs of hosts cannot be put in order, and credentials of Slurm (munge) expire early; measured times "
        "come from another clock",
        mend="run chronyd or ntpd, and see that it reaches its servers (chronyc tracking)",
        rule=_wall_clock,
        applies=lambda facts: facts.is_several,
    ),
}
