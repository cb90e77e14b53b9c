"""Prove what the timing of one launch says, each estimator beside the naive one; keep the tables.

Run by ``make prove``. Made-up series and stamps whose truth is known (timing_draws.py and its neighbours); the small
forms run with the tests (tests/bench/test_timing_small.py, tests/core, tests/analysis).
"""

from __future__ import annotations

import argparse
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import scipy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.prove import timing_tables as tables  # noqa: E402
from tests.prove.timing_draws import MOST, OPERATION, PRECISION, REPETITIONS  # noqa: E402
from tests.prove.variance_draws import CASES, LAUNCHES  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "timing.md"
DRAWS = 1000
BUILDERS = (
    tables.coverage, tables.skew, tables.steady_cuts, tables.transients, tables.false_stragglers,
    tables.named_stragglers, tables.variance, tables.modes,
)  # fmt: skip

TEXT = """\
# Timing inside a launch

Written by `make prove` (tests/prove/prove_timing.py). Simulated draws; no figure here was measured.

**{verdict}**: every row must be accepted. {draws} draws a row, each with a seed of its own.

## Intervals

{coverage}

Covered: share of series whose 95 % interval of the median holds the truth, 93 to 97 % accepted; lognormal, first-order
autoregressive noise, of which some repetitions take 1.5 to 4 times as long. The rule stops where the interval is within
{precision:.0f} % twice in a row and the series lasts 25 autocorrelation times, or after {most} repetitions. As if
independent: the interval of the same repetitions without their autocorrelation time. Not accepted, but what is reached
where outliers hide the dependence of a short series (CV 5 %, autocorrelation 0.6, 8 % contaminated): {hidden:.1f} %.

## L, where ranks enter apart

{skew}

Bias in %, at most 1 % for L: median over {repetitions} repetitions over L of ranks that enter together, less 1. A ring
all_reduce of {operation:g} us whose steps vary by 5 %; ranks enter at once, or over so many us. D_max: the longest
local duration; mean of locals: over the ranks; first in, last out: what a clock says that starts at the barrier.

## Cuts of steady series

{steady_cuts}

Cut: share of series of which more than one batch of 5 is cut, at most 3 %. MSER-5 alone cuts where that looks best; a
case is called unstable where the cut takes over a third.

## What is left of a warm-up

{transients}

Bias of the median after the cut, in % of the truth, at most a quarter of the precision of {precision:.0f} %; beside it
that of the same repetitions without a cut, without their first tenth, and after MSER-5 alone. What is longer than the
series that seems to suffice is seen by no cut: of series with a CV of 5 % whose first 40 calls take 1.3 times as long,
{unseen:.0f} % end inside these 40. For that reason at least 5 calls and 4 ms go before the first repetition.

## Stragglers by chance

{false_stragglers}

Share of records, in %, in which the p-value of some rank's entering last so often is at most 5, 1 and 0.1 %: at most
the level, and two standard errors. Each rank's lateness is lognormal, first-order autoregressive, and alike for all
ranks. As if independent: an exact binomial test of the same counts, times the number of ranks.

## Stragglers in a run

{named_stragglers}

Five launches of two cases. By chance: runs that name a rank at either end although all are alike and any delay would
matter; 0.1 % an end is the level. Late: rank 1 enters later by a fifth of T, and is to be named alone in 95 %.

## Variance between launches

{variance}

{cases} cases, {launches} launches, 60 repetitions with an autocorrelation of 0.6. Bias of the variance of ln T between
launches, in % of the planted: within three standard errors and 12 % of the part that the repetitions leave open, their
autocorrelation time being known no better. Of the medians' variance: the bias of the plain variance of launch medians.
Covered: share of runs whose 95 % interval of the standard deviation holds the planted one, at least 93 %; more where
cases share nothing.

## Modes

{modes}

Found: share of series in which as many modes are found as there are. One must be taken for several in at most 2 %,
planted ones be found in 95 %.

collmark {collmark}, Python {python}, numpy {numpy}, scipy {scipy}.
"""


def main() -> int:
    """Make the draws, print the page, and return 1 where a row is not accepted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"a row; the page is kept at {DRAWS}")
    parser.add_argument("--processes", type=int, default=usable_cores())
    options = parser.parse_args()
    found = {}
    with ProcessPoolExecutor(options.processes) as executor:
        draw = tables.drawing(executor, options.draws)
        for build in BUILDERS:
            found[build.__name__] = build(draw)
            print(f"{build.__name__}: {found[build.__name__].accepted}", file=sys.stderr, flush=True)
        unseen, hidden = 100 * tables.unseen(draw), 100 * tables.hidden(draw)
    is_proven = all(all(table.accepted) for table in found.values())
    text = TEXT.format(
        verdict="PASS" if is_proven else "FAIL",
        draws=options.draws,
        **{name: table.text() for name, table in found.items()},
        unseen=unseen,
        hidden=hidden,
        precision=100 * PRECISION,
        most=MOST,
        repetitions=REPETITIONS,
        operation=OPERATION * 1e6,
        cases=CASES,
        launches=LAUNCHES,
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
