"""Compare the wall time of a run that stops when it is precise enough with that of fixed counts; keep the figures.

Run by ``make bench``. In each launch the ranks measure every case as a run does, and then as often as well-known suites
do (see fixed_counts.py).
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.bench.fixed_counts import COUNTS, Fixed  # noqa: E402
from tests.mpi_libraries import PLACES, WHEEL  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench import environment, scheduling  # noqa: E402
from collmark.bench.backends.index import BACKENDS  # noqa: E402
from collmark.bench.backends.mpi_library import choose  # noqa: E402
from collmark.bench.job import Job  # noqa: E402
from collmark.bench.launchers.start import launch_of  # noqa: E402
from collmark.core.case import Binding, Case, Scheduling  # noqa: E402
from collmark.core.expansion import expand  # noqa: E402
from collmark.core.placement import Placement  # noqa: E402
from collmark.core.plan import Plan  # noqa: E402
from collmark.core.record import SCHEMA_VERSION, Record, Run  # noqa: E402
from collmark.core.store import RunFolder  # noqa: E402
from collmark.core.units import format_nbytes  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "bench-precision.md"
RANKS, LAUNCHES = 2, 5
SIZES = "4B:1MiB:x8"
PRECISION = 0.05
LEAST_SHARE = 2 / 3
MANY, FEW = COUNTS

# Stands in for the interpreter that a launcher starts ranks with.
INTERPRETER = """\
#!{python}
import os
import sys

words = sys.argv[1:]
if words[:3] == ["-P", "-m", "collmark.bench.process"]:  # and not mpiexec, which is started with an interpreter too
    os.environ["PYTHONPATH"] = {root!r}
    words = ["-m", "tests.bench.fixed_counts", {target!r}, *words[3:]]
os.execv({python!r}, [{python!r}, *words])
"""

TEXT = """\
# Time to the same precision

Written by `make bench` (tests/bench/bench_precision.py).

{verdict}

{sections}

- all_reduce of float32 on {ranks} ranks, {launches} launches; medians over launches. {machine}. {scheduling}.
- collmark: wall time of a case as a run measures it by default, both checks, warm-up and statistics included, until the
  95 % interval of the median within the launch is within 5 % twice in a row. Fixed: the same ranks, loop and starts, a
  fixed number of repetitions after 100 that are discarded, and nothing else: no check.
- Half-width: of the 95 % interval of the median within a launch, widened for autocorrelation.
- A size counts where collmark reaches 5 % in no more time than {many:,} repetitions take; passes at two thirds of the
  sizes of each backend.

collmark {collmark}, Python {python}.
"""
SECTION = """\
## {backend}: {good} of {sizes} sizes

| size | collmark: ms | calls | half-width, % | {many:,}: ms | half-width, % | {few:,}: ms | half-width, % | counts |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
{rows}
"""


def run_launch(plan: Plan, cases: tuple[Case, ...], folder: Path) -> tuple[list[Record], list[Fixed]]:
    """Make a launch, and return its records and what fixed numbers gave."""
    run = Run(
        schema_version=SCHEMA_VERSION, label="", created="", version="", command=[], plan=plan, cases=list(cases),
        notices=[],
    )  # fmt: skip
    store = RunFolder.create(folder / "run", run)
    target, interpreter = folder / "fixed.json", folder / "python"
    own = sys.executable
    interpreter.write_text(INTERPRETER.format(python=own, root=str(ROOT), target=str(target)), encoding="utf-8")
    interpreter.chmod(0o755)
    job = Job(
        folder=str(store.path),
        launch=1,
        backend=plan.backends[0],
        placement=Placement(ranks_per_node=RANKS),
        cases=cases,
        plan=plan,
        budget=1e6,
        samples_left=0,
        launcher="collmark",
    )
    launch = launch_of(job, store.path / "logs", keep=())
    sys.executable = str(interpreter)
    try:
        launch.run(lambda _event: None, lambda: False)
    finally:
        sys.executable = own
    records = [record for record in store.records() if record.sentinel is None]
    return records, msgspec.json.decode(target.read_bytes(), type=list[Fixed])


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A size over launches: wall times in s and relative half-widths; None where there is none."""

    case: Case
    seconds: float
    repetitions: float
    half_width: float | None
    fixed: dict[int, tuple[float, float | None]]

    @property
    def is_good(self) -> bool:
        """Whether the precision was reached in no more time than many repetitions take."""
        return self.half_width is not None and self.half_width <= PRECISION and self.seconds <= self.fixed[MANY][0]

    def cells(self) -> list[str]:
        """Return the row of the table."""
        fixed = [text for count in (MANY, FEW) for text in (_ms(self.fixed[count][0]), _percent(self.fixed[count][1]))]
        return [
            format_nbytes(self.case.nbytes), _ms(self.seconds), f"{self.repetitions:.0f}", _percent(self.half_width),
            *fixed, "yes" if self.is_good else "no",
        ]  # fmt: skip


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"


