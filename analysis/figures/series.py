"""Which marks of a picture belong to which of its series, so that a page can hide and show one of them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures.palette import VARIABLES
from collmark.core.errors import one_line

TAG = "series-"
"""What the group identifiers of such marks begin with."""


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A series of a picture.

    Attributes
    ----------
    id : str
        As :func:`short_id` makes it of the name.
    name, colour : str
        As the picture calls it, and its colour as CSS.
    """

    id: str
    name: str
    colour: str


_DRAWN: WeakKeyDictionary[Axes, dict[str, Drawn]] = WeakKeyDictionary()


def short_id(name: str) -> str:
    """Return a short name of digits and letters that depends on nothing but `name`: links to a view hold it.

    Examples
    --------
    >>> short_id("isolated, loopback") == short_id("isolated, loopback"), len(short_id("</script>"))
    (True, 10)
    """
    return hashlib.blake2s(name.encode("utf-8", "backslashreplace"), digest_size=5).hexdigest()


@contextlib.contextmanager
def of_series(panel: Axes, name: str, shade: str = "") -> Iterator[None]:
    """Let all that is drawn on a panel meanwhile be of one series.

    Parameters
    ----------
    panel : Axes
        Where to.
    name : str
        Of the series.
    shade : str
        Its colour in the palette's light form, when it is named first.
    """
    one = short_id(name)
    colour = VARIABLES.get(shade.lower(), "var(--ink)")
    _DRAWN.setdefault(panel, {}).setdefault(one, Drawn(id=one, name=one_line(name), colour=colour))
    before = set(panel.get_children())
    yield
    for artist in panel.get_children():
        if artist not in before:
            artist.set_gid(f"{artist.get_gid() or ''} {TAG}{one}".strip())


def series_of(figure: Figure) -> list[Drawn]:
    """Return the series of a figure, in the order of drawing."""
    return list({one.id: one for panel in figure.axes for one in _DRAWN.get(panel, {}).values()}.values())
