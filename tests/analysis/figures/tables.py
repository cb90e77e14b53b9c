"""Tables for figures: ordinary ones, and odd ones that a run can leave behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from msgspec.structs import replace
from tests.analysis.made import case_of, curve, noisy, record_of, replaced, results_of, times
from tests.analysis.made_pairs import sweep_run

from collmark.analysis.compare.compare import compare
from collmark.analysis.compare.history import histories
from collmark.analysis.compare.side import Side
from collmark.analysis.contrasts import contrasts
from collmark.analysis.costs.prior import with_prior
from collmark.analysis.figures.drawn import with_fits
from collmark.analysis.figures.place import placed
from collmark.analysis.figures.rank_shares import rank_shares
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import Fits, fit_frame
from collmark.analysis.report.changes import drawn_changes
from collmark.analysis.report.material import gather
from collmark.analysis.report.sections.history import drawn_histories
from collmark.analysis.report.sections.pairs import rows_of
from collmark.analysis.results import Results
from collmark.core.case import Cadence
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement, Tier
from collmark.core.record import Check, Record, Status

HOSTILE = "</script><img src=x onerror=\"alert('1')\">$\\frac{1}$&amp;|`\n\x00\x1b[31m\u202e"
SOME = (16, 4096, 1 << 20)
LONG_HOST = "a-host-name-of-forty-characters-0123456789"


def drawn_of(*results: Results, most_curves: int = 4, include_unstable: bool = False) -> pd.DataFrame:
    """Return the table that figures draw from."""
    table = frame(results)
    fits = Fits(fits=(), refused=()) if table.empty else fit_frame(table, include_unstable=include_unstable)
    return placed(with_fits(table, fits, include_unstable=include_unstable), most_curves)


def repetitions_of(panels: Sequence[str] = ("all_reduce, 16 B",), count: int = 400) -> pd.DataFrame:
    """Return repetitions of three launches, as the picture of tails takes them."""
    random = np.random.default_rng(3)
    rows = [
        pd.DataFrame(
            {
                "panel": panel, "swatch": "tier-loopback", "marker": "", "launch": launch, "shown": True,
                "seconds": 1e-4 * random.lognormal(0, 0.1, count),
            }
        )
        for panel in panels for launch in (1, 2, 3)
    ]  # fmt: skip
    return pd.concat(rows, ignore_index=True)


def ordinary() -> Results:
    """Return two operations over three launches."""
    return results_of([*noisy(curve("all_reduce")), *noisy(curve("ping_pong", alpha=5e-6), seed=6)])


def with_status(records: Sequence[Record], status: Status) -> list[Record]:
    """Return records that all have a status; a wrong one has no time."""
    changes: dict[str, object] = {"status": status}
    if status in (Status.WRONG, Status.FAILED):
        changes |= {
            "timing": None,
            "ranks": None,
            "check": Check(checked=10, wrong=3, first="rank 0"),
            "error": "broke",
        }
    return [replaced(record, **changes) for record in records]


def _in_steps() -> list[Record]:
    names = [name for name in OPERATIONS.names() if OPERATIONS[name].sized]
    return [record for name in names for record in noisy(curve(name))]


def _many_placements() -> list[Record]:
    return [
        record
        for nodes in (1, 2, 4, 8, 16)
        for label in ("", "rail")
        for record in noisy(
            curve(
                tier=Tier.NVLINK if nodes == 1 else Tier.RDMA,
                of_case={"placement": Placement(nodes=nodes, ranks_per_node=2, label=label)},
            )
        )
    ]


ODD: dict[str, Callable[[], list[Record]]] = {
    "one launch": lambda: curve(levels=(1.0,)),
    "one size": lambda: curve(sizes=(1024,)),
    "all unstable": lambda: with_status(curve(), Status.UNSTABLE),
    "all wrong": lambda: with_status(curve(), Status.WRONG),
    "all failed": lambda: with_status(curve(), Status.FAILED),
    "one wrong": lambda: [*with_status(curve(sizes=(64,)), Status.WRONG), *curve()[1:]],
    "barrier alone": lambda: curve("barrier", sizes=(0,)),
    "barrier beside": lambda: [*curve("barrier", sizes=(0,)), *curve()],
    "simulated": lambda: curve(simulated=True, tier=Tier.SIMULATED),
    "one rank": lambda: curve(ranks=1),
    "every operation": _in_steps,
    "many placements": _many_placements,
    "no scatter": lambda: curve(levels=(1.0, 1.0, 1.0)),
    "zero times": lambda: [record_of(case_of(nbytes=size), 0.0, launch) for size in SOME for launch in (1, 2)],
    "times that jump": lambda: [
        record_of(case_of(nbytes=size), 10.0 ** (launch * 90 - 270), launch) for size in SOME for launch in (1, 2, 3)
    ],
    "a call of no bytes": lambda: [*curve(sizes=(0, *SOME)), *curve("ping_pong", sizes=(0, *SOME))],
    "latency alone": lambda: curve(beta=0.0),
    "bandwidth alone": lambda: curve(alpha=0.0),
    "far apart": lambda: [*curve(sizes=(1,)), *curve(sizes=(1 << 40,)), *curve(sizes=(1 << 20,))],
    "hundred launches": lambda: noisy(curve(levels=(1.0,) * 100)),
    "hostile label": lambda: curve(of_case={"placement": Placement(ranks_per_node=2, label=HOSTILE)}),
    "two labels": lambda: [
        *curve(of_case={"placement": Placement(ranks_per_node=2, label=HOSTILE)}),
        *curve(of_case={"placement": Placement(ranks_per_node=2, label=LONG_HOST * 3)}),
    ],
    "nothing": list,
}  # fmt: skip
"""Odd records by what is odd about them."""


def streamed(results: Results, factor: float = 0.7) -> Results:
    """Return results beside which every case was also called back to back, in so much of its time."""
    streaming = {"cadence": Cadence.STREAMING, "batch": 20}
    timed = [one for one in results.records if one.timing]
    more = [times(replaced(one, case=replace(one.case, **streaming)), factor) for one in timed]
    return results_of([*results.records, *more])


def in_time_order(results: Sequence[Results], factors: Sequence[float]) -> list[Results]:
    """Return runs of one a day, each in so much of its time."""
    return [
        replace(
            one, name=f"run-{day}", run=replace(one.run, label=f"run-{day}", created=f"2030-01-{day:02d}T00:00:00Z"),
            records=[times(record, factor) if record.timing else record for record in one.records],
        )
        for day, (one, factor) in enumerate(zip(results, factors, strict=True), 1)
    ]  # fmt: skip


def _changes(results: Results) -> pd.DataFrame:
    slower = replace(results, name="b", records=[times(record, 1.1) for record in results.records])
    changes = drawn_changes(compare(Side(name="a", results=(results,)), [Side(name="b", results=(slower,))]))
    assert changes is not None
    return changes


def _histories(results: Results) -> pd.DataFrame:
    runs = in_time_order([results] * 6, factors=(1.0, 1.01, 1.0, 1.2, 1.21, 1.2))
    return drawn_histories(gather(runs), histories(runs))


def table_for(figure: str, results: Results) -> pd.DataFrame:
    """Return the table that a figure of the index draws from."""
    made: dict[str, Callable[[], pd.DataFrame]] = {
        "contrast": lambda: placed(contrasts(drawn_of(streamed(results))), most_curves=1),
        "change": lambda: _changes(results),
        "history": lambda: _histories(results),
        "pairs": lambda: rows_of(gather([sweep_run()])),
        "tails": repetitions_of,
        "prior": lambda: with_prior(drawn_of(results).assign(backend="nccl"), "nccl:HOPPER"),
        "last-rank": lambda: rank_shares([results]),
        "launches": lambda: drawn_of(results, most_curves=1),
    }
    return made.get(figure, lambda: drawn_of(results))()
