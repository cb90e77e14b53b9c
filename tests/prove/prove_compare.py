"""Prove that comparisons call what is there as often as theory says, and hardly anything that is not; keep the table.

Run by ``make prove``. Logarithms of launches are drawn around a planted ratio (see compare_draws.py).
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

import numpy as np
import scipy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.prove.compare_draws import (  # noqa: E402
    LAUNCH_SD,
    LAUNCHES,
    REPETITIONS,
    WITHIN_SD,
    pairs_of,
    single,
    theory,
)

from collmark import __version__  # noqa: E402
from collmark.analysis.compare.verdict import EFFECT, RATE, Terms, Verdict, judge  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "compare.md"
DRAWS = 20_000
FAMILY = 50
SLOWER = (0.02, 0.05, 0.1, 0.2)
NEAR = 0.03
FINE = 0.001
"""An effect so small that the test alone decides."""
CALLED = (Verdict.SLOWER, Verdict.FASTER)

TEXT = """\
# What comparisons call

Written by `make prove` (tests/prove/prove_compare.py). Simulated draws; no figure here was measured.

{verdict}

{launches} launches a side, whose logarithms scatter by {launch_sd:g}; {draws} comparisons a row; smallest effect of
interest {effect:g} %.

| B slower by | called slower, % | theory, % | apart, points | called faster, % |
| ---: | ---: | ---: | ---: | ---: |
{power}

- Theory: of one comparison at a level of 5 %, integrated over both sample variances (compare_draws.py, `theory`).

A thing compared with itself, {family} cases at once:

| smallest effect of interest | called slower or faster, % of comparisons | % of families with any |
| ---: | ---: | ---: |
{same}

What if every repetition counted as a launch? A thing compared with itself, one case at a time, {repetitions}
repetitions in each launch that scatter by {within:g}; the smallest effect of interest is {fine:g} %, so that the test
alone decides:

| unit | called slower or faster, % (a right method: at most 5) |
| --- | ---: |
| launches | {right:.1f} |
| pooled repetitions | {pooled:.1f} |

collmark {collmark}, Python {python}, numpy {numpy}, scipy {scipy}.
"""


def main() -> int:
    """Make the draws, print the tables, and return 1 where one is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"a row; the tables are kept at {DRAWS}")
    options = parser.parse_args()
    draws, generator = options.draws, np.random.default_rng(8)
    power, apart = [], []
    for slower in SLOWER:
        found = [one.verdict for one in single(pairs_of([1 + slower] * draws, generator))]
        share, expected = found.count(Verdict.SLOWER) / draws, theory(1 + slower)
        apart.append(abs(share - expected))
        power.append(
            f"| {100 * slower:g} % | {100 * share:.1f} | {100 * expected:.1f} | {100 * (share - expected):+.1f} | "
            f"{100 * found.count(Verdict.FASTER) / draws:.2f} |"
        )
    same, falsely = [], []
    for effect in (FINE, EFFECT):
        of_families = [
            sum(one.verdict in CALLED for one in judge(pairs_of([1.0] * FAMILY, generator), Terms(effect=effect)))
            for _family in range(draws // FAMILY)
        ]
        falsely.append(sum(of_families) / (len(of_families) * FAMILY))
        some = sum(count > 0 for count in of_families) / len(of_families)
        same.append(f"| {100 * effect:g} % | {100 * falsely[-1]:.2f} | {100 * some:.1f} |")
    right, pooled = (
        sum(one.verdict in CALLED for one in single(pairs_of([1.0] * few, generator, repetitions=many), effect=FINE))
        / few
        for few, many in ((draws, 0), (draws // 10, REPETITIONS))
    )
    is_proven = max(apart) <= NEAR and max(falsely) <= RATE and right <= 0.055 and pooled > 0.2
    text = TEXT.format(
        verdict=f"**{'PASS' if is_proven else 'FAIL'}**: power within 3 points of theory; at most 5 % of comparisons "
        "of a thing with itself are called slower or faster; pooled repetitions call far more.",
        power="\n".join(power),
        same="\n".join(same),
        right=100 * right,
        pooled=100 * pooled,
        launches=LAUNCHES,
        launch_sd=LAUNCH_SD,
        draws=draws,
        effect=100 * EFFECT,
        family=FAMILY,
        repetitions=REPETITIONS,
        within=WITHIN_SD,
        fine=100 * FINE,
        collmark=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )
    print(text)
    if draws == DRAWS:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
