"""Bus bandwidth, time and algorithm bandwidth against size: how fast, and limited by what."""

from __future__ import annotations

import msgspec

from collmark.analysis.report.content import Section
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture

ANCHOR = "curves"
NUMBERS = "cases"
VIEWS = {"bandwidth": ("busbw", 12), "times": ("time", 12), "algorithm-bandwidth": ("algbw", 12)}
"""Figures, what each is called as a view of the same curves, and how many of its panels are drawn at most."""


def curves(material: Material) -> Section | None:
    """Return the views of the curves; None where nothing has a size."""
    rows = material.drawn[material.drawn["nbytes"] > 0]
    drawings = ((view, picture(name, rows, NUMBERS, most=most)) for name, (view, most) in VIEWS.items())
    blocks = tuple(msgspec.structs.replace(one, view=view) for view, one in drawings if one is not None)
    if not blocks:
        return None
    return Section(anchor=ANCHOR, title="Curves", question="How fast, and is it latency or bandwidth?", blocks=blocks)
