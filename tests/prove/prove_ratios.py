"""Prove that ratios of two runs, and runs that add launches until they agree, cover the truth; keep the table.

Run by ``make prove``. Every draw is two simulated runs of one plan through the real runner (see ratio_draws.py).
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.prove.coverage_draws import LAUNCHES, Setting, covers, truth  # noqa: E402
from tests.prove.ratio_draws import Pair, make_pair  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "ratios.md"
DRAWS = 1000
SEEDS_APART = 1_000_000  # between settings, so that no two share a draw
ACCEPTED = (0.93, 0.97)
SEQUENTIAL = 0.92
"""Least share that a run covers which stops when its interval looks narrow: stopping then is mildly optimistic."""
SETTINGS = [Setting(launch_sd=sd, within_cv=0.05) for sd in (0.01, 0.03, 0.1)]

HEADINGS = (
    "launch SD",
    "ratio: covered, % (SE)",
    "half-width, %",
    "93 to 97 %",
    "auto: covered, % (SE)",
    "half-width, %",
    "launches, median (95 % quantile)",
    "at least 92 %",
)

TEXT = """\
# Coverage of ratios, and of runs that add launches

Written by `make prove` (tests/prove/prove_ratios.py). Simulated draws; no figure here was measured.

{verdict}

{table}

- A row is {draws} pairs of simulated runs of one plan, with seeds of their own: {launches} launches each, repetitions
  with a CV of 5 %, autocorrelation 0.6 and 8 % contamination, as in [coverage](coverage.md).
- Ratio: of one run's T to the other's, Welch's t on the logarithms of the launches' medians; in truth it is 1.
- Auto: the first run goes on as `--launches auto` does, from 5 launches until the interval is within 5 % with and
  without the last launch, the last two and the last three, at most 100. Covered: share of runs whose interval, then,
  holds the true median.

collmark {collmark}, Python {python}, numpy {numpy}.
"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All draws of one setting."""

    setting: Setting
    pairs: list[Pair]

    @property
    def of_ratio(self) -> float:
        """Share of the ratios whose interval holds 1."""
        return sum(covers(pair.ratio, 1.0) for pair in self.pairs) / len(self.pairs)

    @property
    def of_sequential(self) -> float:
        """Share of the runs whose interval holds the truth."""
        seconds = truth(self.setting)
        return sum(covers(pair.sequential, seconds) for pair in self.pairs) / len(self.pairs)

    @property
    def is_accepted(self) -> tuple[bool, bool]:
        """Whether each share lies where it should."""
        return ACCEPTED[0] <= self.of_ratio <= ACCEPTED[1], self.of_sequential >= SEQUENTIAL

    def cells(self) -> list[str]:
        """Return the row of the table."""
        counts = [pair.sequential.count for pair in self.pairs]
        good = ["yes" if one else "NO" for one in self.is_accepted]
        return [
            f"{self.setting.launch_sd:.0%}".replace("%", " %"),
            self._share(self.of_ratio),
            f"{100 * np.median([pair.ratio.relative_half_width for pair in self.pairs]):.2f}",
            good[0],
            self._share(self.of_sequential),
            f"{100 * np.median([pair.sequential.relative_half_width for pair in self.pairs]):.2f}",
            f"{np.median(counts):.0f} ({np.quantile(counts, 0.95):.0f})",
            good[1],
        ]

    def _share(self, share: float) -> str:
        return f"{100 * share:.1f} ({100 * math.sqrt(share * (1 - share) / len(self.pairs)):.1f})"


def rows(draws: int, processes: int) -> Iterator[Row]:
    """Yield the settings in turn, each with all its draws."""
    with ProcessPoolExecutor(processes) as executor:
        for place, setting in enumerate(SETTINGS):
            seeds = range(place * SEEDS_APART, place * SEEDS_APART + draws)
            yield Row(setting=setting, pairs=list(executor.map(partial(make_pair, setting), seeds, chunksize=10)))


def main() -> int:
    """Make the draws, print the table, and return 1 where a share lies outside."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"per setting; the table is kept at {DRAWS}")
    parser.add_argument("--processes", type=int, default=usable_cores())
    options = parser.parse_args()
    found: list[Row] = []
    for row in rows(options.draws, options.processes):
        found.append(row)
        words = f"{row.setting}: ratio {row.of_ratio:.1%}, auto {row.of_sequential:.1%} covered"
        print(words, file=sys.stderr, flush=True)
    is_proven = all(all(row.is_accepted) for row in found)
    lines = [HEADINGS, ["---:"] * len(HEADINGS), *(row.cells() for row in found)]
    text = TEXT.format(
        verdict=f"**{'PASS' if is_proven else 'FAIL'}**: 93 to 97 % of ratios, 92 % or more of runs that add launches.",
        table="\n".join("| " + " | ".join(line) + " |" for line in lines),
        draws=options.draws,
        launches=LAUNCHES,
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
