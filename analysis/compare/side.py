"""What one side of a comparison measured: times over launches of each case."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES
from collmark.analysis.frame import frame
from collmark.analysis.points import has_time, is_usable
from collmark.analysis.results import Results
from collmark.core.operation import Estimand
from collmark.core.record import Status

LONGEST = Estimand.LONGEST_LOCAL.value
NO_PART_OF_KEY = ("marker", "origin", "window")
"""What makes figures of equal keys unlike: they are neither pooled nor compared."""


FACTS = (*SERIES, "case", "nbytes", "bus_nbytes")
"""What is told of a case."""


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """One case on one side.

    Attributes
    ----------
    facts : dict of str to object
        The columns of its series, `case`, `nbytes` and `bus_nbytes`.
    seconds : dict of str to tuple of float
        T in each launch, in s, by the name of the run.
    longest : dict of str to tuple of float
        D_max of the same launches; empty where one of them has none.
    reason : str
        Why it has no times; empty where it has some.
    is_wrong : bool
        Whether a result was wrong.
    fitted : bool
        Whether times are those of a model and no measurement.
    """

    facts: dict[str, object]
    seconds: dict[str, tuple[float, ...]] = {}
    longest: dict[str, tuple[float, ...]] = {}
    reason: str = ""
    is_wrong: bool = False
    fitted: bool = False

    @property
    def seconds_L(self) -> tuple[float, ...]:
        """T in each launch of all runs, in s."""
        return sum(self.seconds.values(), ())

    def by_longest(self) -> Times:
        """Return the same with D_max for T."""
        return msgspec.structs.replace(self, seconds=self.longest, facts={**self.facts, "estimand": LONGEST})


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison: a run, or a folder of runs of one thing.

    Attributes
    ----------
    name : str
        As it is called.
    results : tuple of Results
        Its runs.
    """

    name: str
    results: tuple[Results, ...]

    @property
    def launches(self) -> int:
        """The number of launches of all its runs."""
        # Imported runs tell of no launches but in their records.
        return sum(len({record.launch for record in one.records}) for one in self.results)

    def table(self) -> pd.DataFrame:
        """Return the records of its runs, sentinels apart."""
        rows = frame(self.results)
        return rows[rows["sentinel"] == ""]


def times_of(table: pd.DataFrame, *, include_unstable: bool = False) -> dict[str, Times]:
    """Return the times of each case of a side, by the key of the case.

    Parameters
    ----------
    table : DataFrame
        As :meth:`Side.table` returns it.
    include_unstable : bool
        Take unstable records too.
    """
    # Row by row: a selection of a table for each case would take most of the time of a report on many runs.
    told = table.assign(enters=is_usable(table, include_unstable=include_unstable), timed=has_time(table))
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in told[[*FACTS, "status", "seconds", "longest", "enters", "timed"]].to_dict("records"):
        rows.setdefault(str(row["case"]), []).append(row)
    return {key: _times(own) for key, own in rows.items()}


def _times(rows: Sequence[dict[str, Any]]) -> Times:
    """Return the times of the rows of one case."""
    facts = {name: rows[0][name] for name in FACTS}
    used = [row for row in rows if row["enters"]]
    if any(row["status"] == Status.WRONG.value for row in rows):
        return Times(facts=facts, reason="wrong", is_wrong=True)
    if not used:
        return Times(facts=facts, reason=_why_none(rows))
    values = {name: list(dict.fromkeys(row[name] for row in used)) for name in (*NO_PART_OF_KEY, "estimand")}
    unlike = next((name for name in NO_PART_OF_KEY if len(values[name]) > 1), None)
    if unlike:
        words = " and ".join(str(value) or "-" for value in values[unlike])
        return Times(facts=facts, reason=f"{unlike} is {words} in its runs")
    estimands, has_longest = values["estimand"], all(row["longest"] > 0 for row in used)
    mixed = len(estimands) > 1
    if mixed and not has_longest:
        return Times(facts=facts, reason=f"T is {' and '.join(estimands)} in its launches")
    facts["estimand"] = LONGEST if mixed else estimands[0]
    return Times(
        facts=facts,
        seconds=_by_run(used, "longest" if mixed else "seconds"),
        longest=_by_run(used, "longest") if has_longest else {},
    )


def _by_run(rows: Sequence[dict[str, Any]], column: str) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    for row in rows:
        found[row["run"]] = (*found.get(row["run"], ()), row[column])
    return found


def _why_none(rows: Sequence[dict[str, Any]]) -> str:
    if all(row["nbytes"] == 0 for row in rows) and any(row["timed"] for row in rows):
        return "of no bytes"
    return "/".join(dict.fromkeys(row["status"] for row in rows))


def repeats(times: dict[str, Times]) -> tuple[float, ...]:
    """Return how far runs of one side lie apart: |log| of the ratio of geometric means, of two runs and a case each."""
    return tuple(
        abs(float(np.mean(np.log(one)) - np.mean(np.log(two))))
        for own in times.values()
        for one, two in combinations(own.seconds.values(), 2)
    )


def noise_floor(found: Sequence[float]) -> float | None:
    """Return the factor above 1 that 95 % of comparisons of a thing with itself stay below; None without any."""
    return float(np.exp(np.quantile(found, 0.95))) if found else None
