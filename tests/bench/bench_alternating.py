"""Compare two runs of one plan over MPI whose launches alternate: what differs is chance; keep the figures.

Run by ``make bench``, as a user would do it: ``mpiexec -n 2 collmark run PLAN --into RUN``, once into the one run and
once into the other.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.mpi_libraries import PLACES, WHEEL  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.analysis.ratio import ratio  # noqa: E402
from collmark.bench import environment, scheduling  # noqa: E402
from collmark.bench.backends.mpi_library import choose  # noqa: E402
from collmark.bench.launchers.mpiexec import ROOT_MAY, command_of  # noqa: E402
from collmark.core.case import Case  # noqa: E402
from collmark.core.estimate import Estimate  # noqa: E402
from collmark.core.store import RunFolder  # noqa: E402
from collmark.core.units import format_nbytes  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "bench-alternating.md"
RANKS = 2
LAUNCHES = 80  # a host that moves virtual cores about makes launches differ by a factor of two and more
OPERATIONS = "all_reduce,all_gather,all_to_all,broadcast,ping_pong"
SIZES = "8B:4MiB:x8"
LEAST_SHARE, MOST_HALF_WIDTH = 0.9, 0.10
LAUNCH_SECONDS = 300.0

TEXT = """\
# Two runs of one plan, launches alternating

Written by `make bench` (tests/bench/bench_alternating.py).

{verdict}

| operation | size | run A, us | B / A | 95 % interval | half-width, % | holds 1 |
| --- | ---: | ---: | ---: | :---: | ---: | --- |
{rows}

- {library}; {ranks} ranks, {launches} launches of each run, A and B in turn; {machine}. {scheduling}.
- T as in a run. B / A: Welch's t on the logarithms of the launches' medians. In truth it is 1.
- Passes where the interval holds 1 in at least {share:.0%} of cases and the median half-width is at most {half:.0%}.

collmark {collmark}, Python {python}.
"""


def launch(words: list[str], folder: Path) -> None:
    """Make one launch of a run."""
    subprocess.run(
        [*words, "--into", str(folder)],
        env=os.environ | ROOT_MAY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=LAUNCH_SECONDS,
        check=True,
    )


def medians(folder: Path) -> dict[str, tuple[Case, list[float]]]:
    """Return the median of T in s of every launch, by case."""
    found: dict[str, tuple[Case, list[float]]] = {}
    for record in RunFolder(folder).records():
        if record.sentinel is None and record.timing is not None:
            found.setdefault(record.case.key, (record.case, []))[1].append(record.timing.median)
    return found


def compared(one: Path, other: Path) -> Iterator[tuple[Case, float, Estimate]]:
    """Yield each case with T of the one in s and the ratio of the other to it."""
    first, second = medians(one), medians(other)
    for key, (case, seconds) in first.items():
        estimate = ratio(second[key][1], seconds) if key in second else None
        if estimate is not None:
            yield case, float(np.exp(np.log(seconds).mean())), estimate


def row_of(case: Case, seconds: float, estimate: Estimate) -> str:
    """Return a row of the table."""
    holds = "yes" if estimate.lower <= 1 <= estimate.upper else "no"
    cells = [
        case.operation, format_nbytes(case.nbytes), f"{seconds * 1e6:.3f}", f"{estimate.value:.3f}",
        f"{estimate.lower:.3f} to {estimate.upper:.3f}", f"{100 * estimate.relative_half_width:.1f}", holds,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Make the launches, print the table, and return 1 where the runs differ too often or too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=LAUNCHES, help=f"of each run; kept at {LAUNCHES}")
    options = parser.parse_args()
    if not PLACES[WHEEL].exists():
        print("skipped: pip install mpich")
        return 0
    library = choose(str(PLACES[WHEEL]), os.environ)
    refused = scheduling.refusal()
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "a"), Path(folder, "b")
        words = [
            *command_of(library.mpiexec, RANKS), sys.executable, "-m", "collmark", "run", "--backend", "mpi",
            "--mpi-library", library.path, "--operation", OPERATIONS, "--sizes", SIZES,
            *([] if refused else ["--scheduling", "fifo", "--bind", "cores"]),
        ]  # fmt: skip
        for number in range(options.launches):
            # Whoever comes first comes second the next time.
            for run in (one, other) if number % 2 == 0 else (other, one):
                launch(words, run)
            print(f"launch {number + 1} of {options.launches} of each run", file=sys.stderr, flush=True)
        found = list(compared(one, other))
    share = float(np.mean([estimate.lower <= 1 <= estimate.upper for _case, _seconds, estimate in found]))
    half = float(np.median([estimate.relative_half_width for _case, _seconds, estimate in found]))
    is_good = share >= LEAST_SHARE and half <= MOST_HALF_WIDTH
    said = f"1 in the interval in {share:.0%} of {len(found)} cases, median half-width {half:.1%}"
    text = TEXT.format(
        verdict=f"**{'PASS' if is_good else 'FAIL'}**: {said}.",
        rows="\n".join(row_of(*one) for one in found),
        library=library.version,
        ranks=RANKS,
        launches=options.launches,
        machine=f"{environment.usable_cores()} cores, {platform.system()} {platform.release()} {platform.machine()}",
        scheduling=f"Default scheduling ({refused})" if refused else "Ranks at SCHED_FIFO 1, bound to cores",
        share=LEAST_SHARE,
        half=MOST_HALF_WIDTH,
        collmark=__version__,
        python=platform.python_version(),
    )
    print(text)
    if options.launches >= LAUNCHES and not refused:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
