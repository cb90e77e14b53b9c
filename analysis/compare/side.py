"""What one side of a comparison measured: times over launches of each case."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeAlias

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
COLUMNS = tuple(
    dict.fromkeys((*FACTS, *NO_PART_OF_KEY, "run", "status", "estimand", "seconds", "longest", "enters", "timed"))
)
Row: TypeAlias = dict[str, Any]
"""One record: a value for each of `COLUMNS`."""


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
    judged = table.assign(enters=is_usable(table, include_unstable=include_unstable), timed=has_time(table))
    by_case: dict[str, list[Row]] = {}
    # Plain rows: a side has hundreds of cases, and pandas takes a millisecond for each cut of a table.
    for row in judged[list(COLUMNS)].to_dict("records"):
        by_case.setdefault(row["case"], []).append(row)
    return {key: _times(rows) for key, rows in by_case.items()}


def _times(rows: Sequence[Row]) -> Times:
    """Return the times of one case."""
    facts = {name: rows[0][name] for name in FACTS}
    used = [row for row in rows if row["enters"]]
    if any(row["status"] == Status.WRONG.value for row in rows):
        return Times(facts=facts, reason="wrong", is_wrong=True)
    if not used:
        return Times(facts=facts, reason=_why_none(rows))
    for name in NO_PART_OF_KEY:
        if len(values := _unique(used, name)) > 1:
            return Times(facts=facts, reason=f"{name} is {' and '.join(value or '-' for value in values)} in its runs")
    estimands = _unique(used, "estimand")
    mixed = len(estimands) > 1
    has_longest = all(row["longest"] > 0 for row in used)
    if mixed and not has_longest:
        return Times(facts=facts, reason=f"T is {' and '.join(estimands)} in its launches")
    longest = _by_run(used, "longest")
    return Times(
        facts={**facts, "estimand": LONGEST if mixed else estimands[0]},
        seconds=longest if mixed else _by_run(used, "seconds"),
        longest=longest if has_longest else {},
    )


def _unique(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(str(row[name]) for row in rows))


def _by_run(rows: Sequence[Row], name: str) -> dict[str, tuple[float, ...]]:
    runs = _unique(rows, "run")
    return {run: tuple(row[name] for row in rows if row["run"] == run) for run in runs}


def _why_none(rows: Sequence[Row]) -> str:
    if all(row["nbytes"] == 0 for row in rows) and any(row["timed"] for row in rows):
        return "of no bytes"
    return "/".join(_unique(rows, "status"))


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
