"""Prove that intervals over launches cover the truth in 93 to 97 % of runs; keep the table.

Run by ``make prove``. Every draw is one simulated run through the real runner (see coverage_draws.py); beside it
stands what pooling all repetitions would say of the same figures.
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

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.prove.coverage_draws import LAUNCHES, RANKS, SECONDS, Draw, Setting, covers, make_draw, truth  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402
from collmark.core.estimate import Estimate  # noqa: E402
from collmark.core.record import Status  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "coverage.md"
DRAWS = 1000
SEEDS_APART = 1_000_000  # between settings, so that no two share a draw
ACCEPTED = (0.93, 0.97)
MAIN = [Setting(launch_sd=sd, within_cv=cv) for sd in (0.01, 0.03, 0.1) for cv in (0.05, 0.2)]
# Where the repetitions matter most beside the launches.
OTHERS = [Setting(launch_sd=0.01, within_cv=0.2, autocorrelation=rho) for rho in (0.0, 0.3, 0.9)]

HEADINGS = (
    "launch SD",
    "within CV",
    "autocorrelation",
    "truth, us",
    "covered, % (SE)",
    "half-width, %",
    "bias, %",
    "pooled: covered, %",
    "pooled: half-width, %",
    "repetitions per launch",
    "converged / budget / unstable, %",
    "covered without unstable launches, %",
    "93 to 97 %",
)

TEXT = """\
# Coverage of intervals over launches

Written by `make prove` (tests/prove/prove_coverage.py).

{verdict}

{table}

- A row is {draws} simulated runs with seeds of their own: {launches} launches of one all_reduce on {ranks} ranks,
  T = {microseconds:g} us x lognormal level of the launch x lognormal, first-order autoregressive noise x
  contamination (8 % of repetitions take 1.5 to 4 times as long, uniformly). Each launch goes through the runner:
  checks, warm-up, repetitions until the interval of the median is within 5 % twice in a row or 2 s (virtual) are
  over, the MSER-5 cut. The noise goes on through checks and warm-up, as it would on a machine.
- Truth: the median of that mixture over launches and repetitions, solved numerically from its distribution
  function; autocorrelation does not change it.
- Covered: share of runs whose 95 % interval (Student's t on the logarithms of the {launches} launches' medians)
  holds the truth, with the binomial standard error. Half-width: the median over runs of the longer arm.
- Bias: mean of log(estimate / truth). At a large launch SD it is one of definition: the typical launch's median lies
  below the median of all launches' repetitions, because contamination moves the median of a wider distribution
  further.
- Pooled: all repetitions of all launches in one pot, order-statistic interval of their median, as many benchmarks
  do it. It misses its 95 % because the launch, not the repetition, is what is replicated.
- Status of a launch: unstable where over 5 % of its repetitions lie beyond 3 x its median. What is planted
  puts about 3 % there, so that these are false alarms. The last but one column leaves such launches out.

collmark {collmark}, Python {python}, numpy {numpy}.
"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All draws of one setting."""

    setting: Setting
    draws: list[Draw]

    @property
    def covered(self) -> float:
        """Share of the draws whose interval holds the truth."""
        return self._share("interval")

    @property
    def is_accepted(self) -> bool:
        """Whether the share lies where it should."""
        return ACCEPTED[0] <= self.covered <= ACCEPTED[1]

    def cells(self) -> list[str]:
        """Return the row of the table."""
        share, statuses = self.covered, Counter(status for draw in self.draws for status in draw.statuses)
        error = math.sqrt(share * (1 - share) / len(self.draws))
        seconds = truth(self.setting)
        bias = np.mean([math.log(draw.interval.value / seconds) for draw in self.draws if draw.interval])
        per_launch = np.mean([draw.repetitions for draw in self.draws]) / LAUNCHES
        kinds = (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE)
        return [
            f"{self.setting.launch_sd:.0%}".replace("%", " %"),
            f"{self.setting.within_cv:.0%}".replace("%", " %"),
            f"{self.setting.autocorrelation:g}",
            f"{seconds * 1e6:.1f}",
            f"{100 * share:.1f} ({100 * error:.1f})",
            f"{100 * self._half_width('interval'):.2f}",
            f"{100 * bias:+.2f}",
            f"{100 * self._share('naive'):.1f}",
            f"{100 * self._half_width('naive'):.2f}",
            f"{per_launch:.0f}",
            " / ".join(f"{100 * statuses[kind] / statuses.total():.1f}" for kind in kinds),
            f"{100 * self._share('stable'):.1f}",
            "yes" if self.is_accepted else "NO",
        ]

    def _share(self, name: str) -> float:
        seconds = truth(self.setting)
        return sum(covers(getattr(draw, name), seconds) for draw in self.draws) / len(self.draws)

    def _half_width(self, name: str) -> float:
        found: list[Estimate] = [getattr(draw, name) for draw in self.draws if getattr(draw, name) is not None]
        return float(np.median([interval.relative_half_width for interval in found]))


def rows(executor: Executor, draws: int) -> Iterator[Row]:
    """Yield the settings in turn, each with all its draws."""
    for place, setting in enumerate([*MAIN, *OTHERS]):
        seeds = range(place * SEEDS_APART, place * SEEDS_APART + draws)
        yield Row(setting=setting, draws=list(executor.map(partial(make_draw, setting), seeds, chunksize=10)))


def table(found: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [HEADINGS, ["---:"] * len(HEADINGS), *(row.cells() for row in found)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Make the draws, print the table, and return 1 where a share lies outside."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"per setting; the table is kept at {DRAWS}")
    parser.add_argument("--processes", type=int, default=usable_cores())
    options = parser.parse_args()
    found: list[Row] = []
    with ProcessPoolExecutor(options.processes) as executor:
        for row in rows(executor, options.draws):
            found.append(row)
            print(f"{row.setting}: {row.covered:.1%} covered", file=sys.stderr, flush=True)
    is_proven = all(row.is_accepted for row in found)
    verdict = f"**{'PASS' if is_proven else 'FAIL'}**: every share must lie in 93 to 97 %."
    text = TEXT.format(
        verdict=verdict,
        table=table(found),
        draws=options.draws,
        launches=LAUNCHES,
        ranks=RANKS,
        microseconds=SECONDS * 1e6,
        collmark=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
    )
    print(text)
    if options.draws == DRAWS:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
