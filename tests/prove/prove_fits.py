"""Prove that fits find planted parameters, and that their intervals cover the estimator's own limit; keep the table.

Run by ``make prove``. Beside it stands what ordinary least squares of T on nbytes makes of the same launches.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import scipy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.prove.fit_draws import (  # noqa: E402
    ALPHA,
    BETA,
    LAUNCHES,
    LIMIT_LAUNCHES,
    PLANTED,
    REPETITIONS,
    SETTINGS,
    SIZES,
    Setting,
    covers,
    draw_medians,
    fit_of,
    least_squares,
    limits,
    value_of,
)

from collmark import __version__  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "fits.md"
DRAWS = 1000
SEEDS_APART = 1_000_000  # between settings, so that no two share a draw
ACCEPTED = (0.93, 0.97)
MOST_BIAS = {"alpha": 0.015, "beta": 0.03}
HEADINGS = (
    "launch SD",
    "parameter",
    "bias, % (SE)",
    "limit, %",
    "covered, % (SE)",
    "half-width, %",
    "least squares: median error, %",
    "least squares: middle 90 % of errors, %",
    "least squares: negative, %",
    "accepted",
)
TEXT = """\
# Bias and coverage of two-parameter fits

Written by `make prove` (tests/prove/prove_fits.py). Simulated draws; no figure here was measured.

**{verdict}**: the bias must be at most 1.5 % for alpha and 3 % for beta, and the share covered must lie in 93 to 97 %.

{table}

- A row is {draws} simulated runs with seeds of their own: {launches} launches of {sizes} sizes from 16 B to 64 MiB;
  T = (alpha + beta x nbytes) x lognormal level x lognormal, first-order autoregressive noise (CV 5 %, autocorrelation
  0.6) x contamination (8 % of repetitions take 1.5 to 4 times as long, uniformly). {repetitions} repetitions a case;
  their median is what a fit sees. alpha = {alpha:g} us, 1/beta = {asymptote:g} GB/s.
- Level: one for all sizes of a launch ("per launch"), or one for every case of it ("per case").
- Bias: mean over runs of log(estimate / planted), with its standard error. Contamination moves the median of the
  repetitions by half a per cent, which no fit can take away.
- Limit: what the estimator gives for {limit} launches, against the planted value. Covered: share of runs whose 95 %
  interval (Student's t on the logarithms of the launches' parameters) holds that limit. Half-width: median over runs of
  the longer arm.
- Least squares: T on nbytes in each launch, errors relative to the planted value, over launches. The largest sizes
  decide alone there, and alpha is what their noise leaves over.

collmark {collmark}, Python {python}, numpy {numpy}, scipy {scipy}.
"""


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """What one run says of a parameter: log error, limit covered or not, half-width, errors by least squares."""

    error: float
    covered: bool
    half_width: float
    plain: list[float]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All draws of one setting and parameter."""

    setting: Setting
    name: str
    limit: float
    draws: list[Draw]

    @property
    def bias(self) -> float:
        """Mean log error."""
        return float(np.mean([draw.error for draw in self.draws]))

    @property
    def covered(self) -> float:
        """Share of the draws whose interval holds the limit."""
        return float(np.mean([draw.covered for draw in self.draws]))

    @property
    def is_accepted(self) -> bool:
        """Whether bias and coverage are what they should be."""
        return abs(self.bias) <= MOST_BIAS[self.name] and ACCEPTED[0] <= self.covered <= ACCEPTED[1]

    def cells(self) -> list[str]:
        """Return the row of the table."""
        number, share = len(self.draws), self.covered
        spread = float(np.std([draw.error for draw in self.draws], ddof=1)) / math.sqrt(number)
        plain = 100 * np.concatenate([draw.plain for draw in self.draws])
        low, middle, high = np.percentile(plain, [5, 50, 95])
        return [
            f"{100 * self.setting.launch_sd:.0f} % per {'launch' if self.setting.together else 'case'}",
            self.name,
            f"{100 * self.bias:+.2f} ({100 * spread:.2f})",
            f"{100 * (self.limit / PLANTED[self.name] - 1):+.2f}",
            f"{100 * share:.1f} ({100 * math.sqrt(share * (1 - share) / number):.1f})",
            f"{100 * float(np.median([draw.half_width for draw in self.draws])):.2f}",
            f"{middle:+.1f}",
            f"{low:+.0f} to {high:+.0f}",
            f"{np.mean(plain < -100) * 100:.1f}",
            "yes" if self.is_accepted else "NO",
        ]


def make_draw(setting: Setting, limit: dict[str, float], seed: int) -> dict[str, Draw]:
    """Make one run and fit it."""
    medians = draw_medians(setting, LAUNCHES, seed)
    fit, plain = fit_of(medians), least_squares(medians)
    return {
        name: Draw(
            error=math.log(value_of(fit, name) / PLANTED[name]),
            covered=covers(fit, name, limit[name]),
            half_width=getattr(fit, name).estimate.relative_half_width,
            plain=(plain[:, index] / PLANTED[name] - 1).tolist(),
        )
        for index, name in enumerate(PLANTED)
    }


def rows(executor: Executor, draws: int) -> Iterator[Row]:
    """Yield a row for each setting and parameter."""
    all_limits = list(executor.map(limits, SETTINGS))
    for place, (setting, limit) in enumerate(zip(SETTINGS, all_limits, strict=True), 1):
        seeds = range(place * SEEDS_APART, place * SEEDS_APART + draws)
        found = list(executor.map(partial(make_draw, setting, limit), seeds, chunksize=10))
        for name in PLANTED:
            yield Row(setting=setting, name=name, limit=limit[name], draws=[draw[name] for draw in found])


def main() -> int:
    """Make the draws, print the table, and return 1 where a row is not accepted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"per setting; the table is kept at {DRAWS}")
    parser.add_argument("--processes", type=int, default=usable_cores())
    options = parser.parse_args()
    found: list[Row] = []
    with ProcessPoolExecutor(options.processes) as executor:
        for row in rows(executor, options.draws):
            found.append(row)
            print(
                f"{row.setting}, {row.name}: bias {row.bias:+.2%}, {row.covered:.1%} covered",
                file=sys.stderr,
                flush=True,
            )
    lines = [HEADINGS, ["---:"] * len(HEADINGS), *(row.cells() for row in found)]
    is_proven = all(row.is_accepted for row in found)
    text = TEXT.format(
        verdict="PASS" if is_proven else "FAIL",
        table="\n".join("| " + " | ".join(line) + " |" for line in lines),
        draws=options.draws,
        launches=LAUNCHES,
        limit=f"{LIMIT_LAUNCHES:,}",
        sizes=SIZES.size,
        repetitions=REPETITIONS,
        alpha=ALPHA * 1e6,
        asymptote=1e-9 / BETA,
        collmark=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )
    print(text)
    if options.draws == DRAWS:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
