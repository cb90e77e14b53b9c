"""An empty figure of panels: sizes, margins, letters. Nothing here touches pyplot or a display."""

from __future__ import annotations

import contextlib
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures.palette import AXIS, GRID, GROUND, INK, MUTED
from collmark.core.errors import one_line

UNITS_PER_INCH = 72.0
"""Of an SVG's view box; one is about a CSS pixel where a panel is shown at its own size."""
PANEL = (400.0, 290.0)
MARGINS = {"left": 62.0, "right": 24.0, "top": 26.0, "bottom": 42.0}
ACROSS = 3
SMALL, NORMAL = 10.0, 11.0
LINE = 14.0
"""Height of a further line of a title, in units of the view box."""
MOST_LETTERS = 38
"""Of one line above or in a panel of the usual width: what is longer goes on in the next."""

THEME: dict[str, Any] = {
    **sns.axes_style("whitegrid"),
    "font.size": NORMAL,
    "axes.labelsize": NORMAL,
    "axes.titlesize": 12.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # or matplotlib measures all letters to find a place for it
    "axes.edgecolor": AXIS.light,
    "axes.facecolor": GROUND.light,
    "axes.labelcolor": MUTED.light,
    "axes.titlecolor": INK.light,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": GROUND.light,
    "font.family": ["DejaVu Sans"],
    "grid.color": GRID.light,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "text.color": INK.light,
    "text.parse_math": False,
    "xtick.color": MUTED.light,
    "ytick.color": MUTED.light,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "svg.fonttype": "none",
}
"""The look. DejaVu Sans comes with matplotlib and is wide: what fits in it fits in a browser's letters too."""


@contextlib.contextmanager
def themed() -> Iterator[None]:
    """Draw in the theme, whatever the user's own matplotlib settings are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # Letters that DejaVu lacks are there in the browser: the SVG keeps text as text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcdefaults()
        mpl.rcParams.update(THEME)  # type: ignore[arg-type]  # its keys are literals since 3.11
        yield


def sheet(titles: Sequence[str], size: tuple[float, float] = PANEL, **margins: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each title, at most three beside each other.

    Parameters
    ----------
    titles : sequence of str
        Of the panels, folded where they are long; what cannot be printed is shown as an escape.
    size : (float, float)
        Width and height of one panel, in units of the view box.
    **margins : float
        left, right, top, bottom of a panel, where they differ from the usual.
    """
    across = max(1, min(ACROSS, len(titles)))
    down = max(1, math.ceil(len(titles) / across))
    folded_titles = [folded(title) for title in titles]
    lines = max((title.count("\n") for title in folded_titles), default=0)
    wide, high = size[0], size[1] + LINE * lines
    figure = Figure(figsize=(across * wide / UNITS_PER_INCH, down * high / UNITS_PER_INCH), dpi=UNITS_PER_INCH)
    edge = MARGINS | margins
    edge["top"] += LINE * lines
    axes = []
    for position, title in enumerate(folded_titles):
        column, row = position % across, position // across
        left = (column * wide + edge["left"]) / (across * wide)
        bottom = 1 - ((row + 1) * high - edge["bottom"]) / (down * high)
        width = (wide - edge["left"] - edge["right"]) / (across * wide)
        height = (high - edge["top"] - edge["bottom"]) / (down * high)
        panel = figure.add_axes((left, bottom, width, height))
        panel.set_title(title, pad=8.0, linespacing=1.1)
        # At the same place whatever the numbers beside it are.
        panel.yaxis.set_label_coords((16.0 - edge["left"]) / (wide - edge["left"] - edge["right"]), 0.5)
        axes.append(panel)
    return figure, axes


def folded(text: str, letters: int = MOST_LETTERS) -> str:
    """Return words on lines of so many letters at most; none is lost, and long ones are broken."""
    return "\n".join(textwrap.wrap(one_line(text), letters, break_on_hyphens=False))


def height_of(panel: Axes) -> float:
    """Return the height of a panel in units of the view box."""
    figure = panel.get_figure(root=True)
    assert figure is not None
    return float(panel.get_position().height * figure.get_size_inches()[1] * UNITS_PER_INCH)


def blank(words: str) -> Figure:
    """Return a figure that says why nothing is drawn."""
    figure = Figure(figsize=(PANEL[0] / UNITS_PER_INCH, 0.8), dpi=UNITS_PER_INCH)
    figure.text(0.02, 0.5, one_line(words), va="center", color=MUTED.light)
    return figure
