"""Prove that streams over links of a known ratio find it, and that verdicts on them are right and marked; keep a table.

Run by ``make prove``, as root on Linux. Two emulated hosts are joined by two networks, shaped to a planted ratio; truth
is the ratio of raw TCP's rates, measured in the same run. A small form runs with the tests
(tests/multiprocess/test_shaped.py).
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from collmark import __version__  # noqa: E402
from collmark.analysis.claims.finding import Verdict  # noqa: E402
from collmark.bench.emulated.hosts import Hosts, emulated_hosts, refusal  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402
from collmark.workflow import emulated  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "shaped-links.md"
RATIOS = (2, 9, 18, 36)
RUNS = 10
LAUNCHES = 2
COUNTED, BESIDE = "gloo", "mpi"
NEAR = 0.03  # of raw TCP's ratio
MODEL_ERROR = 0.02  # by which intervals are widened
LEAST_NEAR, LEAST_COVERED = 38 / 40, 35 / 40
CLAIMS = {"gap-18x": 18, "gap-36x": 36}
"""The claims that are judged, and the ratio that each claims, give or take a factor of 1.2."""
TOLERANCE = 1.2

TEXT = """\
# Ratios of tiers on shaped links

Written by `make prove` (tests/prove/prove_shaped.py). **EMULATED**: every figure is one of two namespaces of one
machine, joined by veth links that tbf shapes; none is a figure of a network.

**{verdict}**: the ratio of the asymptotes of `stream` lies within {near:.0f} % of raw TCP's in {is_near} of {count}
runs (at least {least_near}); its 95 % interval, widened by the stated model error of {error:.0f} %, holds raw TCP's in
{covered} (at least {least_covered}); the verdicts on {claims} are right and marked as emulated in {right} (all), and
emulated figures gave a claim's own verdict in {leaked} (none).

{table}

- A run is {launches} launches over each of two networks in turn, a rank on each of two hosts. Asymptote: 1/beta of the
  fit, in each launch, of messages of three sizes, four in flight. Those of gloo count; MPI (MPICH), whose ranks poll
  and are disturbed by whatever else wants a processor, is shown beside.
- The slow network has {slow:g} Mbit/s, the fast one the planted ratio times as much, of whole frames. Raw TCP: the
  median of five one-way streams of the largest messages, timed at the receiver behind the first tenth, in the same run.
- A bucket holds the largest frame and what comes in a millisecond, so that it is full again after {pause:.1f} ms at
  most. Between two calls more time passes: each has the same head start, {long:.0f} of which are the shortest call.
- gloo's ranks and raw TCP run at SCHED_FIFO; MPI's do not. What all wanted of {cores} cores, these runs included: a
  load average of {load:.1f} in the median, {most_load:.1f} at most. All runs took {minutes:.0f} min.
- Error: fitted ratio over raw TCP's, less 1. Half-width: of the 95 % interval over launches, Welch's t on logarithms.
- Right: a claim of 18 (36) holds where the planted ratio is within a factor of {tolerance}, and fails elsewhere.

collmark {collmark}, Python {python}, Linux {linux}.
"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    planted: float
    backend: str
    found: emulated.TierRatio
    is_right: bool
    is_kept_apart: bool
    load: float

    @property
    def error(self) -> float:
        """Fitted over raw, less 1; infinite where nothing could be fitted."""
        return math.inf if self.found.fitted is None else self.found.fitted.value / self.found.raw - 1

    @property
    def is_near(self) -> bool:
        """Whether the fitted ratio is raw TCP's, or nearly so."""
        return abs(self.error) <= NEAR

    @property
    def covers(self) -> bool:
        """Whether the interval, widened by the model error, holds raw TCP's ratio."""
        fitted, widened = self.found.fitted, 1 + MODEL_ERROR
        return fitted is not None and fitted.lower / widened <= self.found.raw <= fitted.upper * widened


def measure(hosts: Hosts, planted: float, backend: str, folder: Path, launches: int = LAUNCHES) -> Row:
    """Plant a ratio, measure it, and judge the claims by it."""
    networks = emulated.two_networks(planted)
    for network in networks:
        hosts.shape(network)
    folders = {network.name: folder / network.name for network in networks}
    plans = {network.name: emulated.streams_plan(backend, network.link) for network in networks}
    emulated.measure_over(hosts, plans, folders, launches=launches)
    for name, plan in plans.items():
        emulated.keep_raw(hosts, name, emulated.sizes_of(plan)[-1:], folders[name])
    fast, slow = folders.values()
    findings = emulated.verdicts(fast, slow, list(CLAIMS)).findings
    marked = {finding.claim: finding.verdict for finding in findings if finding.marker == "emulated"}
    own = [finding for finding in findings if finding.kind == "M" and not finding.marker]
    return Row(
        planted=planted,
        backend=backend,
        found=emulated.ratio_of(fast, slow),
        is_right=marked == {claim: expected(planted, claimed) for claim, claimed in CLAIMS.items()},
        is_kept_apart=len(own) == len(CLAIMS) and all(finding.verdict is Verdict.NO_DATA for finding in own),
        load=os.getloadavg()[0],
    )


