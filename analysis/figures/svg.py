"""A Figure as SVG text for a page, or as PNG: equal figures give equal bytes.

The SVG of matplotlib is rewritten: attributes in place of styles (a page may forbid those), CSS variables in place of
colours, short numbers, no identifiers but those that are used, and nothing that points out of the page.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from matplotlib.figure import Figure

from collmark.analysis.figures.palette import VARIABLES
from collmark.analysis.figures.series import TAG
from collmark.analysis.figures.sheet import themed
from collmark.core.errors import one_line

_NAMESPACE = re.compile(r"\{[^}]*\}")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DROPPED = {"metadata", "style"}
_DEFAULTS = {
    "stroke-linejoin": "round",
    "stroke-linecap": "butt",
    "opacity": "1",
    "fill-opacity": "1",
    "stroke-opacity": "1",
    "stroke-dashoffset": "0",
    "text-anchor": "start",
}
_SHARED = (
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "fill-opacity", "stroke-opacity",
    "font-size", "text-anchor", "clip-path",
)  # fmt: skip
"""What a group may say for all of its members."""
_RECTANGLE = re.compile(r"M(\S+) (\S+)L(\S+) \2L\3 (\S+)L\1 \4(?:L\1 \2)?z?")
_HALO = "halo"
_NOTHING: dict[str, str | None] = {"Date": None, "Creator": None, "Format": None, "Type": None}


def to_png(figure: Figure, scale: float = 2.0) -> bytes:
    """Return a figure as PNG, in the light colours, `scale` pixels for each unit of its view box."""
    stream = io.BytesIO()
    with themed():
        figure.savefig(stream, format="png", dpi=figure.dpi * scale, metadata={"Software": None})
    return stream.getvalue()


def to_svg(figure: Figure, name: str, label: str) -> str:
    """Return a figure as an ``<svg>`` element.

    Parameters
    ----------
    figure : Figure
        Drawn in the light colours of the palette.
    name : str
        Prefix of identifiers, unique on the page; letters, digits and dashes.
    label : str
        What the picture shows, for those who cannot see it.
    """
    stream = io.StringIO()
    with themed():
        import matplotlib as mpl

        mpl.rcParams["svg.hashsalt"] = "collmark"
        figure.savefig(stream, format="svg", metadata=_NOTHING)
    root = ET.fromstring(stream.getvalue())  # noqa: S314 - written by matplotlib a line ago
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
        element.attrib = dict(_attributes(element))
        element.text, element.tail = (element.text or "").strip() or None, None
    _hoist(root)  # before groups that say nothing are dropped
    _prune(root)
    _rename(root, name)
    box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "role": "img", "aria-label": one_line(label), "stroke-linejoin": "round"})
    return ET.tostring(root, encoding="unicode")


def _attributes(element: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an element as a page can take them."""
    given = {_NAMESPACE.sub("", key): value for key, value in element.attrib.items()}
    for part in given.pop("style", "").split(";"):
        key, _, value = part.partition(":")
        key, value = key.strip(), value.strip()
        if key and key != "font-family" and _DEFAULTS.get(key) != value:
            given[key] = value.removesuffix("px") if key == "font-size" else value
    for key, value in given.items():
        if key == "id" and (meant := dict(_meant(value))):
            yield from meant.items()
        elif key == "transform" and value.startswith("rotate(-0 "):
            continue
        else:
            yield key, VARIABLES.get(value.lower()) or _shortened(key, value)


def _meant(name: str) -> Iterator[tuple[str, str]]:
    """Yield what the name of a group says of it: a rim around its letters, the series that it belongs to."""
    for word in name.split():
        if word.startswith(_HALO):
            yield "class", _HALO
        elif word.startswith(TAG):
            yield "data-s", word.removeprefix(TAG)


def _shortened(key: str, value: str) -> str:
    if key in {"id", "href", "clip-path"}:
        return value
    digits = 1 if key in {"d", "x", "y", "width", "height", "transform"} else 2

    def short(match: re.Match[str]) -> str:
        number = f"{float(match[0]):.{digits}f}".rstrip("0").rstrip(".")
        return "0" if number == "-0" else number

    text = _NUMBER.sub(short, value)
    if key != "d":
        return text
    path = re.sub(r"\s*([MLCQzZ])\s*", r"\1", text).replace("\n", " ").strip()
    return _RECTANGLE.sub(r"M\1 \2H\3V\4H\1z", path)


def _prune(element: ET.Element) -> None:
    """Drop what a page has no use for, and groups that say nothing."""
    kept: list[ET.Element] = []
    for child in element:
        _prune(child)
        if child.tag in _DROPPED or (child.tag in {"g", "defs"} and not len(child)):
            continue
        is_plain = child.tag == "g" and not set(child.attrib) - {"id"}
        kept.extend(child if is_plain else [child])
    element[:] = kept


def _rename(root: ET.Element, name: str) -> None:
    """Give identifiers that are used names that are unique on the page, and drop the others."""
    used: dict[str, str] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            found = [value[1:]] if key == "href" else _REFERENCE.findall(value)
            for old in found:
                used.setdefault(old, f"{name}-{len(used)}")
    for element in root.iter():
        old = element.attrib.pop("id", None)
        if old in used:
            element.attrib["id"] = used[old]
        for key, value in element.attrib.items():
            if key == "href":
                element.attrib[key] = f"#{used[value[1:]]}"
            else:
                element.attrib[key] = _REFERENCE.sub(lambda match: f"url(#{used[match[1]]})", value)


def _hoist(element: ET.Element) -> None:
    """Say once, on the group, what all its members say."""
    for child in element:
        _hoist(child)
    if element.tag != "g" or len(element) < 2:
        return
    for key in _SHARED:
        values = {child.attrib.get(key) for child in element}
        value = next(iter(values))
        if len(values) == 1 and value is not None and key not in element.attrib:
            element.attrib[key] = value
            for child in element:
                del child.attrib[key]
