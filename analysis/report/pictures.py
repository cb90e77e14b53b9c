"""Pictures of the index as content: drawn panel by panel, so that they find their places on any screen and sheet."""

from __future__ import annotations

from functools import partial

import pandas as pd

from collmark.analysis.figures.index import FIGURES
from collmark.analysis.figures.marks import readouts
from collmark.analysis.figures.place import panels
from collmark.analysis.figures.svg import to_svg
from collmark.analysis.report.content import Drawing, Panel

MOST_PANELS = 12
"""Of one picture; the table beside it holds the rest."""


def picture(name: str, table: pd.DataFrame, numbers: str, anchor: str = "", most: int = MOST_PANELS) -> Drawing | None:
    """Return a figure of the index, drawn; None where it has nothing to show.

    Parameters
    ----------
    name : str
        Of the index.
    table : DataFrame
        What it draws from.
    numbers : str
        Anchor of the table that holds the same numbers.
    anchor : str
        Its own, where it is not figure- and its name.
    most : int
        Panels that are drawn at most.
    """
    row = FIGURES[name]
    shown = table[table["shown"]]
    if shown.empty:
        return None
    table = table[list(row.needs)]
    markers = sorted(shown["marker"].unique())
    said = " ".join([*(["partly"] if "" in markers else []), *filter(None, markers)]) if any(markers) else ""
    title, anchor = f"{said}: {row.title(table)}" if said else row.title(table), anchor or f"figure-{name}"
    titles = list(shown["panel"].unique())
    drawn = []
    limiting = table[table["panel"].isin(titles)]
    for number, (panel, own) in enumerate(panels(limiting)):
        if number == most:
            break
        label = f"{panel}: {title}. The numbers stand in table {numbers}."
        figure = row.draw(own)
        drawn.append(Panel(svg=to_svg(figure, f"{anchor}-{number}", label), points=tuple(readouts(figure))))
    caption = row.caption(table)
    if len(titles) > most:
        caption += f" The first {most} of {len(titles)} panels; the table holds all."
    whole = partial(row.draw, limiting.assign(shown=limiting["panel"].isin(titles[:most])))
    return Drawing(anchor=anchor, title=title, caption=caption, panels=tuple(drawn), table=numbers, whole=whole)
