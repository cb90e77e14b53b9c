"""Prove that one slow rank, pair, node or NIC is found among many, and nothing where nothing is slow; keep a table.

Run by ``make prove``. Everything is drawn: no figure is one of a machine. A small form runs with the tests
(tests/analysis/pairs).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import scipy
from scipy import stats

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.prove.pairs_draws import LAUNCHES, NOISE, Setting, drawn, is_found  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.analysis.pairs.find import EFFECT, Kind  # noqa: E402
from collmark.core.pairing import all_rounds, some_rounds  # noqa: E402
from collmark.core.placement import Placement  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "pairs.md"
SHAPES = {8: (4, 2, 2), 64: (8, 8, 4), 1024: (128, 8, 4)}
"""Nodes, ranks and NICs of each, by the number of ranks."""
RUNS = {8: 1000, 64: 500, 1024: 300}
CLEAN = {8: 2000, 64: 1000, 1024: 300}
SLOW = {Kind.RANK: 1.1, Kind.PAIR: 1.1, Kind.NODE: 1.1, Kind.NIC: 2.0}
CURVE = (1.02, 1.04, 1.06, 1.08, 1.1, 1.15)
CURVE_RUNS = 200
FOUND, ALARMS = 0.99, 0.01

TEXT = """\
# Finding what is slow

Written by `make prove` (tests/prove/prove_pairs.py). **SIMULATED**: times are drawn, {noise:g} % apart in each launch
and direction of a pair; no figure is one of a machine.

**{verdict}**: one thing is slow, and is named, alone, in at least {found:.0f} % of runs; nothing is named in at least
{quiet:.0f} % of clean runs. A sweep over all pairs, then {launches} launches that measure suspects again; the
smallest effect of interest is {effect:.0f} %.

{table}

How large an effect must be: share of runs, in per cent, in which exactly what is slow was named.

{curve}

- A rank is slow with everybody, a NIC (half the rate) with other nodes alone; n ranks are {shapes}.
- Share and its 95 % interval by Clopper and Pearson. At 1,024 ranks also with few rounds: all inside nodes, and {some}
  of 1,016 between them.

All of it took {minutes:.0f} min. collmark {collmark}, numpy {numpy}, scipy {scipy}.
"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """How often something was named."""

    what: str
    ranks: int
    rounds: int
    runs: int
    named: int
    suspects: float

    @property
    def ends(self) -> tuple[float, float]:
        """The interval of the share."""
        found = stats.binomtest(self.named, self.runs).proportion_ci()
        return float(found.low), float(found.high)

    @property
    def share(self) -> float:
        """Share of the runs."""
        return self.named / self.runs


def measure(setting: Setting, runs: int, some: int = 0) -> Row:
    """Draw runs of a setting; of clean ones those count in which anything was named."""
    placement = Placement(nodes=setting.nodes, ranks_per_node=setting.each)
    rounds = list(all_rounds(placement))
    if some:
        rounds = [rounds[number] for number in some_rounds(placement, some, 1)]
    named, suspects = 0, 0
    for seed in range(1, runs + 1):
        slow, first, found = drawn(setting, rounds, seed)
        named += bool(found) if setting.slow is None else is_found(slow, found)
        suspects += len(first.suspects)
    what = "clean" if setting.slow is None else f"{setting.slow} x {setting.factor:g}"
    row = Row(what=what, ranks=placement.ranks, rounds=len(rounds), runs=runs, named=named, suspects=suspects / runs)
    print(f"{row.what}, {row.ranks} ranks, {row.rounds} rounds: {row.named} of {row.runs}", file=sys.stderr, flush=True)
    return row


def table(rows: list[Row]) -> str:
    """Return the table."""
    lines = [
        "| slow | ranks | rounds | runs | named | % | 95 % | suspects a run |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        low, high = row.ends
        lines.append(
            f"| {row.what} | {row.ranks:,} | {row.rounds:,} | {row.runs:,} | {row.named:,} | {100 * row.share:.1f} "
            f"| [{100 * low:.1f}, {100 * high:.1f}] | {row.suspects:.1f} |"
        )
    return "\n".join(lines)


def curve(share: float) -> str:
    """Return the table of detection against effect."""
    lines = [
        "| slow | ranks | " + " | ".join(f"{100 * (factor - 1):.0f} %" for factor in CURVE) + " |",
        "| --- | ---: |" + " ---: |" * len(CURVE),
    ]
    for kind in (Kind.RANK, Kind.PAIR, Kind.NODE):
        for ranks in (8, 64):
            nodes, each, nics = SHAPES[ranks]
            rows = [
                measure(Setting(nodes=nodes, each=each, nics=nics, slow=kind, factor=factor), round(CURVE_RUNS * share))
                for factor in CURVE
            ]
            lines.append(f"| {kind} | {ranks} | " + " | ".join(f"{100 * row.share:.0f}" for row in rows) + " |")
    return "\n".join(lines)


def main() -> int:
    """Draw all, print the page, and return 1 where too few are found or too many named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the runs; the page is kept at 1")
    share = parser.parse_args().share
    began = time.monotonic()
    some = 40
    rows = []
    for ranks, (nodes, each, nics) in SHAPES.items():
        clean = Setting(nodes=nodes, each=each, nics=nics)
        rows.append(measure(clean, round(CLEAN[ranks] * share)))
        for kind, factor in SLOW.items():
            slow = msgspec.structs.replace(clean, slow=kind, factor=factor)
            rows.append(measure(slow, round(RUNS[ranks] * share)))
            if ranks == max(SHAPES) and kind is not Kind.PAIR:
                rows.append(measure(slow, round(RUNS[ranks] * share), some))
    is_proven = all(row.share <= ALARMS if row.what == "clean" else row.share >= FOUND for row in rows)
    text = TEXT.format(
        noise=100 * NOISE, verdict="PASS" if is_proven else "FAIL", found=100 * FOUND, quiet=100 * (1 - ALARMS),
        launches=LAUNCHES, effect=100 * EFFECT, table=table(rows), curve=curve(share), some=some,
        shapes=", ".join(f"{nodes} nodes of {each}" for nodes, each, _nics in SHAPES.values()),
        minutes=(time.monotonic() - began) / 60, collmark=__version__, numpy=np.__version__, scipy=scipy.__version__,
    )  # fmt: skip
    print(text)
    if share == 1.0:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
