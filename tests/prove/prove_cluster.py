"""Prove on a Slurm cluster of emulated nodes that nothing finished is lost of disturbed arrays and of lost nodes.

Run by ``make prove``, as root on Linux with Slurm. Jobs are plain batch scripts. Small forms of it run with the tests
(tests/slurm).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
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
from tests.slurm.cluster import LAN, OVER, Cluster, missing, started  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench.emulated import raw_tcp  # noqa: E402
from collmark.bench.emulated.hosts import Hosts  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402
from collmark.core.record import Outcome  # noqa: E402
from collmark.core.store import RECORDS_FILE, RunFolder  # noqa: E402

KEPT = ROOT / "docs" / "proof"
QUICK = ("--operation", "all_reduce", "--sizes", "8B:8KiB:x4", "--precision", "0.1%")
CASES, SENTINELS = 6, 3
NODES = (1, 2, 4)
ARRAY_PLAN = """\
operations = ["all_reduce"]
sizes = "8B:8KiB:x4"
precision = "0.1 %"
case_budget = "{budget}"
"""
LOST_TIMEOUT = 3.0  # s
TRIALS = 3
SLOW_NODE, AGAIN, NEAR = 2, 5, 0.05

HEAD = """\
# On a Slurm cluster: {title}

Written by `make prove` (tests/prove/prove_cluster.py). **EMULATED**: four namespaces of one machine, each with a
slurmd, under a slurmctld of their own. No figure is one of a network.

**{verdict}**: {wanted}

{table}

All of it took {minutes:.0f} min at a load average of {load:.1f} on {cores} cores. collmark {collmark}, Python {python},
Linux {linux}, Slurm {slurm}.
"""
TITLES = {"disturbed": "a disturbed job array", "lost": "lost nodes", "pairs": "a slow link among four nodes"}
WANTED = {
    "disturbed": """\
slurm/nodes.sbatch, a job array over 1, 2 and 4 nodes of two ranks each, two launches of gloo on each; it is disturbed
in the middle and goes on. Wanted: each (case, launch) once, and the same set as undisturbed: {whole} records. A signal
or a limit ends a launch between two cases; one that ended just then between two launches has none broken off.""",
    "pairs": """\
the link of {slow_node} has 450 Mbit/s, those of the other three 900. Every pair is measured by a plan of `collmark
pairs`, suspects again in {again} launches, each a step of srun. Wanted: that node's rank, alone, and an excess within
5 % of what raw TCP says of the same links in the same run; of four equal links nothing.""",
    "lost": """\
a node's first process is killed while a case runs; `--timeout` {timeout:.0f} s. Wanted: one line, the records up to
then kept, and the rest measured on other nodes.""",
}


def run_words(*more: str) -> str:
    """Return an srun line of collmark whose ranks of Open MPI are started over PMIx."""
    words = collmark("run", "--backend", "mpi", "--mpi-library", str(PLACES[DEBIAN]), *more)
    return f"srun --ntasks-per-node=1 --mpi=pmix {' '.join(map(repr, words))}"


def submitted(cluster: Cluster, folder: Path, name: str, lines: Sequence[str], *options: str) -> str:
    """Submit a script and return the job's id; what it says is appended to NAME.out."""
    script = folder / f"{name}.sh"
    script.write_text("\n".join(["#!/bin/bash", *lines, ""]), encoding="utf-8")
    fixed = ("--open-mode=append", f"--output={name}.out", "--ntasks-per-node=1")
    return cluster.submit(*fixed, *options, str(script), cwd=folder)


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


def usr1(cluster: Cluster, element: str) -> None:
    """Tell the batch script of an array's element what Slurm tells it before the limit: it is queued anew."""
    # scancel (22.05) takes a job that it has signalled and that is on its way back into the queue for one to try again.
    cluster.run("timeout", "2", "scancel", "--batch", "--signal=USR1", element)


def requeue(cluster: Cluster, element: str) -> None:
    """Stop an element at once and queue it anew."""
    cluster.run("scontrol", "requeue", element)


def cancel(cluster: Cluster, element: str) -> None:
    """Cancel the whole array: elements that run, and those that wait."""
    cluster.run("scancel", element.partition("_")[0])


