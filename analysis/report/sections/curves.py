"""Bus bandwidth and time against size: how fast, and limited by what."""

from __future__ import annotations

from collmark.analysis.report.content import Section
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture

ANCHOR = "curves"
NUMBERS = "cases"
VIEWS = {"bandwidth": 24, "times": 12}
"""Figures, and how many of their panels are drawn at most."""


def curves(material: Material) -> Section | None:
    """Return both views of the curves; None where nothing has a size."""
    rows = material.drawn[material.drawn["nbytes"] > 0]
    drawings = (picture(name, rows, NUMBERS, most=most) for name, most in VIEWS.items())
    blocks = tuple(drawing for drawing in drawings if drawing is not None)
    if not blocks:
        return None
    return Section(anchor=ANCHOR, title="Curves", question="How fast, and is it latency or bandwidth?", blocks=blocks)
