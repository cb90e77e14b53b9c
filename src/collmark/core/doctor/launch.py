"""Checks of the launch itself: who is there, and who started them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from collmark.core.doctor.check import Check, Seen
from collmark.core.doctor.facts import OURS, Facts
from collmark.core.doctor.finding import Level
from collmark.core.numeral import counted


def _world(facts: Facts) -> Iterator[Seen]:
    there = len(facts.ranks)
    if facts.asked is not None and there and facts.asked != there:
        found = f"{counted(facts.asked, 'rank')} were asked for, {there} were started by {facts.launcher}"
        yield Seen(level=Level.BLOCKING, found=found)
    claims = facts.ranks[0].process.claims if facts.ranks else {}
    nodes = claims.get("SLURM_JOB_NUM_NODES", 1)
    if facts.launcher == OURS and nodes > 1:
        yield Seen(
            level=Level.WARNING,
            found=f"a Slurm job of {nodes} nodes, and no launcher: all ranks are on this one",
            mend="start the ranks with srun collmark ...",
        )
    said = claims.get("WORLD_SIZE", there)
    if facts.launcher in ("mpiexec", "srun") and said != there:
        yield Seen(
            level=Level.WARNING,
            found=f"WORLD_SIZE={said}, and {facts.launcher} has started {there}",
            breaks="programs of torch would wait for ranks that never come",
            mend="unset WORLD_SIZE, or set it to what is started",
        )


def _objected(check: str, level: Level = Level.BLOCKING) -> Callable[[Facts], Iterator[Seen]]:
    """Return the rule that passes on what was noticed while the ranks came together."""

    def rule(facts: Facts) -> Iterator[Seen]:
        for objection in facts.objections:
            if objection.check == check:
                ranks = () if objection.rank is None else facts.ranks[objection.rank : objection.rank + 1]
                yield Seen(level=level, ranks=ranks, found=objection.words)

    return rule


LAUNCH = {
    "world": Check(
        looks="number of ranks, against --ranks, the job and WORLD_SIZE",
        breaks="what is measured is another placement than the one meant",
        mend="ask the launcher for as many (srun --ntasks, mpiexec -n, torchrun --nproc-per-node)",
        rule=_world,
        sources=("JuliaParallel/MPI.jl issue 905",),
    ),
    "ranks": Check(
        looks="every rank came, once: a wrong launcher starts N copies of rank 0",
        breaks="ranks would wait for each other for ever, or each measure alone",
        mend="start all ranks with one launcher, that of the MPI in use; see that rank 0's host can be reached",
        rule=_objected("ranks"),
        sources=("NVIDIA/nccl-tests issue 213", "kokkos/kokkos-comm issue 134"),
    ),
    "placement": Check(
        looks="equally many ranks on each host, on as many hosts as the launcher says",
        breaks="the placement in the results would be a wrong word, and the fullest host would set the pace",
        mend="srun --ntasks-per-node, mpiexec with a host file of equal slots, or LOCAL_WORLD_SIZE",
        rule=_objected("placement"),
    ),
    "backend": Check(
        looks="every rank has the backend's library and may do what the plan asks for",
        breaks="the launch cannot begin",
        mend="install the same environment on every host, as on a shared file system",
        rule=_objected("backend"),
    ),
    "launcher": Check(
        looks="the launcher belongs to the MPI library",
        breaks="ranks cannot be started, or every one is rank 0 of 1",
        mend="use the library's own mpiexec, srun with the --mpi that it was built for, or another --mpi-library",
        rule=_objected("launcher"),
        applies=lambda facts: facts.backend == "mpi" or any(one.check == "launcher" for one in facts.objections),
        sources=("open-mpi/ompi issue 10286", "kokkos/kokkos-comm issue 134"),
    ),
}