def row_of(case: Case, records: Sequence[Record], fixed: Sequence[Fixed]) -> Row:
    """Return a size over launches; a half-width that a launch did not reach counts as the widest."""

    def middle(widths: Sequence[float | None]) -> float | None:
        found = statistics.median_high([float("inf") if width is None else width for width in widths])
        return None if found == float("inf") else found

    def width(record: Record) -> float | None:
        timing = record.timing
        if timing is None or timing.lower is None or timing.upper is None:
            return None
        return max(timing.upper - timing.median, timing.median - timing.lower) / timing.median

    def of_count(count: int) -> tuple[float, float | None]:
        some = [one for one in fixed if one.repetitions == count]
        return statistics.median(one.seconds for one in some), middle([one.half_width for one in some])

    return Row(
        case=case,
        seconds=statistics.median(record.wall for record in records),
        repetitions=statistics.median(record.timing.repetitions if record.timing else 0 for record in records),
        half_width=middle([width(record) for record in records]),
        fixed={count: of_count(count) for count in COUNTS},
    )


def rows_of(plan: Plan, launches: int) -> list[Row]:
    """Measure a backend, and return every size."""
    capabilities = {name: BACKENDS[name].capability for name in plan.backends}
    cases = expand(plan, Placement(ranks_per_node=RANKS), capabilities).cases
    records: list[Record] = []
    fixed: list[Fixed] = []
    for number in range(launches):
        with tempfile.TemporaryDirectory() as folder:
            more, most = run_launch(plan, cases, Path(folder))
        records += more
        fixed += most
        print(f"{plan.backends[0]}: launch {number + 1} of {launches}", file=sys.stderr, flush=True)
    return [
        row_of(case, [r for r in records if r.case.key == case.key], [f for f in fixed if f.case == case.key])
        for case in cases
    ]


def plans() -> list[Plan]:
    """Return what is measured: gloo, and MPI where there is one."""
    chosen = {} if scheduling.refusal() else {"scheduling": Scheduling.FIFO, "binding": Binding.CORES}
    common = Plan(operations=("all_reduce",), sizes=SIZES)
    found = [msgspec.structs.replace(common, backends=("gloo",), **chosen)]
    if PLACES[WHEEL].exists():
        library = choose(str(PLACES[WHEEL]), os.environ).path
        found.append(msgspec.structs.replace(common, backends=("mpi",), mpi_library=library, **chosen))
    return found


def main() -> int:
    """Make the launches, print the tables, and return 1 where fixed numbers are quicker at too many sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=LAUNCHES, help=f"of each backend; kept at {LAUNCHES}")
    options = parser.parse_args()
    found = {plan.backends[0]: rows_of(plan, options.launches) for plan in plans()}
    good = {backend: sum(row.is_good for row in rows) for backend, rows in found.items()}
    is_good = all(good[backend] >= LEAST_SHARE * len(rows) for backend, rows in found.items())
    refused = scheduling.refusal()
    sections = [
        SECTION.format(
            backend=backend, good=good[backend], sizes=len(rows), many=MANY, few=FEW,
            rows="\n".join(f"| {' | '.join(row.cells())} |" for row in rows),
        )
        for backend, rows in found.items()
    ]  # fmt: skip
    text = TEXT.format(
        verdict=f"**{'PASS' if is_good else 'FAIL'}**: no more time than {MANY:,} repetitions at two sizes of three.",
        sections="\n".join(sections).rstrip(),
        ranks=RANKS,
        launches=options.launches,
        machine=f"{environment.usable_cores()} cores, {platform.system()} {platform.release()} {platform.machine()}",
        scheduling=f"Default scheduling ({refused})" if refused else "Ranks at SCHED_FIFO 1, bound to cores",
        many=MANY,
        collmark=__version__,
        python=platform.python_version(),
    )
    print(text)
    if options.launches >= LAUNCHES and not refused:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
