"""Prove on a Slurm cluster of emulated nodes that figures are those of the links, and that nothing finished is lost.

Run by ``make prove``, as root on Linux with Slurm. Jobs are plain batch scripts. Small forms of it run with the tests
(tests/slurm).
"""

from __future__ import annotations

import argparse
import functools
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.mpi_libraries import DEBIAN, PLACES  # noqa: E402
from tests.multiprocess.program import collmark  # noqa: E402
from tests.slurm.cluster import LAN, Cluster, missing, started  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench.emulated.link import Network  # noqa: E402
from collmark.bench.emulated.raw_tcp import measure_raw  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402
from collmark.core.record import Outcome  # noqa: E402
from collmark.core.store import RECORDS_FILE, RunFolder  # noqa: E402

KEPT = ROOT / "docs" / "proof"
MEGABIT = 1e6 / 8  # B/s
PAIRS = {"fast": (0, 900 * MEGABIT, "4MiB:16MiB:x2"), "slow": (2, 50 * MEGABIT, "256KiB:1MiB:x2")}
"""First node of each pair, the rate of its links in B/s, the sizes of messages."""
NEAR, NEAR_RATIO, NEAR_REDUCE = 0.03, 0.05, 0.10
LAUNCHES = 2
QUICK = ("--operation", "all_reduce", "--sizes", "8B:8KiB:x4", "--precision", "0.1%")
CASES, SENTINELS = 6, 3
LOST_TIMEOUT = 3.0  # s
TRIALS = 3

HEAD = """\
# On a Slurm cluster: {title}

Written by `make prove` (tests/prove/prove_cluster.py). **EMULATED**: four namespaces of one machine, each with a
slurmd, under a slurmctld of their own; links are shaped by tbf. No figure is one of a network.

**{verdict}**: {wanted}

{table}

All of it took {minutes:.0f} min at a load average of {load:.1f} on {cores} cores. collmark {collmark}, Python {python},
Linux {linux}, Slurm {slurm}.
"""
TITLES = {"links": "streams over shaped links", "disturbed": "disturbed jobs", "lost": "lost nodes"}
WANTED = {
    "links": """\
jobs by sbatch and srun, {launches} launches of a rank on each of two nodes; raw TCP over the same link in the same run.
Asymptote: 1/beta of the fit, over launches. Wanted: that of `stream` within {near:.0f} % of raw TCP, the ratio
fast : slow within {near_ratio:.0f} % of raw TCP's, and that ratio of `all_reduce` within {near_reduce:.0f} %. How near
`all_reduce` comes to raw TCP is its algorithm's doing, and shown.""",
    "disturbed": """\
a line is a job of two launches; in the middle it is disturbed, and goes on. Wanted: each (case, launch) once, and the
same set as undisturbed: {whole} records.""",
    "lost": """\
a node's first process is killed while a case runs; `--timeout` {timeout:.0f} s. Wanted: one line, the records up to
then kept, and the rest measured on other nodes.""",
}


class Pair:
    """Two nodes of the cluster, as :func:`measure_raw` sees hosts."""

    def __init__(self, cluster: Cluster, first: int, rate: float) -> None:
        self._cluster, self._first = cluster, first
        self.networks = {
            LAN: Network(name=LAN, link=msgspec.structs.replace(cluster.hosts.networks[LAN].link, rate=rate))
        }
        for node in cluster.nodes[first : first + 2]:
            cluster.rate(node, 8 * rate)

    def words(self, host: int) -> tuple[str, ...]:
        """Return how a command line begins that runs on one of the two."""
        return self._cluster.hosts.words(self._first + host)

    def address(self, network: str, host: int) -> str:
        """Return the address of one of the two."""
        return self._cluster.hosts.address(network, self._first + host)


def run_words(backend: str, *more: str) -> str:
    """Return an srun line of collmark; Open MPI's ranks are started over PMIx."""
    library = ("--mpi-library", str(PLACES[DEBIAN])) if backend == "mpi" else ()
    pmi = "--mpi=pmix " if backend == "mpi" else ""
    return (
        f"srun --ntasks-per-node=1 {pmi}{' '.join(map(repr, collmark('run', '--backend', backend, *library, *more)))}"
    )


