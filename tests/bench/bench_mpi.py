"""Compare MPI through collmark with a loop in C, in the same processes; keep the figures.

Run by ``make bench``. A launch is two fresh processes, started by the library's own mpiexec, in which four arms take
turns: collmark's native loop, twice a loop in C built with the same library's mpicc, and mpi4py's own call (see
mpi_contest.py).
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.bench.mpi_contest import OPERATIONS, OURS, OWN_CALL, PEER_1, PEER_2, Cell, Result, Task, Terms  # noqa: E402
from tests.mpi_libraries import PLACES  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench import environment, scheduling  # noqa: E402
from collmark.bench.backends.mpi_library import MpiLibrary, choose  # noqa: E402
from collmark.bench.launchers.mpiexec import ROOT_MAY, command_of  # noqa: E402
from collmark.core.case import Binding, Scheduling  # noqa: E402
from collmark.core.estimate import Estimate  # noqa: E402
from collmark.core.statistics import log_t_interval  # noqa: E402
from collmark.core.units import format_nbytes  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "bench-mpi.md"
RANKS = 2
LAUNCHES = 15
LEAST_LAUNCHES = 10
LEVEL = 0.95
TOLERATED = 1.02
SIZES = (1, 256, 4096, 65536, 1 << 20, 4 << 20)  # bytes; the first stands for the smallest possible
SMALLEST = {"all_reduce": 4, "all_gather": 2, "all_to_all": 2}
ROUNDS = 10
TURN_NS = 10_000_000
LAUNCH_SECONDS = 300.0

TEXT = """\
# MPI through collmark against a loop in C

Written by `make bench` (tests/bench/bench_mpi.py).

{verdict}

{sections}

- {launches} launches of {ranks} fresh processes for each library; {machine}.
- {setting}. Load average {load} while it ran, the ranks' own two included.
- In every launch four arms take turns, {rounds} of each in a shuffled order, after one that warms up: collmark's native
  loop as a run uses it; twice a loop in C (tests/bench/peer.c), built with the same library's mpicc and loaded into the
  same processes; mpi4py's own call in a loop in Python. All work on one communicator and the same buffers, with starts
  agreed on the same page of shared memory.
- all_reduce is of float32, sum; the others are of bytes. T as in a run: last exit minus last entry, from the first
  entry for broadcast, half a round trip on rank 0's clock for ping_pong.
- Where a call takes less than 100 ticks of the clock ({tick:.0f} ns), all arms are timed in batches and T is a call's
  share: what is measured then is calls back to back, labelled **streaming**.
- A figure of a launch is the mean of the middle half of its repetitions, which the clock's tick does not quantise; the
  interval over launches is Student's t on the logarithms of the ratios.
- A row passes where the upper end of collmark / C is at most {tolerated}, or at most the upper end of C / C in the same
  launches. C stands for both of its arms together in collmark / C and mpi4py / C, and for one over the other in C / C.

{versions}.
"""
SECTION = """\
## {library}

{verdict}

| operation | size | calls | C, us | collmark / C | 95 % interval | C / C | 95 % interval | mpi4py / C | verdict |
| --- | ---: | --- | ---: | ---: | :---: | ---: | :---: | ---: | --- |
{rows}
"""


def build_peer(library: MpiLibrary, folder: Path) -> Path:
    """Build the loop in C with the mpicc that belongs to a library."""
    mpiexec = Path(library.mpiexec)
    suffix = mpiexec.suffix if mpiexec.suffix in (".openmpi", ".mpich") else ""
    target = folder / "peer.so"
    words = [str(mpiexec.with_name(f"mpicc{suffix}")), "-O2", "-shared", "-fPIC", "-o", str(target)]
    subprocess.run([*words, str(ROOT / "tests" / "bench" / "peer.c")], check=True)
    return target


def run_launch(library: MpiLibrary, peer: Path, terms: Terms, folder: Path) -> Result:
    """Start both ranks, wait for them, and return what rank 0 has written."""
    result, task = folder / "result.json", folder / "task.json"
    task.write_bytes(msgspec.json.encode(Task(library=library.path, peer=str(peer), result=str(result), terms=terms)))
    process = subprocess.Popen(
        [*command_of(library.mpiexec, RANKS), sys.executable, "-m", "tests.bench.mpi_contest", str(task)],
        cwd=ROOT,
        env=os.environ | ROOT_MAY,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # an mpiexec that meddles with the terminal is stopped there, and with it this process
    )
    try:
        status = process.wait(LAUNCH_SECONDS)
    finally:
        if process.poll() is None:
            process.terminate()  # mpiexec ends its ranks, as does each one's own alarm
            process.wait()
    if status:
        raise SystemExit(f"a launch was lost: mpiexec ended with status {status}")
    return msgspec.json.decode(result.read_bytes(), type=Result)


def rows_of(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return the verdict and the row of every size of every operation."""
    cells: dict[tuple[int, int], list[Cell]] = {}
    for result in results:
        for cell in result.cells:
            cells.setdefault((OPERATIONS.index(cell.operation), cell.nbytes), []).append(cell)
    return [row_of(alike) for _key, alike in sorted(cells.items())]