def expected(planted: float, claimed: float) -> Verdict:
    """Return what a claim of a ratio is by the planted one."""
    return Verdict.HOLDS if claimed / TOLERANCE <= planted <= claimed * TOLERANCE else Verdict.FAILS


def rows(runs: int) -> Iterator[Row]:
    """Yield all runs, the ratios in turn."""
    with tempfile.TemporaryDirectory() as name, emulated_hosts(2, emulated.two_networks()) as hosts:
        for backend in [BESIDE, *[COUNTED] * runs]:
            for planted in RATIOS:
                yield measure(hosts, planted, backend, Path(tempfile.mkdtemp(dir=name)))


def table(found: Sequence[Row]) -> str:
    """Return the table: a row for each ratio and backend."""
    headings = (
        "planted", "backend", "runs", "raw TCP, median", "error, median, %", "largest, %", "half-width, median, %",
        f"within {NEAR:.0%}".replace("%", " %"), "covered", "verdicts right",
    )  # fmt: skip
    lines = [headings, ["---:"] * len(headings)]
    for planted in RATIOS:
        for backend in (COUNTED, BESIDE):
            own = [row for row in found if (row.planted, row.backend) == (planted, backend)]
            widths = [row.found.fitted.relative_half_width for row in own if row.found.fitted is not None]
            errors = [row.error for row in own]
            lines.append(
                (
                    f"{planted}", backend, f"{len(own)}", f"{np.median([row.found.raw for row in own]):.2f}",
                    f"{100 * np.median(errors):+.2f}", f"{100 * max(errors, key=abs):+.2f}",
                    f"{100 * np.median(widths):.2f}", f"{sum(row.is_near for row in own)}",
                    f"{sum(row.covers for row in own)}", f"{sum(row.is_right for row in own)}",
                )
            )  # fmt: skip
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Make the runs, print the page, and return 1 where too few are right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help=f"a ratio; the page is kept at {RUNS}")
    options = parser.parse_args()
    if reason := refusal():
        print(f"skipped, its page stays as it is: {reason}", file=sys.stderr)
        return 0
    found: list[Row] = []
    began = time.monotonic()
    for row in rows(options.runs):
        found.append(row)
        words = f"{row.planted} by {row.backend}: raw {row.found.raw:.3f}, error {100 * row.error:+.2f} %"
        print(f"{time.monotonic() - began:5.0f} s {words}, right {row.is_right}", file=sys.stderr, flush=True)
    rows_counted = [row for row in found if row.backend == COUNTED]
    count, near = len(rows_counted), sum(row.is_near for row in rows_counted)
    covered, right = sum(row.covers for row in rows_counted), sum(row.is_right for row in rows_counted)
    leaked = sum(not row.is_kept_apart for row in found)
    is_proven = near >= LEAST_NEAR * count and covered >= LEAST_COVERED * count and right == count and not leaked
    minutes = (time.monotonic() - began) / 60
    counts = {"count": count, "is_near": near, "covered": covered, "right": right, "leaked": leaked}
    text = page(found, is_proven=is_proven, minutes=minutes, **counts)
    print(text)
    if options.runs == RUNS:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


def page(found: Sequence[Row], *, is_proven: bool, minutes: float, **counts: int) -> str:
    """Return the page of the proof."""
    fast, slow = (network.link for network in emulated.two_networks(max(RATIOS)))
    return TEXT.format(
        verdict="PASS" if is_proven else "FAIL",
        table=table(found),
        near=100 * NEAR,
        error=100 * MODEL_ERROR,
        least_near=f"{LEAST_NEAR * counts['count']:.0f}",
        least_covered=f"{LEAST_COVERED * counts['count']:.0f}",
        claims=" and ".join(CLAIMS),
        launches=LAUNCHES,
        slow=8e-6 * slow.rate,
        pause=1e3 * max(fast.pause, slow.pause),
        long=emulated.LONG,
        cores=usable_cores(),
        load=float(np.median([row.load for row in found])),
        most_load=max(row.load for row in found),
        minutes=minutes,
        tolerance=TOLERANCE,
        collmark=__version__,
        python=platform.python_version(),
        linux=platform.release(),
        **counts,
    )


if __name__ == "__main__":
    sys.exit(main())
