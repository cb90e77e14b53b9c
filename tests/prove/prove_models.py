"""Prove that the right model is chosen, and that what it says of latency and bandwidth holds; keep the tables.

Run by ``make prove``. Simulated curves of every shape, on grids good and bad, clean and with slow points.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import scipy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.analysis.models.test_sweeps import PLATEAU, SWEEPS, rms, sweep  # noqa: E402
from tests.prove.model_draws import GRIDS, LAUNCHES, NOISES, TRUTHS, Noise, Truth, draw  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.analysis.models.choose import choose  # noqa: E402
from collmark.analysis.models.fit import Fit  # noqa: E402
from collmark.analysis.models.hockney import HOCKNEY  # noqa: E402
from collmark.analysis.models.quantity import Quantity  # noqa: E402
from collmark.analysis.models.solve import solve  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402
from collmark.core.units import format_about_nbytes, format_nbytes  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "models.md"
DRAWS = 100
GOOD = next(iter(GRIDS))
TOLD = ("told, %", "bias, %", "covered, %", "within 2 %, %")
MODELS = ("constant", "alpha-beta", "p-norm", "square root", "2 segments", "3 segments")
MOST_FALSE, LEAST_FOUND = 0.03, 0.95
MOST_BIAS = 0.03
SHOWN_ONLY = 4  # times fewer draws where nothing is judged
LEAST_COVERED = 0.93
MODEL_ERROR = 0.02
TEXT = """\
# The choice among models

Written by `make prove` (tests/prove/prove_models.py). Simulated draws; no figure here was measured.

**{verdict}**: on the good grid ({good}) segments must be found where there are none in at most 3 % of the runs and
where there are some in at least 95 %; alpha and beta that are not called weak must be biased by at most 3 %, and their
intervals, widened by the 2 % that a model is granted, must hold the truth in at least 93 %. The bad grids are shown,
not judged.

## Which model is chosen, % of the runs

{chosen}

## What it says of alpha and beta

{parameters}

## Published sweeps

Measured by others and retyped (tests/data/sweeps names the source of each); `make test` holds them to half the misfit
of the line and to 3 % of the plateau, and asks the same plateau with a tenfold time at one size.

{sweeps}

- A row of the first two tables is {draws} runs with seeds of their own, a quarter as many on bad grids, of {launches}
  launches: T of the shape named x lognormal level of the launch (3 %) x lognormal noise of each launch and size (2 %);
  with slow points, 8 % of them take 1.5 to 4 times as long, uniformly: then a third of the sizes hold one.
- Shapes: a line of alpha 20 us and 1/beta 10 GB/s, norms of the same two, the same plus 45 ns x sqrt(n); segments begin
  with 5 us and 2.5 GB/s. The dip is a shape that no model here has.
- Told: share of the runs that give a value not called weak. Bias: median of log(value / planted) over those. Covered:
  share of their 95 % intervals over launches that hold the planted value; beside it of those intervals widened by 2 %.
  Intervals are over launches: that a norm was taken for a root, or that slow points shift every launch, is not in them.

collmark {collmark}, Python {python}, numpy {numpy}, scipy {scipy}.
"""


class Told(msgspec.Struct, frozen=True):
    """What one run says of a parameter that it does not call weak: log error, and whether its interval holds the truth.

    ``nearly`` is the same of the interval widened by the error that a model is granted.
    """

    error: float
    covered: bool
    nearly: bool


class Drawn(msgspec.Struct, frozen=True):
    """One run: the model, and what it tells of alpha and beta."""

    model: str
    alpha: Told | None
    beta: Told | None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All draws of one shape, grid and noise."""

    truth: Truth
    grid: str
    noise: Noise
    draws: list[Drawn]

    def share(self, *models: str) -> float:
        """Return the share of the draws that chose one of some models."""
        return sum(one.model in models for one in self.draws) / len(self.draws)

    def told(self, name: str) -> list[Told]:
        """Return what is told of a parameter."""
        return [told for told in (getattr(one, name) for one in self.draws) if told is not None]

    def problems(self) -> Iterator[str]:
        """Yield what is not as it must be; of a bad grid nothing."""
        if self.grid != GOOD or not self.truth.models:
            return
        segmented = self.share("2 segments", "3 segments")
        if self.truth.has_breaks and segmented < LEAST_FOUND:
            yield f"segments found in {segmented:.1%}"
        if not self.truth.has_breaks and segmented > MOST_FALSE:
            yield f"false segments in {segmented:.1%}"
        for name in ("alpha", "beta"):
            told = self.told(name)
            if getattr(self.truth, name) is None or not told:
                continue
            bias = float(np.median([one.error for one in told]))
            covered = float(np.mean([one.nearly for one in told]))
            if abs(bias) > MOST_BIAS:
                yield f"{name} is off by {bias:+.1%}"
            if covered < LEAST_COVERED:
                yield f"{name} is covered in {covered:.1%}"


