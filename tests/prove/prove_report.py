"""Prove that reports of one large run and of twenty runs are made in time, memory and bytes; keep the figures.

Run by ``make prove``. The records are made up: lognormal repetitions around a model, over several series, launches and
sizes, their raw samples beside them. Reading, fitting and reporting run in a fresh process, as a user's would.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.random import Generator

from collmark import __version__
from collmark.bench.summary import histogram_of
from collmark.core.case import Case
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement, Tier
from collmark.core.plan import Plan
from collmark.core.record import (
    SCHEMA_VERSION,
    Check,
    Clock,
    Evidence,
    Host,
    Launch,
    Outcome,
    Ranks,
    Record,
    Run,
    SampleReference,
    Status,
    Timer,
    Timing,
)  # fmt: skip
from collmark.core.statistics import median_interval, tail_quantiles
from collmark.core.store import RECORDS_FILE, RunFolder

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "proof" / "report-speed.md"
LAUNCHES, REPETITIONS, RANKS = 5, 1000, 4
TICK = 1e-9  # s
NAMES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "send_recv")
SIZES = [1 << power for power in range(6, 31)]
STAMP = "2030-01-01T00:00:00Z"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that are made up, and what a report of them may cost.

    Attributes
    ----------
    runs : int
        One after the other; in the second half all_reduce takes 8 % more.
    operations : tuple of str
    dtypes : tuple of str
    nodes : tuple of int
        Of each placement.
    seconds, memory, page : float
        At most: wall clock in s, peak of the process in bytes, HTML in bytes.
    """

    runs: int
    operations: tuple[str, ...]
    dtypes: tuple[str, ...]
    nodes: tuple[int, ...]
    seconds: float
    memory: float = 1 << 30
    page: float = 15 << 20

    @property
    def cases(self) -> list[Case]:
        """The cases of each run."""
        return [
            Case(
                operation=name, backend="nccl", dtype=dtype, nbytes=nbytes, requested_nbytes=nbytes,
                placement=Placement(nodes=nodes, ranks_per_node=RANKS),
                reduction="sum" if OPERATIONS[name].reduces else "",
            )
            for name in self.operations for dtype in self.dtypes for nodes in self.nodes for nbytes in SIZES
        ]  # fmt: skip


SETS = {
    "one run": Made(runs=1, operations=NAMES, dtypes=("float32", "float64"), nodes=(1, 2, 4, 8, 16), seconds=20.0),
    "20 runs": Made(runs=20, operations=NAMES[:4], dtypes=("float32",), nodes=(1, 2), seconds=30.0),
}

HEAD = """\
# Speed of a report

Written by `make prove` (tests/prove/prove_report.py).

**{verdict}**: made-up records of {repetitions} repetitions must load, fit and report in the time,
memory and bytes below.

{table}

- Operations x dtypes x placements x {sizes} sizes x {launches} launches in each run; lognormal repetitions around
  T = alpha + bus bytes x beta, launches 3 % apart; some cases end by budget, a few are unstable. Of 20 runs the last
  10 take 8 % more for all_reduce.
- A fresh process, its imports included; wall clock, on {cpus} cores that others may share. A report reads the raw
  samples of three cases.

collmark {collmark}, Python {python}, numpy {numpy}.
"""


