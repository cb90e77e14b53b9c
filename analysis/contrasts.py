"""Cases that differ in one respect, side by side: streaming against isolated, cold buffers against warm, MPI and gloo.

Where both were measured in the same launches, a launch gives one ratio, and what made the whole launch slow cancels;
otherwise the launches of each side scatter on their own (:mod:`collmark.analysis.ratio`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES, Column
from collmark.analysis.points import is_usable
from collmark.analysis.ratio import ratio
from collmark.core.case import Buffers, Cadence, Form
from collmark.core.grouping import Company
from collmark.core.registry import Registry
from collmark.core.statistics import log_t_interval


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A respect in which cases may differ.

    Attributes
    ----------
    question : str
        What a comparison along it answers.
    order : tuple
        Its values; the first that is there is compared with the others. Values that are not named come last, sorted.
    follow : tuple of str
        Columns of a series that may differ besides, since they come with it; what differs is said.
    """

    question: str
    order: tuple[object, ...] = ()
    follow: tuple[str, ...] = ()


AXES = Registry(
    "axis",
    {
        "cadence": Axis(question="What do calls back to back save?", order=tuple(Cadence)),
        "buffers": Axis(question="What do cold buffers cost?", order=tuple(Buffers)),
        "in_place": Axis(question="What does one buffer instead of two save?", order=(False, True)),
        "form": Axis(question="What does the form of the call change?", order=tuple(Form)),
        "company": Axis(
            question="What do groups of ranks that communicate at once cost each other?", order=tuple(Company)
        ),
        "backend": Axis(
            question="Which software is faster?", follow=("in_place", "thread_level", "form", "tier", "fabric")
        ),
    },
)
"""Columns of a series along which a run may hold comparable cases."""

CONTRAST: dict[str, Column] = {
    "axis": Column(kind="str", meaning="column in which the two differ"),
    "base": Column(kind="str", meaning="its value for the one that is compared with"),
    "other": Column(kind="str", meaning="its value for the other"),
    "base_seconds": Column(kind="float64", unit="s", meaning="geometric mean over launches of T of the one"),
    "other_seconds": Column(kind="float64", unit="s", meaning="the same of the other"),
    "ratio": Column(kind="float64", meaning="T of the other over T of the one"),
    "ratio_lower": Column(kind="float64", meaning="lower end of its 95 % interval over launches; NaN for one launch"),
    "ratio_upper": Column(kind="float64", meaning="upper end"),
    "contrast_launches": Column(kind="int64", meaning="launches of the side that has fewer"),
    "paired": Column(kind="bool", meaning="whether each launch measured both"),
    "differs": Column(kind="str", meaning="what else differs, in words"),
}
"""The columns of :func:`contrasts` beside those of the compared series and its size."""

WORDS = {"in_place": {False: "out of place", True: "in place"}}


def value_words(column: str, value: object) -> str:
    """Return a value of a column of a series in words."""
    return WORDS.get(column, {}).get(value, str(value))  # type: ignore[call-overload,no-any-return]


def contrasts(table: pd.DataFrame, *, include_unstable: bool = False) -> pd.DataFrame:
    """Return a row for each pair of cases of one size that differ along one axis only.

    Parameters
    ----------
    table : DataFrame
        Measurements, as :func:`collmark.analysis.points.measured` returns them.
    include_unstable : bool
        Take unstable records too.
    """
    rows = table[is_usable(table, include_unstable=include_unstable)]
    found = [{**pair, "axis": name} for name, axis in AXES.items() for pair in _along(name, axis, rows)]
    kinds = {name: column.kind for name, column in CONTRAST.items()}
    return pd.DataFrame(found, columns=[*SERIES, "nbytes", "case", *CONTRAST]).astype(kinds)


def _along(name: str, axis: Axis, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    same = [column for column in SERIES if column != name and column not in axis.follow]
    # Most runs vary nothing along most axes: what has no other side is not looked at one by one.
    has_several = rows.groupby([*same, "nbytes"], sort=False)[name].transform("nunique") > 1
    for _key, group in rows[has_several].groupby([*same, "nbytes"], sort=False):
        values = sorted(group[name].unique(), key=lambda value: _position(axis, value))
        sides = [group[group[name] == value] for value in values]
        for other in sides[1:]:
            base, nearest = _nearest(sides[0], other, axis.follow)
            yield _pair(name, axis, base, nearest)


def _position(axis: Axis, value: object) -> tuple[int, str]:
    return axis.order.index(value) if value in axis.order else len(axis.order), str(value)


def _nearest(base: pd.DataFrame, other: pd.DataFrame, follow: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the two cases that differ in the fewest of the columns which may."""
    ones, twos = ([case for _key, case in side.groupby("case", sort=False)] for side in (base, other))
    choices = [(one, two) for one in ones for two in twos]
    return min(choices, key=lambda pair: len(_differences(pair[0], pair[1], follow)))


def _differences(base: pd.DataFrame, other: pd.DataFrame, follow: tuple[str, ...]) -> list[str]:
    pairs = [[value_words(name, side[name].iloc[0]) or "-" for side in (base, other)] for name in follow]
    return [f"{one} against {two}" for one, two in pairs if one != two]


def _pair(name: str, axis: Axis, base: pd.DataFrame, other: pd.DataFrame) -> dict[str, Any]:
    one, two = (side.set_index("launch")["seconds"] for side in (base, other))
    shared = one.index.intersection(two.index)
    is_paired = len(shared) > 0 and shared.is_unique
    if is_paired:
        one, two = one[shared], two[shared]
        estimate = log_t_interval((two / one).to_numpy())
    else:
        estimate = ratio(two.to_numpy(), one.to_numpy())
    first = base.iloc[0]
    means = [float(np.exp(np.log(side).mean())) for side in (one, two)]
    return {
        **{column: first[column] for column in (*SERIES, "nbytes", "case")},
        "base": value_words(name, first[name]),
        "other": value_words(name, other[name].iloc[0]),
        "base_seconds": means[0],
        "other_seconds": means[1],
        "ratio": means[1] / means[0],
        "ratio_lower": estimate.lower if estimate else np.nan,
        "ratio_upper": estimate.upper if estimate else np.nan,
        "contrast_launches": min(len(one), len(two)),
        "paired": is_paired,
        "differs": "; ".join(_differences(base, other, axis.follow)),
    }