def told_of(quantity: Quantity | None, planted: float | None) -> Told | None:
    """Return what a run says of a parameter; None where it says nothing that may be relied on."""
    if quantity is None or planted is None or quantity.estimate is None or quantity.weak:
        return None
    estimate = quantity.estimate
    lower, upper = estimate.lower / (1 + MODEL_ERROR), estimate.upper * (1 + MODEL_ERROR)
    return Told(
        math.log(estimate.value / planted), estimate.lower <= planted <= estimate.upper, lower <= planted <= upper
    )


def make_draw(truth: int, grid: str, noise: int, seed: int) -> Drawn:
    """Make one run and fit it; shapes are functions, which no other process can be sent."""
    fit: Fit = draw(TRUTHS[truth], GRIDS[grid], NOISES[noise], seed)
    return Drawn(fit.model, told_of(fit.alpha, TRUTHS[truth].alpha), told_of(fit.beta, TRUTHS[truth].beta))


def rows(executor: Executor, draws: int) -> Iterator[Row]:
    """Yield a row for each shape, grid and noise."""
    place = 0
    for noise in range(len(NOISES)):
        for grid in GRIDS:
            for index, truth in enumerate(TRUTHS):
                place += 1
                count = draws if grid == GOOD else draws // SHOWN_ONLY
                seeds = range(place * 1_000_000, place * 1_000_000 + count)
                found = executor.map(partial(make_draw, index, grid, noise), seeds, chunksize=10)
                yield Row(truth=truth, grid=grid, noise=NOISES[noise], draws=list(found))


def table(headings: list[str], lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    aligned = [":---"] * 3 + ["---:"] * (len(headings) - 3)  # three name a row
    return "\n".join(f"| {' | '.join(line)} |" for line in [headings, aligned, *lines])


def of_parameter(row: Row, name: str) -> list[str]:
    """Return the cells of a parameter: told, bias, covered."""
    told = row.told(name)
    if getattr(row.truth, name) is None:
        return ["-"] * 4
    share = f"{100 * len(told) / len(row.draws):.0f}"
    if len(told) < 0.05 * len(row.draws):
        return [share, *["-"] * 3]
    bias = 100 * float(np.median([one.error for one in told]))
    covered, nearly = (100 * float(np.mean([getattr(one, name) for one in told])) for name in ("covered", "nearly"))
    return [share, f"{bias:+.1f}", f"{covered:.1f}", f"{nearly:.1f}"]


def of_sweeps() -> Iterator[list[str]]:
    """Yield a line for each published sweep."""
    for path in SWEEPS:
        nbytes, seconds = sweep(path)
        found = choose(nbytes, seconds)
        line = np.log(seconds / HOCKNEY.predict(solve(HOCKNEY, nbytes, seconds).tolist(), nbytes))
        slope = found.parameters_P[found.model.index(found.model.slope)]
        cliffs = ", ".join(format_nbytes(int(size)) for size in nbytes[found.cliffs_N]) or "-"
        yield [
            path.stem, found.model.name, ", ".join(format_about_nbytes(one) for one in found.model.breaks) or "-",
            f"{100 * rms(line):.1f}", f"{100 * rms(found.residuals_N[~found.cliffs_N]):.1f}",
            f"{1e-9 / slope:.1f}", f"{1e-9 * (nbytes / seconds)[-PLATEAU:].mean():.1f}", cliffs,
        ]  # fmt: skip


def main() -> int:
    """Make the draws, print the tables, and return 1 where a row is not accepted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"per row; the tables are kept at {DRAWS}")
    parser.add_argument("--processes", type=int, default=usable_cores())
    options = parser.parse_args()
    found: list[Row] = []
    with ProcessPoolExecutor(options.processes) as executor:
        for row in rows(executor, options.draws):
            found.append(row)
            shares = Counter(one.model for one in row.draws)
            said = "; ".join(row.problems())
            print(f"{row.truth.name}, {row.grid}, {row.noise}: {dict(shares)} {said}", file=sys.stderr, flush=True)
    names = [[row.truth.name, row.grid, str(row.noise)] for row in found]
    problems = ["; ".join(row.problems()) for row in found]
    text = TEXT.format(
        verdict="FAIL" if any(problems) else "PASS",
        good=GOOD,
        chosen=table(
            ["shape", "sizes", "noise", *MODELS],
            [[*name, *(f"{100 * row.share(m):.1f}" for m in MODELS)] for name, row in zip(names, found, strict=True)],
        ),
        parameters=table(
            ["shape", "sizes", "noise", *(f"{n}: {w}" for n in ("alpha", "beta") for w in TOLD),
             "not as it must be"],
            [
                [*name, *of_parameter(row, "alpha"), *of_parameter(row, "beta"), said or "-"]
                for name, row, said in zip(names, found, problems, strict=True)
            ],
        ),
        sweeps=table(
            [
                "sweep", "model", "breaks near", "line: rms, %", "model: rms, %", "1/beta, GB/s", "last two, GB/s",
                "cliffs",
            ],
            list(of_sweeps()),
        ),
        draws=options.draws,
        launches=LAUNCHES,
        collmark=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )  # fmt: skip
    print(text)
    if options.draws == DRAWS:
        KEPT.write_text(text, encoding="utf-8")
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