STRIKES: dict[str, tuple[Callable[[Cluster, str], None] | None, tuple[str, ...]]] = {
    "none": (None, ()),
    "SIGUSR1 to each element": (usr1, ()),
    "scontrol requeue of each element": (requeue, ()),
    "scancel of the array, submitted again": (cancel, ()),
    "time limit (--time=3 --signal=B:USR1@60)": (None, ("--time=3", "--signal=B:USR1@60")),
}
"""How an array is disturbed, and options of its submission."""


def disturb(cluster: Cluster, folder: Path) -> Iterator[tuple[str, int, list[tuple[int, str, str]], int, int]]:
    """Yield of each disturbed array and number of nodes: what was recorded, restarts of launches, and of the job."""
    for kind, (strike, limits) in STRIKES.items():
        name = re.sub(r"\W+", "-", kind)
        (folder / f"{name}.toml").write_text(ARRAY_PLAN.format(budget="6 s" if limits else "400 ms"), encoding="utf-8")
        array = submit_array(cluster, folder, name, limits)
        if strike is not None:
            array = strike_each(cluster, folder, name, array, strike)
        states = wait_for_array(cluster, array)
        said = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"{name}-*.out")))
        assert set(states.values()) == {"COMPLETED"}, (states, said[-4000:])
        for nodes in NODES:
            run = folder / name / f"nodes-{nodes}-gloo"
            broken = sum(len(launch.restarts) for launch in RunFolder(run).read_run().launches)
            yield kind, nodes, keys(run), broken, int(cluster.job(f"{array}_{nodes}").get("Restarts", "0"))


def strike_each(cluster: Cluster, folder: Path, name: str, array: str, strike: Callable[[Cluster, str], None]) -> str:
    """Strike every element in the middle of its run, and return the id of the array that goes on."""
    for nodes in NODES:
        wait_for_records(cluster, folder / name / f"nodes-{nodes}-gloo", 3)
        strike(cluster, f"{array}_{nodes}")
        if strike is cancel:
            wait_for_array(cluster, array)
            array = submit_array(cluster, folder, name, ())
    return array


def submit_array(cluster: Cluster, folder: Path, name: str, limits: Sequence[str]) -> str:
    """Submit slurm/nodes.sbatch by hand, as its first lines say, and return the array's id."""
    export = f"--export=ALL,python={sys.executable},backends=gloo,launches=2,ranks_per_node=2"
    words = ("--array=1,2,4", "--nodes=4", "--ntasks-per-node=2", f"--output={name}-%a.out", *limits, export)
    return cluster.submit(*words, str(ROOT / "slurm" / "nodes.sbatch"), f"{name}.toml", name, cwd=folder)


def wait_for_array(cluster: Cluster, array: str) -> dict[str, str]:
    """Wait until every element is over and return the state of each."""
    states: dict[str, str] = {}

    def is_over() -> bool:
        lines = cluster.run("squeue", "-h", "-r", "-t", "all", "-j", array, "-o", "%i %T").stdout.splitlines()
        states.update(dict(line.split() for line in lines))
        return bool(states) and set(states.values()) <= OVER

    cluster.wait_until(is_over, f"array {array} to end", 600)
    return states


def disturbed_table(found: Sequence[tuple[str, int, list[tuple[int, str, str]], int, int]]) -> tuple[bool, str]:
    """Return whether every set is the undisturbed one, and the table."""
    whole = {nodes: recorded for kind, nodes, recorded, *_counts in found if kind == "none"}
    lines = [
        "| disturbed by | nodes | records | launches broken off | job restarted | the set of the undisturbed array |",
        "|---|---:|---:|---:|---:|---|",
    ]
    are_whole = all(len(recorded) == 2 * (CASES + SENTINELS) for recorded in whole.values())
    for kind in STRIKES:
        struck = [row for row in found if row[0] == kind]
        # An array that is cancelled as a whole may have elements that are done, or have not begun.
        are_whole &= kind == "none" or any(broken for *_row, broken, _restarts in struck)
        for _kind, nodes, recorded, broken, restarts in struck:
            is_same = recorded == whole[nodes]
            are_whole &= is_same
            lines.append(
                f"| {kind} | {nodes} | {len(recorded)} | {broken} | {restarts} | {'yes' if is_same else 'NO'} |"
            )
    return are_whole, "\n".join(lines)


