"""Prove that jobs submitted to a real Slurm cluster find the rates of its links; keep a table.

Run by ``make prove``, as root on Linux with Slurm. Of four nodes two are joined by fast links and two by slow ones, and
the plans name them. ``collmark slurm submit`` does everything, from a login node; truth is raw TCP between the same
nodes, measured in the same run.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.slurm.cluster import LAN, Cluster, missing, started  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench.emulated import raw_tcp  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402
from collmark.workflow.fit import fit_runs, load_runs  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "slurm.md"
BACKENDS = ("gloo", "mpi")
NEAR = {"stream": 0.03, "ratio of stream": 0.05, "ratio of all_reduce": 0.10}
PATIENCE = 1200.0


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two nodes, the rate of their links in bit/s, and the sizes that are measured there."""

    label: str
    hosts: tuple[int, int]
    rate: float
    sizes: str


FAST = Pair(label="fast", hosts=(0, 1), rate=900e6, sizes="64KiB:16MiB:x4")
SLOW = Pair(label="slow", hosts=(2, 3), rate=50e6, sizes="4KiB:1MiB:x4")
PLAN = """\
operations = ["stream", "all_reduce"]
backends = ["{backend}"]
sizes = "{sizes}"
messages = 16
launches = {launches}
case_budget = "1 s"
scheduling = "{scheduling}"
mpi_library = "environment"
[[placements]]
nodes = 2
label = "{label}-{backend}"
nodelist = "{nodes}"
"""
SITE = """\
nodes = 2
cpus_per_node = 4
ranks_per_node = 1
exclusive = false
memory = "0"
python = "{python}"
mpi = "pmi2"
[environment.all]
UCX_NET_DEVICES = "{network}"  # else MPICH sends half of a large message over the hosts' other network
"""

TEXT = """\
# Links of a Slurm cluster

Written by `make prove` (tests/prove/prove_slurm.py). **EMULATED**: the nodes are namespaces of one machine, each
with a slurmd of its own, joined by links that tbf shapes; none is a figure of a network.

**{verdict}**: `collmark slurm submit` from the login node, jobs by sbatch, ranks by srun (gloo; MPICH by
`--mpi=pmi2`), a report by the job that collects. The asymptote of `stream` must lie within {stream:.0f} % of raw
TCP's rate on the same link in the same run, the ratio of the two links by it within {ratio:.0f} % of raw TCP's
ratio, and by `all_reduce` within {all_reduce:.0f} %. MPI's ranks poll, and are disturbed by
whatever else wants one of the cores.

{table}

- Links of {fast:g} and {slow:g} Mbit/s, of whole frames. {launches} launches each, of {fast_sizes} and
  {slow_sizes}; a job at a time.
- Asymptote: 1/beta of the fit in each launch, their mean. Raw TCP: the median of {streams} streams of the largest
  messages, timed at the receiver.
- gloo's ranks and raw TCP run at SCHED_FIFO. Load average {load:.1f}; all took {minutes:.0f} min.

collmark {collmark}, Python {python}, Linux {linux}.
"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure against raw TCP's."""

    backend: str
    what: str
    unit: str
    raw: float
    found: float
    near: float

    @property
    def error(self) -> float:
        """Found over raw, less 1."""
        return self.found / self.raw - 1

    @property
    def is_near(self) -> bool:
        """Whether it is as near as it must be."""
        return abs(self.error) <= self.near


def raw(cluster: Cluster, pair: Pair) -> float:
    """Return raw TCP's rate of payload between two nodes, B/s."""
    sender, receiver = pair.hosts
    own = [sys.executable, "-I", "-S", raw_tcp.__file__]
    address = cluster.hosts.address(LAN, receiver)
    count = max(2, round(pair.rate / 8 / 2**20))
    words = [*cluster.hosts.words(receiver), *own, "receive", address]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as listening:
        sending = [*cluster.hosts.words(sender), *own, "send", address, *[f"{2**20}:{count}"] * raw_tcp.STREAMS]
        subprocess.run(sending, check=True, timeout=100)
        said, _none = listening.communicate(timeout=100)
    return float(said.split()[1])


