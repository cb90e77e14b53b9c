"""Which panel a record is drawn in, what its curve is called there, and in which colour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
import pandas as pd

from collmark.analysis.columns import SERIES, Series
from collmark.analysis.figures.palette import swatch_of
from collmark.core.errors import one_line
from collmark.core.operation_table import OPERATIONS

MOST_CURVES = 4
"""In one panel; more are drawn in panels of their own."""
SEPARATOR = ", "
SPLIT_FIRST = (
    "run", "backend", "device", "placement", "dtype", "reduction", "traffic", "cadence", "in_place", "buffers",
    "form", "thread_level", "groups", "company", "group", "scheduling", "binding", "directions", "window", "root",
    "estimand", "marker", "origin", "tier", "fabric",
)  # fmt: skip
"""The columns of a series in the order in which panels are split by them."""
_STAMP = re.compile(r"^\d{8}T\d{6}Z-")


def placed(table: pd.DataFrame, most_curves: int = MOST_CURVES) -> pd.DataFrame:
    """Return a table with the columns of :data:`collmark.analysis.figures.drawn.OF_PLACE`, by operation.

    Parameters
    ----------
    table : DataFrame
        With the columns of a series.
    most_curves : int
        In one panel. Curves that look the same never share one.
    """
    series = table[list(SERIES)].drop_duplicates().reset_index(drop=True)
    names = run_names(series["run"].unique())
    telling = _telling(series)
    looks = [(_swatch(one, list(names)), one["backend"]) for one in series.to_dict("records")]
    split = _split(series.assign(look=looks), telling, most_curves)
    beside = [name for name in telling if name not in split]  # what a panel's title says, its labels need not
    # Of an operation with one estimand its name would say nothing.
    several = series.groupby("operation")["estimand"].transform("nunique") > 1
    said = series.assign(estimand=series["estimand"].where(several, ""))
    rows = [
        {
            "panel": SEPARATOR.join([one["operation"], *_words(one, split, names)]),
            "curve": SEPARATOR.join(dict.fromkeys([*_words(one, beside, names), tier_words(one)])),
            "series": SEPARATOR.join(dict.fromkeys([*_words(one, telling, names), tier_words(one)])),
            "swatch": swatch,
        }
        for one, (swatch, _backend) in zip(said.to_dict("records"), looks, strict=True)
    ]
    places = series.join(pd.DataFrame(rows, columns=["panel", "curve", "series", "swatch"]))
    joined = table.merge(places, on=list(SERIES), how="left", validate="many_to_one").assign(shown=True)
    order = {name: position for position, name in enumerate(OPERATIONS.names())}
    joined["order"] = joined["operation"].map(order)
    return joined.sort_values(["groups", "order"], kind="stable").drop(columns="order").reset_index(drop=True)


def series_names(series: Iterable[Series]) -> dict[Series, str]:
    """Return what each of some series is called: its operation, and what tells it from others of that operation."""
    told = list(dict.fromkeys(series))
    rows = [msgspec.structs.asdict(one) for one in told]
    table = pd.DataFrame(rows, columns=list(SERIES))
    names, telling = run_names(table["run"].unique()), _telling(table)
    tiers = {"tier", "fabric"} & set(telling)
    return {
        one: " ".join([one.operation, *_words(row, telling, names), *([one.tier_words] if tiers else [])])
        for one, row in zip(told, rows, strict=True)
    }


def _telling(series: pd.DataFrame) -> list[str]:
    """Return the fewest columns that tell the series of one operation apart, in the order in which panels split."""
    telling: list[str] = []
    kinds = series["operation"].nunique()
    for name in SPLIT_FIRST:
        told = len(series.drop_duplicates(["operation", *telling, name]))
        if told > kinds:
            telling.append(name)
            kinds = told
    return telling


def _split(series: pd.DataFrame, telling: list[str], most_curves: int) -> list[str]:
    """Return the columns by which panels are split until no panel holds too many curves, or two of one look.

    Runs stay side by side in a panel where the other columns suffice.
    """
    others = [name for name in telling if name != "run"]
    for split in (names[:count] for names in (others, telling) for count in range(len(names) + 1)):
        panels = series.groupby(["operation", *split], sort=False)["look"]
        if series.empty or (panels.size().max() <= most_curves and (panels.nunique() == panels.size()).all()):
            return split
    return telling


def panels(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the title of each panel, and the table with only that panel shown: the others still set the limits."""
    for panel in table["panel"].unique():
        yield panel, table.assign(shown=table["panel"] == panel)


def run_names(runs: Iterable[object]) -> dict[str, str]:
    """Return short names of runs: without the time stamp where the rest tells them apart.

    Examples
    --------
    >>> run_names(["20300101T000000Z-before", "20300102T000000Z-after"])
    {'20300101T000000Z-before': 'before', '20300102T000000Z-after': 'after'}
    >>> run_names(["20300101T000000Z-demo", "20300102T000000Z-demo"])
    {'20300101T000000Z-demo': '20300101T000000Z-demo', '20300102T000000Z-demo': '20300102T000000Z-demo'}
    """
    full = [str(run) for run in runs]
    short = [_STAMP.sub("", run) for run in full]
    return dict(zip(full, short if len(set(short)) == len(full) else full, strict=True))


def tier_words(one: dict[str, str]) -> str:
    """Return tier and fabric as people address them."""
    return f"{one['tier']}:{one['fabric']}" if one["fabric"] else one["tier"]


def _words(one: dict[str, object], columns: list[str], names: dict[str, str]) -> list[str]:
    """Return what tells a series apart, a word a column; tier and fabric are said elsewhere."""
    said = {
        "run": lambda: names[str(one["run"])],
        "in_place": lambda: "in place" if one["in_place"] else "out of place",
        "buffers": lambda: f"{one['buffers']} buffers" if one["buffers"] else "",
        "binding": lambda: f"bind {one['binding']}" if one["binding"] else "",
        "directions": lambda: f"{one['directions']} way{'' if one['directions'] == 1 else 's'}",
        "window": lambda: f"window {one['window']}",
        "groups": lambda: str(one["groups"]) or "one group",
        "group": lambda: f"group {one['group']}" if one["group"] else "",
        "root": lambda: f"root {one['root']}",
        "estimand": lambda: f"T is {one['estimand']}" if one["estimand"] else "",
        "marker": lambda: str(one["marker"]) or "measured",
    }
    words = (str(said.get(name, lambda name=name: one[name])()) for name in columns if name not in {"tier", "fabric"})
    return [one_line(word) for word in words if word]


def _swatch(one: dict[str, str], runs: list[str]) -> str:
    if len(runs) == 2:
        return ("run-a", "run-b")[runs.index(one["run"])]
    return swatch_of(tier_words(one))