def submitted(cluster: Cluster, folder: Path, name: str, lines: Sequence[str], *options: str, per_node: int = 1) -> str:
    """Submit a script and return the job's id; what it says is appended to NAME.out."""
    script = folder / f"{name}.sh"
    script.write_text("\n".join(["#!/bin/bash", *lines, ""]), encoding="utf-8")
    fixed = ("--open-mode=append", f"--output={name}.out", f"--ntasks-per-node={per_node}")
    return cluster.submit(*fixed, *options, str(script), cwd=folder)


class LinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one backend found on one pair, and raw TCP, in B/s."""

    backend: str
    pair: str
    raw: float
    stream: float
    reduce: float


def asymptote(folder: Path, operation: str) -> float:
    """Return 1/beta of an operation, in B/s."""
    from collmark.workflow.fit import fit_runs, load_runs

    fits, _skews = fit_runs(load_runs([str(folder)]))
    found = [fit.asymptote.value for fit in fits.fits if fit.series.operation == operation and fit.asymptote]
    return found[0] if found and found[0] else float("nan")


def links(cluster: Cluster, folder: Path) -> Iterator[LinkRow]:
    """Measure both pairs by both backends."""
    for backend, scheduling in (("gloo", "fifo"), ("mpi", "other")):
        for pair, (first, rate, sizes) in PAIRS.items():
            hosts: Any = Pair(cluster, first, rate)
            name = f"{backend}-{pair}"
            plan = ("--operation", "stream,all_reduce", "--sizes", sizes, "--messages", "4", "--case-budget", "2.5 s")
            lines = [
                run_words(backend, *plan, "--scheduling", scheduling, "--into", name, "--launch", str(launch))
                for launch in range(1, LAUNCHES + 1)
            ]
            nodes = ",".join(cluster.nodes[first : first + 2])
            state = cluster.wait(submitted(cluster, folder, name, lines, "-w", nodes), 600)
            assert state == "COMPLETED", (folder / f"{name}.out").read_text(encoding="utf-8")
            largest = max(record.case.nbytes for record in RunFolder(folder / name).records())
            (raw,) = measure_raw(hosts, LAN, [largest], 2.0).values()
            found = {operation: asymptote(folder / name, operation) for operation in ("stream", "all_reduce")}
            yield LinkRow(backend=backend, pair=pair, raw=raw, stream=found["stream"], reduce=found["all_reduce"])
    for node in cluster.nodes:
        cluster.rate(node, None)


def link_table(rows: Sequence[LinkRow]) -> tuple[bool, str]:
    """Return whether all figures are near raw TCP, and the table."""
    headings = [
        "backend",
        "pair",
        "raw TCP, MB/s",
        *(f"{name}, error %" for name in ("stream", "ratio", "all_reduce's")),
    ]
    lines = [[*headings, "all_reduce over raw TCP"], ["---:"] * (len(headings) + 1)]
    are_near = True
    for row in rows:
        fast, slow = (next(r for r in rows if (r.backend, r.pair) == (row.backend, pair)) for pair in PAIRS)
        raw = fast.raw / slow.raw
        errors = (row.stream / row.raw - 1, fast.stream / slow.stream / raw - 1, fast.reduce / slow.reduce / raw - 1)
        are_near &= all(abs(e) <= near for e, near in zip(errors, (NEAR, NEAR_RATIO, NEAR_REDUCE), strict=True))
        shown = [f"{100 * error:+.2f}" for error in errors]
        lines.append([row.backend, row.pair, f"{1e-6 * row.raw:.3f}", *shown, f"{row.reduce / row.raw:.3f}"])
    return are_near, "\n".join("| " + " | ".join(line) + " |" for line in lines)


def wait_for_records(cluster: Cluster, folder: Path, count: int) -> None:
    """Wait until a run has so many."""
    path = folder / RECORDS_FILE
    cluster.wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, f"{count} records", 120)


def keys(folder: Path) -> list[tuple[int, str, str]]:
    """Return launch, case and place as a sentinel of every line of a run."""
    lines = (folder / RECORDS_FILE).read_bytes().splitlines()
    fields = [msgspec.json.decode(line) for line in lines]
    keyed = {(r.launch, r.case.key, r.sentinel or ""): None for r in RunFolder(folder).records()}
    assert len(fields) == len(keyed), f"{folder}: a line repeats another"
    return sorted(keyed)


def requeueing(name: str, *more: str) -> list[str]:
    """Return a script of two launches: requeued where one was ended after a case, once more where it was lost."""
    lines = []
    for launch in (1, 2):
        words = run_words("mpi", *QUICK, *(more or ("--case-budget", "400ms")), "--into", name, "--launch", str(launch))
        lines += ["for attempt in 1 2 3; do", words, "status=$?", "case $status in 0 | 138) break ;; esac", "done"]
        lines += ["[ $status = 138 ] && scontrol requeue $SLURM_JOB_ID", "[ $status = 0 ] || exit $status"]
    return lines


def disturb(cluster: Cluster, folder: Path) -> Iterator[tuple[str, int, list[tuple[int, str, str]], int]]:
    """Yield each disturbance, its nodes, what was recorded, and how many process sets were broken off."""

    def usr1(job: str, _again: Callable[[], str]) -> str:
        cluster.run("scancel", "--signal=USR1", job)
        return job

    def requeue(job: str, _again: Callable[[], str]) -> str:
        cluster.run("scontrol", "requeue", job)
        return job

    def cancel(job: str, again: Callable[[], str]) -> str:
        cluster.run("scancel", job)
        cluster.wait(job)
        return again()

    kinds: dict[str, Callable[[str, Callable[[], str]], str] | None] = {
        "none": None, "SIGUSR1": usr1, "scontrol requeue": requeue, "scancel, then again": cancel,
        "time limit (--time=1 --signal=USR1@45)": None,
    }  # fmt: skip
    for kind, strike in kinds.items():
        for nodes in (1, 2, 4) if "time" not in kind else (2,):
            name = f"{kind.split()[0].strip(',')}-{nodes}"
            limits = ("--time=1", "--signal=USR1@45") if "time" in kind else ()
            longer = ("--case-budget", "3 s") if limits else ()

            script = requeueing(name, *longer)
            options = (f"-N{nodes}", "--requeue", *limits)
            per_node = 2 if nodes == 1 else 1
            again = functools.partial(submitted, cluster, folder, name, script, *options, per_node=per_node)
            job = again()
            if strike:
                wait_for_records(cluster, folder / name, 3)
                job = strike(job, again)
            state = cluster.wait(job, 300)
            assert state == "COMPLETED", (state, (folder / f"{name}.out").read_text(encoding="utf-8"))
            broken = sum(len(launch.restarts) for launch in RunFolder(folder / name).read_run().launches)
            yield kind, nodes, keys(folder / name), broken


def disturbed_table(found: Sequence[tuple[str, int, list[tuple[int, str, str]], int]]) -> tuple[bool, str]:
    """Return whether every set is the undisturbed one, and the table."""
    whole = {nodes: recorded for kind, nodes, recorded, _broken in found if kind == "none"}
    lines = [
        "| disturbed by | nodes | records | broken off | the set of the undisturbed job |",
        "|---|---:|---:|---:|---|",
    ]
    are_whole = all(len(recorded) == 2 * (CASES + SENTINELS) for recorded in whole.values())
    for kind, nodes, recorded, broken in found:
        is_same = recorded == whole[nodes]
        are_whole &= is_same and (broken > 0 or kind == "none")
        lines.append(f"| {kind} | {nodes} | {len(recorded)} | {broken} | {'yes' if is_same else 'NO'} |")
    return are_whole, "\n".join(lines)


def lose(cluster: Cluster, folder: Path, trials: int) -> Iterator[tuple[str, float, int, bool, bool]]:
    """Yield which node was lost, seconds until the line, lines, whether records were kept and it went on elsewhere."""
    for trial in range(trials):
        for victim, role in ((3, "of rank 1"), (2, "of rank 0")):
            name = f"lost-{victim}-{trial}"
            line = run_words(
                "mpi",
                *QUICK,
                "--case-budget",
                "400ms",
                "--timeout",
                f"{LOST_TIMEOUT:g} s",
                "--into",
                name,
                "--launch",
                "1",
            )
            nodes = ",".join(cluster.nodes[2:4])
            # The batch shell of the job would run on the first node: srun is called from the login node.
            out = folder / f"{name}.out"
            job = submitted(cluster, folder, name, [line], "--no-requeue", "-w", nodes)
            wait_for_records(cluster, folder / name, 2)
            began = time.monotonic()
            cluster.hosts.crash(victim)
            if victim == 3:
                cluster.wait_until(lambda out=out: "error: " in out.read_text(), "a line", 60)  # type: ignore[misc]
            else:  # nobody is left to write the job's output but the other node's slurmstepd, to srun, which is gone
                launches = RunFolder(folder / name).read_run().launches
                assert [launch.outcome for launch in launches] == [None]
            seconds = time.monotonic() - began
            before = list(RunFolder(folder / name).records())
            cluster.crash(cluster.nodes[victim])
            cluster.wait(job, 120)
            said = [text for text in out.read_text(encoding="utf-8").splitlines() if text.startswith("error:")]
            other = submitted(cluster, folder, f"{name}-again", [line], "-w", ",".join(cluster.nodes[:2]))
            state = cluster.wait(other, 300)
            run = RunFolder(folder / name)
            is_kept = list(run.records())[: len(before)] == before
            (launch,) = run.read_run().launches
            goes_on = state == "COMPLETED" and launch.outcome is Outcome.COMPLETE and len(keys(folder / name)) == 9
            yield role, seconds, len(said), is_kept, goes_on
            cluster.boot(cluster.nodes[victim])


def lost_table(found: Sequence[tuple[str, float, int, bool, bool]]) -> tuple[bool, str]:
    """Return whether every loss was told in a line and cost nothing finished, and the table."""
    lines = [
        "| node | until the line, s | lines | finished records kept | completed on other nodes |",
        "|---|---:|---:|---|---|",
    ]
    for role, seconds, said, is_kept, goes_on in found:
        told = f"{seconds:.1f} | {said}" if role == "of rank 1" else "- (the job's output goes with its node) | -"
        lines.append(f"| {role} | {told} | {'yes' if is_kept else 'NO'} | {'yes' if goes_on else 'NO'} |")
    are_fine = all(kept and on and (said == 1 or role != "of rank 1") for role, _s, said, kept, on in found)
    return are_fine, "\n".join(lines)


PARTS: dict[str, Callable[[Cluster, Path], tuple[bool, str]]] = {
    "links": lambda cluster, folder: link_table(list(told(links(cluster, folder)))),
    "disturbed": lambda cluster, folder: disturbed_table(list(told(disturb(cluster, folder)))),
    "lost": lambda cluster, folder: lost_table(list(told(lose(cluster, folder, TRIALS)))),
}


def main() -> int:
    """Make all runs, print the pages, and return 1 where anything is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, help="that part alone")
    options = parser.parse_args()
    reason = missing() or (
        "" if PLACES[DEBIAN].exists() else "no Open MPI (apt-get install openmpi-bin libopenmpi-dev)"
    )
    if reason:
        print(f"skipped, its pages stay as they are: {reason}", file=sys.stderr)
        return 0
    are_proven = [prove(part) for part in ([options.part] if options.part else PARTS)]
    return 0 if all(are_proven) else 1