def record_of(case: Case, launch: int, seconds_I: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Record:
    """Return a record of some repetitions."""
    tails, interval = tail_quantiles(seconds_I), median_interval(seconds_I)
    assert interval is not None
    odd = zlib.crc32(case.key.encode()) + launch
    status = Status.UNSTABLE if odd % 53 == 0 else Status.BUDGET if odd % 7 == 0 else Status.CONVERGED
    tier = Tier.NVLINK if case.placement.nodes == 1 else Tier.RDMA
    return Record(
        schema_version=SCHEMA_VERSION, launch=launch, case=case, status=status, simulated=False, started=STAMP,
        wall=float(seconds_I.sum()), clock=Clock.SHARED, check=Check(checked=case.count, wrong=0),
        evidence=Evidence(tier=tier, because=["made up"]),
        timing=Timing(
            estimand=case.estimand, repetitions=len(seconds_I), cut=0, median=tails.median, lower=interval.lower,
            upper=interval.upper, level=0.95, tau=1.0, minimum=tails.minimum, p25=tails.p25, p75=tails.p75,
            p95=tails.p95, p99=tails.p99, maximum=tails.maximum, second_mode=0.0, outliers=0, tick_limited=False,
            histogram=histogram_of(seconds_I, TICK),
        ),
        ranks=Ranks(
            shortest=tails.p25, longest=tails.p75, skew=1e-7, skewed=0.01, late=0.0, local=[tails.median] * RANKS,
            last_in=[REPETITIONS // RANKS] * RANKS, last_out=[REPETITIONS // RANKS] * RANKS, lateness=[0.0] * RANKS,
            slowest=0, overtime=[0.0] * RANKS, chance_in=0.5, chance_out=0.5,
        ),
    )  # fmt: skip


def launch_of(number: int) -> Launch:
    """Return a launch."""
    host = Host(name="made-up", ranks=list(range(RANKS)), cores=1, cpu="none", system="none")
    timer = Timer(name="none", tick=TICK, cost=1e-8, cost_p99=1e-7, call_overhead=1e-8, loop="none")
    return Launch(
        id=number, backend="nccl", placement="1x4", started=STAMP, launcher="none", hosts=[host], libraries={},
        environment={}, timer=timer, scheduling="other", start_seconds=0.1, outcome=Outcome.COMPLETE,
    )  # fmt: skip


def made(cases: Sequence[Case], launch: int, slower: float, random: Generator) -> Iterator[tuple[Record, bytes]]:
    """Yield the records of one launch and their raw samples."""
    for case in cases:
        alpha, beta = 10e-6 * case.placement.nodes**0.5, (5e-12 if case.placement.nodes == 1 else 2e-11)
        level = (alpha + beta * OPERATIONS[case.operation].model_nbytes(case.exchange)) * random.lognormal(0, 0.03)
        level *= slower if case.operation == "all_reduce" else 1.0
        nanoseconds_I = np.round(level * random.lognormal(0, 0.05, REPETITIONS) * 1e9).astype("<i8")
        stamps_SRI = np.zeros((2, RANKS, REPETITIONS), dtype="<i8")
        stamps_SRI[1] = nanoseconds_I
        yield record_of(case, launch, nanoseconds_I * 1e-9), stamps_SRI.tobytes()


def make(path: Path, wanted: Made) -> None:
    """Write the runs, without waiting for the disk after each record as a measurement would."""
    random, cases = np.random.default_rng(1), wanted.cases
    for number in range(wanted.runs):
        created = f"2030-01-{number + 1:02d}T00:00:00Z"
        run = Run(
            schema_version=SCHEMA_VERSION, label=f"made-{number + 1:02d}", created=created, version=__version__,
            command=["made", "up"], plan=Plan(), cases=cases, notices=[],
            launches=[launch_of(launch + 1) for launch in range(LAUNCHES)],
        )  # fmt: skip
        place = path / run.label
        RunFolder.create(place, run)
        slower = 1.08 if number >= wanted.runs // 2 > 0 else 1.0
        with (place / RECORDS_FILE).open("wb") as lines:
            for launch in range(1, LAUNCHES + 1):
                name, offset = f"samples-{launch:04d}.i64", 0
                with (place / name).open("wb") as samples:
                    for record, data in made(cases, launch, slower, random):
                        reference = SampleReference(
                            file=name, offset=offset, shape=(2, RANKS, REPETITIONS), crc32=zlib.crc32(data)
                        )
                        lines.write(msgspec.json.encode(msgspec.structs.replace(record, samples=reference)) + b"\n")
                        offset += samples.write(data)


def measure(paths: list[str]) -> dict[str, float]:
    """Load, fit and report in this process; return seconds, bytes and counts."""
    start = time.perf_counter()
    import resource

    from collmark.analysis.report.index import sections_of
    from collmark.analysis.report.write import Format, write
    from collmark.workflow.fit import load_runs
    from collmark.workflow.report import material_of

    marks = {"import": time.perf_counter()}
    results = load_runs(paths)
    marks["load"] = time.perf_counter()
    material = material_of(results)
    marks["fit, judge"] = time.perf_counter()
    text = write(material, sections_of(material), Format.HTML)
    marks["report"] = time.perf_counter()
    times = dict(zip(marks, np.diff([start, *marks.values()]).tolist(), strict=True))
    used = resource.getrusage(resource.RUSAGE_SELF)
    return times | {
        "together, s": sum(times.values()),
        "of the processor, s": used.ru_utime + used.ru_stime,
        "peak of memory, MiB": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**20,
        "HTML, MiB": len(text.encode()) / 2**20,
        "pictures": text.count('role="img"'),
        "series": len(material.fits.fits) + len(material.fits.refused),
        "records": sum(len(one.records) for one in results),
    }


def table(found: dict[str, dict[str, float]]) -> tuple[bool, str]:
    """Return whether all is within its limits, and the table."""
    rows = [("", *(words for name in found for words in (name, "wanted"))), ("---", *["---:"] * (2 * len(found)))]
    holds = True
    for what in next(iter(found.values())):
        row = [what if "," in what or what in ("pictures", "series", "records") else f"{what}, s"]
        for name, own in found.items():
            limits = {"together, s": SETS[name].seconds, "peak of memory, MiB": SETS[name].memory / 2**20,
                      "HTML, MiB": SETS[name].page / 2**20}  # fmt: skip
            most = limits.get(what)
            holds &= most is None or own[what] < most
            row += [
                f"{own[what]:,.0f}" if own[what] >= 60 else f"{own[what]:.2f}",
                "" if most is None else f"< {most:,.0f}",
            ]
        rows.append(tuple(row))
    return holds, "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> int:
    """Make the runs, measure in a fresh process, keep the figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs="+", help="runs to measure in this process")
    paths = parser.parse_args().measure
    if paths:
        print(json.dumps(measure(paths)))
        return 0
    found = {}
    for name, wanted in SETS.items():
        with tempfile.TemporaryDirectory() as place:
            make(Path(place), wanted)
            words = [sys.executable, __file__, "--measure", *map(str, sorted(Path(place).iterdir()))]
            found[name] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    holds, lines = table(found)
    text = HEAD.format(
        verdict="PASS" if holds else "FAIL", repetitions=f"{REPETITIONS:,}", table=lines, sizes=len(SIZES),
        launches=LAUNCHES, cpus=os.cpu_count(), collmark=__version__, python=platform.python_version(),
        numpy=np.__version__,
    )  # fmt: skip
    print(text)
    KEPT.write_text(text, encoding="utf-8")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