def lose(cluster: Cluster, folder: Path, trials: int) -> Iterator[tuple[str, float, int, bool, bool]]:
    """Yield which node was lost, seconds until the line, lines, whether records were kept and it went on elsewhere."""
    for trial in range(trials):
        for victim, role in ((3, "of rank 1"), (2, "of rank 0")):
            name = f"lost-{victim}-{trial}"
            line = run_words(
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


def swept(cluster: Cluster, folder: Path, name: str) -> list[dict[str, Any]]:
    """Measure all pairs of the nodes, and the suspects again; return what ``collmark pairs`` finds."""
    words = [repr(word) for word in collmark("pairs")]
    pairs, run = " ".join(words), " ".join(repr(word) for word in collmark("run"))
    lines = [
        f"{pairs} --backend gloo --placement 4x1 --sizes 1MiB --case-budget 500ms --write-plan {name}.json",
        f"srun --ntasks-per-node=1 {run} {name}.json --into {name} || exit $?",
        f"{pairs} {name} --write-plan {name}-again.json || exit 0",
        f"for launch in $(seq {AGAIN}); do",
        f"  srun --ntasks-per-node=1 {run} {name}-again.json --into {name}-again --launch $launch || exit $?",
        "done",
    ]
    state = cluster.wait(submitted(cluster, folder, name, lines, "-N4"), 600)
    assert state == "COMPLETED", (folder / f"{name}.out").read_text(encoding="utf-8")[-3000:]
    runs = [one for one in (name, f"{name}-again") if (folder / one).exists()]
    told = cluster.run(*collmark("pairs", *runs, "--json"), cwd=folder)
    assert told.returncode == 0, told.stderr
    (found,) = json.loads(told.stdout)["pairs"]
    return list(found["findings"])


def slow_link(cluster: Cluster, folder: Path) -> Iterator[tuple[str, list[dict[str, Any]], float]]:
    """Yield what is found with one slow link and with none, and how much longer raw TCP takes there."""
    for name, rate in (("slow", 450e6), ("equal", 900e6)):
        for node in cluster.nodes:
            cluster.rate(node, rate if node == cluster.nodes[SLOW_NODE] else 900e6)
        hosts = cluster.hosts
        usual, slow = (raw_rate(hosts, (0, 1)), raw_rate(hosts, (0, SLOW_NODE)))
        yield name, swept(cluster, folder, name), usual / slow
    for node in cluster.nodes:
        cluster.rate(node, None)


def raw_rate(hosts: Hosts, pair: tuple[int, int]) -> float:
    """Return raw TCP's rate of payload between two nodes, B/s."""
    sender, receiver = pair
    own = [sys.executable, "-I", "-S", raw_tcp.__file__]
    address = hosts.address(LAN, receiver)
    with subprocess.Popen(
        [*hosts.words(receiver), *own, "receive", address], stdout=subprocess.PIPE, text=True
    ) as listening:
        sending = [*hosts.words(sender), *own, "send", address, *[f"{2**20}:32"] * raw_tcp.STREAMS]
        subprocess.run(sending, check=True, timeout=100)
        said, _none = listening.communicate(timeout=100)
    return float(said.split()[1])


def link_table(found: Sequence[tuple[str, list[dict[str, Any]], float]]) -> tuple[bool, str]:
    """Return whether just the slow link was named, with its excess, and the table."""
    lines = ["| links | raw TCP, T over usual | named | T over usual, 95 % |", "|---|---:|---|---:|"]
    is_fine = True
    for name, findings, raw in found:
        ranks = [one["ranks"] for one in findings]
        is_fine &= ranks == ([[SLOW_NODE]] if name == "slow" else [])
        is_fine &= all(abs(one["factor"] / raw - 1) <= NEAR for one in findings)
        names = ", ".join(f"{one['kind']} {one['ranks']}" for one in findings) or "nothing"
        factors = ", ".join(f"{one['factor']:.3f} [{one['lower']:.3f}, {one['upper']:.3f}]" for one in findings) or "-"
        lines.append(f"| {name} | {raw:.3f} | {names} | {factors} |")
    return is_fine, "\n".join(lines)


PARTS: dict[str, Callable[[Cluster, Path], tuple[bool, str]]] = {
    "disturbed": lambda cluster, folder: disturbed_table(list(told(disturb(cluster, folder)))),
    "pairs": lambda cluster, folder: link_table(list(told(slow_link(cluster, folder)))),
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
        whole=2 * (CASES + SENTINELS),
        timeout=LOST_TIMEOUT,
        slow_node=f"node {SLOW_NODE}",
        again=AGAIN,
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
        print([len(x) if isinstance(x, list) else x for x in row], file=sys.stderr, flush=True)
        yield row


if __name__ == "__main__":
    sys.exit(main())
