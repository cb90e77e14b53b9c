"""What one side of a comparison measured: times over launches of each case."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

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
    enters = is_usable(table, include_unstable=include_unstable)
    found = {}
    for key, rows in table.groupby("case", sort=False):
        facts = rows.iloc[0][[*SERIES, "case", "nbytes", "bus_nbytes"]].to_dict()
        is_wrong = bool(rows["status"].eq(Status.WRONG.value).any())
        used = rows[enters[rows.index]]
        estimands = used["estimand"].unique()
        if is_wrong or used.empty:
            reason = "wrong" if is_wrong else _why_none(rows)
            found[str(key)] = Times(facts=facts, reason=reason, is_wrong=is_wrong)
            continue
        unlike = [name for name in NO_PART_OF_KEY if len(used[name].unique()) > 1]
        if unlike:
            values = " and ".join(str(value) or "-" for value in used[unlike[0]].unique())
            found[str(key)] = Times(facts=facts, reason=f"{unlike[0]} is {values} in its runs")
            continue
        mixed = len(estimands) > 1
        column = "longest" if mixed else "seconds"
        facts["estimand"] = LONGEST if mixed else estimands[0]
        has_longest = bool(used["longest"].gt(0).all())
        if mixed and not has_longest:
            found[str(key)] = Times(facts=facts, reason=f"T is {' and '.join(estimands)} in its launches")
            continue
        by_run = dict(list(used.groupby("run", sort=False)))
        found[str(key)] = Times(
            facts=facts,
            seconds={str(run): tuple(own[column]) for run, own in by_run.items()},
            longest={str(run): tuple(own["longest"]) for run, own in by_run.items()} if has_longest else {},
        )
    return found


def _why_none(rows: pd.DataFrame) -> str:
    if rows["nbytes"].eq(0).all() and has_time(rows).any():
        return "of no bytes"
    return "/".join(rows["status"].unique())


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
