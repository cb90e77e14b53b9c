"""Prove that 10,000 records of 1,000 repetitions load, fit and report in under 20 s and 1 GiB; keep the figures.

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
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

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
DTYPES = ("float32", "float64")
NODES = (1, 2, 4, 8, 16)
SIZES = [1 << power for power in range(6, 31)]
MOST_SECONDS, MOST_BYTES = 20.0, 1 << 30
STAMP = "2030-01-01T00:00:00Z"

TEXT = """\
# Speed of a report

Written by `make prove` (tests/prove/prove_report.py).

**{verdict}**: {records} records of {repetitions} repetitions must load, fit and report in under {most_seconds:.0f} s
and {most_gib:.0f} GiB.

| step | seconds |
| --- | ---: |
{steps}

Of that the processor worked {cpu:.1f} s. Peak of the process: {gib:.2f} GiB. Report: {kib:.0f} KiB of HTML,
{pictures} pictures, {series} series. Records on disk: {disk:.0f} MiB, raw samples: {samples:.0f} MiB, of which a report
reads those of three cases.

- Made-up records: {operations} operations x {dtypes} dtypes x {nodes} placements x {sizes} sizes x {launches} launches;
  lognormal repetitions around T = alpha + bus bytes x beta; some cases end by budget, a few are unstable.
- A fresh process, its imports included; wall clock, on {cpus} cores that others may share.

collmark {collmark}, Python {python}, numpy {numpy}.
"""


def cases() -> list[Case]:
    """Return the cases of the plan."""
    return [
        Case(
            operation=name, backend="nccl", dtype=dtype, nbytes=nbytes, requested_nbytes=nbytes,
            placement=Placement(nodes=nodes, ranks_per_node=RANKS), reduction="sum" if OPERATIONS[name].reduces else "",
        )
        for name in NAMES for dtype in DTYPES for nodes in NODES for nbytes in SIZES
    ]  # fmt: skip


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


def made(launch: int, random: np.random.Generator) -> Iterator[tuple[Record, bytes]]:
    """Yield the records of one launch and their raw samples."""
    for case in cases():
        alpha, beta = 10e-6 * case.placement.nodes**0.5, (5e-12 if case.placement.nodes == 1 else 2e-11)
        level = (alpha + beta * OPERATIONS[case.operation].model_nbytes(case.exchange)) * random.lognormal(0, 0.03)
        nanoseconds_I = np.round(level * random.lognormal(0, 0.05, REPETITIONS) * 1e9).astype("<i8")
        stamps_SRI = np.zeros((2, RANKS, REPETITIONS), dtype="<i8")
        stamps_SRI[1] = nanoseconds_I
        yield record_of(case, launch, nanoseconds_I * 1e-9), stamps_SRI.tobytes()


def make(path: Path) -> RunFolder:
    """Write the run, without waiting for the disk after each record as a measurement would."""
    run = Run(
        schema_version=SCHEMA_VERSION, label="many", created=STAMP, version=__version__, command=["made", "up"],
        plan=Plan(), cases=cases(), notices=[], launches=[launch_of(number + 1) for number in range(LAUNCHES)],
    )  # fmt: skip
    folder, random = RunFolder.create(path, run), np.random.default_rng(1)
    with (path / RECORDS_FILE).open("wb") as lines:
        for launch in range(1, LAUNCHES + 1):
            name, offset = f"samples-{launch:04d}.i64", 0
            with (path / name).open("wb") as samples:
                for record, data in made(launch, random):
                    reference = SampleReference(
                        file=name, offset=offset, shape=(2, RANKS, REPETITIONS), crc32=zlib.crc32(data)
                    )
                    lines.write(msgspec.json.encode(msgspec.structs.replace(record, samples=reference)) + b"\n")
                    offset += samples.write(data)
    return folder


def measure(path: str) -> dict[str, float]:
    """Load, fit and report in this process; return seconds, bytes and counts."""
    start = time.perf_counter()
    import resource

    from collmark.analysis.report.index import sections_of
    from collmark.analysis.report.write import Format, write
    from collmark.workflow.fit import load_runs
    from collmark.workflow.report import material_of

    marks = {"import": time.perf_counter()}
    (results,) = load_runs([path])
    marks["load"] = time.perf_counter()
    material = material_of([results])
    marks["fit, judge"] = time.perf_counter()
    text = write(material, sections_of(material), Format.HTML)
    marks["report"] = time.perf_counter()
    times = dict(zip(marks, np.diff([start, *marks.values()]).tolist(), strict=True))
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    facts = {"records": len(results.records), "series": len(material.fits.fits) + len(material.fits.refused)}
    return times | {
        "peak": peak,
        "cpu": used.ru_utime + used.ru_stime,
        "html": len(text.encode()),
        "pictures": text.count('role="img"'),
        **facts,
    }


def keep(found: dict[str, float], folder: Path) -> bool:
    """Write the proof and return whether it holds."""
    steps = {name: found[name] for name in ("import", "load", "fit, judge", "report")}
    total = sum(steps.values())
    holds = total < MOST_SECONDS and found["peak"] < MOST_BYTES
    sizes = {kind: sum(file.stat().st_size for file in folder.glob(kind)) / 2**20 for kind in ("*.jsonl", "*.i64")}
    text = TEXT.format(
        verdict="PASS" if holds else "FAIL", records=f"{found['records']:,.0f}", repetitions=f"{REPETITIONS:,}",
        most_seconds=MOST_SECONDS, most_gib=MOST_BYTES / 2**30,
        steps="\n".join(f"| {name} | {seconds:.2f} |" for name, seconds in [*steps.items(), ("**together**", total)]),
        cpu=found["cpu"], gib=found["peak"] / 2**30, kib=found["html"] / 1024, pictures=int(found["pictures"]),
        series=int(found["series"]),
        disk=sizes["*.jsonl"], samples=sizes["*.i64"], operations=len(NAMES), dtypes=len(DTYPES), nodes=len(NODES),
        sizes=len(SIZES), launches=LAUNCHES, cpus=os.cpu_count(), collmark=__version__,
        python=platform.python_version(), numpy=np.__version__,
    )  # fmt: skip
    print(text)
    KEPT.write_text(text, encoding="utf-8")
    return holds


def main() -> int:
    """Make the run, measure in a fresh process, keep the figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", help="a run to measure in this process")
    path = parser.parse_args().measure
    if path:
        print(json.dumps(measure(path)))
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = make(Path(place) / "20300101T000000Z-many")
        words = [sys.executable, __file__, "--measure", str(folder.path)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return 0 if keep(json.loads(done.stdout), folder.path) else 1


if __name__ == "__main__":
    sys.exit(main())