def measure(cluster: Cluster, pair: Pair, backend: str, launches: int, folder: Path) -> dict[str, float]:
    """Submit a pair's plan, wait for its report, and return the asymptote of each operation in B/s."""
    nodes = ",".join(cluster.nodes[host] for host in pair.hosts)
    text = PLAN.format(
        backend=backend,
        sizes=pair.sizes,
        launches=launches,
        scheduling="fifo" if backend == "gloo" else "other",
        label=pair.label,
        nodes=nodes,
    )
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    (folder / "site.toml").write_text(SITE.format(python=sys.executable, network=LAN), encoding="utf-8")
    words = [sys.executable, "-m", "collmark", "slurm", "submit", "plan.toml", "--profile", "site.toml"]
    done = cluster.run(*words, "--output", "results", cwd=folder, timeout=100)
    assert done.returncode == 0, done.stderr
    collect = re.findall(r"as job (\d+)", done.stderr)[-1]
    logs = folder / "results/slurm"
    assert cluster.wait(collect, timeout=PATIENCE) == "COMPLETED", [path.read_text() for path in logs.glob("*.out")]
    assert (folder / "results/report.html").exists()
    fits, _skews = fit_runs(
        load_runs([str(folder / f"results/{pair.label}-{backend}-{backend}")]), include_unstable=True
    )
    # A mean of logarithms, as intervals are of.
    found = {
        fit.series.operation: math.exp(sum(map(math.log, per)) / len(per))
        for fit in fits.fits
        if fit.asymptote is not None and (per := fit.asymptote.per_launch)
    }
    return {operation: found.get(operation, math.nan) for operation in ("stream", "all_reduce")}


def rows(launches: int) -> Iterator[Row]:
    """Measure all and yield what must be near raw TCP."""
    with tempfile.TemporaryDirectory(prefix="collmark-prove-") as name, started(Path(name)) as cluster:
        for pair in (FAST, SLOW):
            for host in pair.hosts:
                cluster.rate(cluster.nodes[host], pair.rate)
        for backend in BACKENDS:
            folder = Path(name, backend)
            folder.mkdir()
            truth = {pair.label: raw(cluster, pair) for pair in (FAST, SLOW)}
            found = {pair.label: measure(cluster, pair, backend, launches, folder) for pair in (FAST, SLOW)}
            for pair in (FAST, SLOW):
                yield Row(
                    backend=backend,
                    what=f"stream, {pair.label}",
                    unit="MB/s",
                    raw=truth[pair.label] / 1e6,
                    found=found[pair.label]["stream"] / 1e6,
                    near=NEAR["stream"],
                )
            for operation in ("stream", "all_reduce"):
                yield Row(
                    backend=backend,
                    what=f"ratio of {operation}",
                    unit="",
                    raw=truth["fast"] / truth["slow"],
                    found=found["fast"][operation] / found["slow"][operation],
                    near=NEAR[f"ratio of {operation}"],
                )


def table(found: Sequence[Row]) -> str:
    """Return the table."""
    lines = [("backend", "figure", "raw TCP", "found", "error, %", "at most, %"), ("---", "---", *["---:"] * 4)]
    for row in found:
        figures = [f"{value:.4g} {row.unit}".strip() for value in (row.raw, row.found)]
        lines.append((row.backend, row.what, *figures, f"{100 * row.error:+.2f}", f"{100 * row.near:g}"))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Measure, print the page, and return 1 where a figure is not near enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=3, help="of each; the page is kept at 3")
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped, its page stays as it is: {reason}", file=sys.stderr)
        return 0
    began = time.monotonic()
    found: list[Row] = []
    for row in rows(options.launches):
        found.append(row)
        print(f"{row.backend} {row.what}: {100 * row.error:+.2f} %", file=sys.stderr, flush=True)
    is_proven = all(row.is_near for row in found)
    text = TEXT.format(
        verdict="PASS" if is_proven else "FAIL",
        table=table(found),
        stream=100 * NEAR["stream"],
        ratio=100 * NEAR["ratio of stream"],
        all_reduce=100 * NEAR["ratio of all_reduce"],
        cores=usable_cores(),
        fast=FAST.rate / 1e6,
        slow=SLOW.rate / 1e6,
        fast_sizes=FAST.sizes,
        slow_sizes=SLOW.sizes,
        launches=options.launches,
        streams=raw_tcp.STREAMS,
        load=os.getloadavg()[0],
        minutes=(time.monotonic() - began) / 60,
        collmark=__version__,
        python=platform.python_version(),
        linux=platform.release(),
    )
    print(text)
    if options.launches == 3:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
