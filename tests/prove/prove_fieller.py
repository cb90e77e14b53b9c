"""Prove that ratios of few launches, far apart, are covered by Welch on logarithms and by Fieller; keep the table.

Run by ``make prove``. Launches are drawn straight from a law (see fieller_draws.py); ratios of simulated runs are in
prove_ratios.py.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.prove.fieller_draws import Coverage, coverages  # noqa: E402

from collmark import __version__  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "fieller.md"
DRAWS = 4000
LEAST = 0.92
"""Least share that either covers: Satterthwaite's degrees of freedom are a little optimistic for 3 over 10 launches."""

HEADINGS = ("law", "scatter", "launches", "Welch, % (SE)", "width", "Fieller, % (SE)", "width", "not bounded, %")
TEXT = """\
# Coverage of ratios of few launches: Welch on logarithms, and Fieller

Written by `make prove` (tests/prove/prove_fieller.py). Simulated draws; no figure here was measured.

{verdict}

{table}

- A row is {draws} draws of a ratio of 9, launches straight from the law: lognormal, scatter by a factor, as Welch on
  logarithms has it, or normal, scatter by an amount, as Fieller has it. Scatter: standard deviation of a launch, on
  either side, relative. Launches: above and below. Covered: share of 95 % intervals that hold the truth; one that is
  not bounded holds it. Width: upper over lower end, median over draws.
- The two cover alike under either law: 95 % and more with as many launches on both sides, a little less with 3 and 10.
  Welch decides: its ends are positive and finite, and it takes any number of groups. Fieller stands beside it as a
  check: it is not bounded where so few launches below lie so far apart that their mean could be 0.

collmark {collmark}, Python {python}, numpy {numpy}.
"""


def cells(one: Coverage, draws: int) -> list[str]:
    """Return a row of the table."""
    covered = [
        f"{100 * share:.1f} ({100 * math.sqrt(share * (1 - share) / draws):.1f})" for share in (one.welch, one.fieller)
    ]
    widths = [f"x {width:.2f}" if math.isfinite(width) else "none" for width in one.widths]
    launches = " and ".join(map(str, one.launches))
    start = [one.law.value, f"{100 * one.scatter:.0f} %", launches]
    return [*start, covered[0], widths[0], covered[1], widths[1], f"{100 * one.unbounded:.1f}"]


def main() -> int:
    """Make the draws, print the table, and return 1 where a share lies outside."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"per row; the table is kept at {DRAWS}")
    options = parser.parse_args()
    found = list(coverages(options.draws))
    is_proven = all(min(one.welch, one.fieller) >= LEAST for one in found)
    rows = [HEADINGS, ["---"] + ["---:"] * (len(HEADINGS) - 1), *(cells(one, options.draws) for one in found)]
    text = TEXT.format(
        verdict=f"**{'PASS' if is_proven else 'FAIL'}**: each covers {LEAST:.0%} or more in every row.",
        table="\n".join("| " + " | ".join(row) + " |" for row in rows),
        draws=options.draws,
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
