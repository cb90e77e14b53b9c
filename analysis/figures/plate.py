"""A figure that leaves the report for a slide or a paper: title and caption on it, in light colours, as SVG and PNG.

Who gets the file gets no page around it: what was found, units, count and level, and the word SIMULATED stand inside.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from collmark.analysis.figures.palette import GROUND, MUTED, NAMED
from collmark.analysis.figures.sheet import SMALL, UNITS_PER_INCH, folded, themed
from collmark.analysis.figures.svg import to_svg
from collmark.core.errors import one_line

EDGE = 12.0
"""Free around title and caption, in units of the view box, as are all sizes here."""
TITLE = 13.0
NARROWEST, FEWEST = 4.0, 10
"""Width of a letter that no line is made of alone, and letters that a line has in any case."""
PIXELS = 3.0
"""Of a PNG for each unit: a panel of the usual width is 1200 pixels wide."""
RIM = 3.0
FONTS = "DejaVu Sans, Verdana, sans-serif"
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")


def plate(figure: Figure, name: str, title: str, caption: str) -> dict[str, bytes]:
    """Return a figure as files that stand alone, by their suffix; equal figures give equal bytes.

    Parameters
    ----------
    figure : Figure
        Drawn in the light colours of the palette; it grows by its title and its caption.
    name : str
        Prefix of identifiers in the SVG: letters, digits and dashes.
    title, caption : str
        What it says; what its marks are, with count and level.
    """
    title, caption = one_line(title), one_line(caption)
    _frame(figure, title, caption)
    return {".svg": _svg(figure, name, title, caption).encode(), ".png": _png(figure, title, caption)}


def _frame(figure: Figure, title: str, caption: str) -> None:
    """Put the title above all panels and the caption below; panels keep their size."""
    wide, high = (float(inches) * UNITS_PER_INCH for inches in figure.get_size_inches())
    there, room = list(figure.texts), wide - 3 * EDGE
    with themed():
        head = _fitted(figure, title, room, va="top", weight="bold", size=TITLE)
        foot = _fitted(figure, caption, room, va="bottom", size=SMALL, color=MUTED.light)
    above, below = (EDGE + float(text.get_window_extent().height) for text in (head, foot))
    tall = high + above + below
    figure.set_size_inches(wide / UNITS_PER_INCH, tall / UNITS_PER_INCH)
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((box.x0, (box.y0 * high + below) / tall, box.width, box.height * high / tall))
    for text in there:
        text.set_y((text.get_position()[1] * high + below) / tall)
    head.set_position((EDGE / wide, 1 - EDGE / 2 / tall))
    foot.set_position((EDGE / wide, EDGE / 2 / tall))


def _fitted(figure: Figure, words: str, room: float, **style: Any) -> Text:  # noqa: ANN401 - as matplotlib has it
    """Return words on lines of the most letters that are no wider than there is room."""
    text = figure.text(0, 0, "", **style)
    letters = int(room / NARROWEST)
    text.set_text(folded(words, letters))
    while letters > FEWEST and text.get_window_extent().width > room:
        letters -= 1 + letters // 20
        text.set_text(folded(words, letters))
    return text


def _svg(figure: Figure, name: str, title: str, caption: str) -> str:
    """Return a whole SVG file: what the page's style sheet says of a picture stands in its attributes."""
    root = ET.fromstring(to_svg(figure, name, title))  # noqa: S314 - written by us a call ago
    for element in root.iter():
        for key in element.attrib.keys() & {"fill", "stroke"}:
            element.attrib[key] = _VARIABLE.sub(lambda match: NAMED[match[1]].light, element.attrib[key])
        if element.attrib.pop("class", None) == "halo":  # a label with a rim
            element.attrib |= {"stroke": GROUND.light, "stroke-width": f"{RIM:g}", "paint-order": "stroke"}
        if "href" in element.attrib:
            element.attrib["xlink:href"] = element.attrib["href"]  # the only one that older programs read
    _left, _top, wide, high = root.attrib["viewBox"].split()
    root.attrib |= {
        "xmlns": "http://www.w3.org/2000/svg",
        "xmlns:xlink": "http://www.w3.org/1999/xlink",
        "width": wide,
        "height": high,
        "font-family": FONTS,
    }
    for tag, words in (("desc", caption), ("title", title)):
        said = ET.Element(tag)
        said.text = words
        root.insert(0, said)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _png(figure: Figure, title: str, caption: str) -> bytes:
    for text in figure.findobj(_has_rim):
        text.set_path_effects([withStroke(linewidth=RIM, foreground=GROUND.light)])
    stream = io.BytesIO()
    said = {"Title": title, "Description": caption, "Software": None}
    with themed():
        figure.savefig(stream, format="png", dpi=UNITS_PER_INCH * PIXELS, metadata=said)
    return stream.getvalue()


def _has_rim(artist: Artist) -> bool:
    return isinstance(artist, Text) and (artist.get_gid() or "").startswith("halo")
