"""From records to the curves that claims are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.claims.measured.curve import Curve
from collmark.analysis.columns import SERIES, Series
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import Fits, fit_frame
from collmark.analysis.points import is_usable, measured, points, words_of_status
from collmark.analysis.results import Results
from collmark.core.grouping import Company
from collmark.core.marker import Marker
from collmark.core.operation import Estimand


class Material:
    """Records of some runs, as curves.

    Parameters
    ----------
    table : DataFrame
        As :func:`collmark.analysis.frame.frame` returns it, of figures that are all measured, or all have one marker.
    labels : dict of str to str
        Label of each run by the name of its folder.
    include_unstable : bool
        Let unstable records enter.
    unequal_ranks : bool
        Whether sides of unlike numbers of ranks may be compared.
    fits : Fits or None
        Of its series, where they are known; they are worked out where not.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        labels: dict[str, str],
        *,
        include_unstable: bool = False,
        unequal_ranks: bool = False,
        fits: Fits | None = None,
    ) -> None:
        self._table = table
        self._labels = labels
        self._include_unstable = include_unstable
        self.unequal_ranks = unequal_ranks
        self._fits = fits

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """Every series of the records."""
        return self._curves(self._table, self._fits)

    @cached_property
    def longest(self) -> tuple[Curve, ...]:
        """The same with T as the longest local duration wherever it would be L or G.

        Needed where clocks could be compared on one side of a ratio only (design.md section 4): there L would be put
        beside D_max, which holds the skew as well.
        """
        table = self._table.copy()
        bracketed = table["estimand"].isin([Estimand.LAST_IN_LAST_OUT.value, Estimand.FIRST_IN_LAST_OUT.value])
        rows = bracketed & table["longest"].notna()
        if not rows.any():
            return self.curves
        table.loc[rows, "seconds"] = table.loc[rows, "longest"]
        table.loc[rows, ["lower", "upper"]] = np.nan
        table.loc[rows, "estimand"] = Estimand.LONGEST_LOCAL.value
        return self._curves(table)

    def _curves(self, table: pd.DataFrame, fits: Fits | None = None) -> tuple[Curve, ...]:
        # Groups that communicate at once disturb each other: what a link does, it does for one group alone.
        table = table[table["company"] != Company.TOGETHER.value]
        if table.empty:
            return ()
        fits = fit_frame(table, include_unstable=self._include_unstable) if fits is None else fits
        cases = points(table, include_unstable=self._include_unstable)
        entering = {tuple(row) for row in cases.loc[cases["enters"], [*SERIES, "case"]].itertuples(index=False)}
        found = []
        for key, group in measured(table).groupby(list(SERIES), sort=False):
            enters = np.array([(*key, case) in entering for case in group["case"]])
            usable = is_usable(group, include_unstable=self._include_unstable) & enters
            found.append(self._curve(_series(key), group[usable], group[~usable], fits))
        return tuple(found)

    def _curve(self, series: Series, rows: pd.DataFrame, others: pd.DataFrame, fits: Fits) -> Curve:
        times: dict[int, list[float]] = {}
        for (nbytes, _launch), seconds in rows.groupby(["nbytes", "launch"])["seconds"].median().items():
            times.setdefault(int(nbytes), []).append(float(seconds))
        any_row = (rows if len(rows) else others).iloc[0]
        return Curve(
            series=series,
            ranks=int(any_row["ranks"]),
            nodes=int(any_row["nodes"]),
            labels=tuple(filter(None, (any_row["label"], self._labels.get(series.run, ""), series.run))),
            launches=tuple(sorted({int(launch) for launch in rows["launch"]})),
            times={nbytes: tuple(values) for nbytes, values in times.items()},
            fit=fits.of(series),
            refused=next((one.reason for one in fits.refused if one.series == series), ""),
            left_out=words_of_status(others),
            skewed=None if rows["skewed"].isna().all() else float(rows["skewed"].mean()),
        )


def _series(key: tuple[object, ...]) -> Series:
    plain = [value.item() if isinstance(value, np.generic) else value for value in key]
    return msgspec.convert(dict(zip(SERIES, plain, strict=True)), Series)


def gather(
    results: Iterable[Results],
    *,
    include_unstable: bool = False,
    unequal_ranks: bool = False,
    fits: Fits | None = None,
    table: pd.DataFrame | None = None,
) -> dict[str, Material]:
    """Return what was measured, by us or by others, as "", and apart from it by their marker what decides no claim.

    Parameters
    ----------
    results : iterable of Results
        Runs, each with a name of its own.
    include_unstable, unequal_ranks : bool
        Let unstable records enter, and sides of unlike numbers of ranks be compared.
    fits : Fits or None
        Of all series of these runs, where they are known: a fit looks at no series but its own.
    table : DataFrame or None
        Their frame, where there is one already.
    """
    runs = list(results)
    labels = {one.name: one.run.label for one in runs}
    table = frame(runs) if table is None else table
    asked = {"include_unstable": include_unstable, "unequal_ranks": unequal_ranks}
    apart = table["marker"].where(table["marker"].isin([Marker.SIMULATED.value, Marker.EMULATED.value]), "")
    return {
        marker: Material(table[apart == marker].reset_index(drop=True), labels, **asked, fits=fits)
        for marker in sorted({"", *apart})
    }