def prove(part: str) -> bool:
    """Make the runs of a part on a cluster of its own, and keep its page."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="collmark-slurm-") as name,
        tempfile.TemporaryDirectory(prefix="collmark-jobs-") as jobs,
        started(Path(name)) as cluster,
    ):
        is_proven, table = PARTS[part](cluster, Path(jobs))
        slurm = cluster.run("sinfo", "--version").stdout.split()[-1]
    wanted = WANTED[part].format(
        launches=LAUNCHES,
        near=100 * NEAR,
        near_ratio=100 * NEAR_RATIO,
        near_reduce=100 * NEAR_REDUCE,
        whole=2 * (CASES + SENTINELS),
        timeout=LOST_TIMEOUT,
    )
    text = HEAD.format(
        title=TITLES[part],
        verdict="PASS" if is_proven else "FAIL",
        wanted=wanted,
        table=table,
        minutes=(time.monotonic() - began) / 60,
        load=os.getloadavg()[2],
        cores=usable_cores(),
        collmark=__version__,
        python=platform.python_version(),
        linux=platform.release(),
        slurm=slurm,
    )
    print(text)
    (KEPT / f"cluster-{part}.md").write_text(text, encoding="utf-8")
    return is_proven


def told(rows: Iterator[Any]) -> Iterator[Any]:
    """Yield rows, each shown on stderr as it comes."""
    for row in rows:
        print(
            row if isinstance(row, LinkRow) else [len(x) if isinstance(x, list) else x for x in row],
            file=sys.stderr,
            flush=True,
        )
        yield row


if __name__ == "__main__":
    sys.exit(main())