def row_of(cells: Sequence[Cell]) -> tuple[str, str]:
    """Return the verdict of one size of one operation, and its row of the table."""

    def over(figure: Callable[[dict[str, float]], float]) -> Estimate:
        estimate = log_t_interval([figure(cell.seconds) for cell in cells], LEVEL)
        assert estimate is not None, "two launches are the least that the command line takes"
        return estimate

    def peer(seconds: dict[str, float]) -> float:
        return math.sqrt(seconds[PEER_1] * seconds[PEER_2])

    ours = over(lambda s: s[OURS] / peer(s))
    itself = over(lambda s: s[PEER_1] / s[PEER_2])
    own = over(lambda s: s[OWN_CALL] / peer(s))
    verdict = verdict_of(ours, itself)
    batches = {cell.batch for cell in cells}
    words = [
        cells[0].operation,
        format_nbytes(cells[0].nbytes),
        "isolated" if batches == {1} else "streaming" if 1 not in batches else "mixed",
        f"{over(peer).value * 1e6:.3f}",
        *_with_interval(ours),
        *_with_interval(itself),
        f"{own.value:.2f}",
        verdict,
    ]
    return verdict, f"| {' | '.join(words)} |"


def verdict_of(ours: Estimate, itself: Estimate) -> str:
    """Return pass or FAIL for one row: the rule of the table."""
    return "pass" if ours.upper <= max(TOLERATED, itself.upper) else "FAIL"


def _with_interval(ratio: Estimate) -> tuple[str, str]:
    return f"{ratio.value:.4f}", f"{ratio.lower:.4f} to {ratio.upper:.4f}"


def section_of(library: MpiLibrary, results: Sequence[Result]) -> tuple[int, int, str]:
    """Return rows passed, rows in all, and the section of one library."""
    rows = rows_of(results)
    passed = sum(verdict == "pass" for verdict, _row in rows)
    text = SECTION.format(
        library=library.version,
        verdict=f"{passed} of {len(rows)} rows pass.",
        rows="\n".join(row for _verdict, row in rows),
    )
    return passed, len(rows), text


def terms_for(launch: int, *, fifo: bool) -> Terms:
    """Return what a launch measures, with the scheduling that collmark's demo takes where it may."""
    return Terms(
        launch=launch,
        sizes={name: [SMALLEST.get(name, 1), *SIZES[1:]] for name in OPERATIONS},
        rounds=ROUNDS,
        turn_ns=TURN_NS,
        scheduling=Scheduling.FIFO if fifo and not scheduling.refusal() else Scheduling.OTHER,
        binding=Binding.CORES if environment.usable_cores() >= RANKS else Binding.NONE,
    )


def describe_setting(terms: Terms) -> str:
    """Return scheduling and binding in words."""
    if terms.scheduling is Scheduling.FIFO:
        scheduled = f"Ranks at SCHED_FIFO {scheduling.FIFO_PRIORITY}"
    else:
        scheduled = f"Ranks at the system's default scheduling ({scheduling.refusal() or 'as asked for'})"
    return f"{scheduled}, {'an equal share of the cores for each' if terms.binding is Binding.CORES else 'not bound'}"


def measure(library: MpiLibrary, launches: int, *, fifo: bool, loads: list[float]) -> list[Result]:
    """Make the launches of one library."""
    results = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        peer = build_peer(library, Path(name))
        for launch in range(launches):
            results.append(run_launch(library, peer, terms_for(launch, fifo=fifo), Path(name)))
            loads.append(os.getloadavg()[0])
            line = f"{library.version}: launch {launch + 1} of {launches}, {time.monotonic() - began:.0f} s"
            print(f"{line}, load {loads[-1]:.1f}", file=sys.stderr, flush=True)
    return results


def judge(
    measured: Sequence[tuple[MpiLibrary, Sequence[Result]]], terms: Terms, loads: Sequence[float]
) -> tuple[bool, str]:
    """Return whether every row of every library passes, and the text that says so."""
    sections = [section_of(library, results) for library, results in measured]
    passed, rows = sum(found[0] for found in sections), sum(found[1] for found in sections)
    host = environment.describe_host(list(range(RANKS)))
    first = measured[0][1][0]
    return passed == rows, TEXT.format(
        verdict=f"**{'PASS' if passed == rows else 'FAIL'}**: {passed} of {rows} rows pass.",
        sections="\n".join(text for _passed, _rows, text in sections).rstrip(),
        launches=len(measured[0][1]),
        ranks=RANKS,
        machine=f"{host.cores} cores, {host.cpu}, {host.system}",
        setting=describe_setting(terms),
        load=f"{min(loads):.1f} to {max(loads):.1f}",
        rounds=ROUNDS,
        tick=first.tick * 1e9,
        tolerated=TOLERATED,
        versions=f"collmark {__version__}, mpi4py {first.facts['mpi4py']}, Python {platform.python_version()}",
    )


def main() -> int:
    """Make the launches, print the tables, and return 1 where a row fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=LAUNCHES, help=f"the figures are kept from {LEAST_LAUNCHES} on")
    parser.add_argument("--scheduling", choices=("fifo", "other"), default="fifo", help="fifo only where permitted")
    parser.add_argument("--library", choices=tuple(PLACES), action="append", help="all that are here by default")
    options = parser.parse_args()
    if options.launches < 2:
        parser.error("--launches: an interval takes two or more")
    places = [PLACES[name] for name in options.library or PLACES]
    libraries = [choose(str(place), {}) for place in places if place.exists()]
    if not libraries:
        raise SystemExit("no MPI library of the tests is here: see tests/mpi_libraries.py")
    fifo, loads = options.scheduling == "fifo", list[float]()
    measured = [(library, measure(library, options.launches, fifo=fifo, loads=loads)) for library in libraries]
    is_kept, text = judge(measured, terms_for(0, fifo=fifo), loads)
    print(text)
    if options.launches >= LEAST_LAUNCHES and fifo and not options.library:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
