"""NCCL's own model, a prior, beside what was measured; only where it was asked for."""

from __future__ import annotations

from collmark.analysis.costs.nccl_tuning import WORDS
from collmark.analysis.costs.prior import with_prior
from collmark.analysis.figures.words import microseconds
from collmark.analysis.report.cells import name_heading, size_cell, size_heading
from collmark.analysis.report.content import Cell, Heading, Section, Table
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture

ANCHOR = "prior-table"


def prior(material: Material) -> Section | None:
    """Return the prior beside T; None where none was asked for, or it knows nothing of what was measured."""
    if not material.prior:
        return None
    table = with_prior(material.drawn, material.prior)
    drawing = picture("prior", table, ANCHOR)
    if drawing is None:
        return None
    cases = table.drop_duplicates(["panel", "curve", "case"])
    rows = tuple(
        (
            Cell(text=" ".join(filter(None, (one["panel"], one["curve"], one["marker"])))),
            size_cell(one["nbytes"]),
            Cell(text=microseconds(one["center"])),
            Cell(text=microseconds(one["prior_seconds"])),
            Cell(text=f"{one['center'] / one['prior_seconds']:.3g}"),
            Cell(text=one["prior_path"]),
        )
        for one in cases.to_dict("records")
    )
    numbers = Table(
        anchor=ANCHOR,
        caption=f"{WORDS}: {material.prior}, version 2.30.7. It ranks NCCL's algorithms and is no measurement.",
        headings=(
            name_heading("series"), size_heading(), Heading(name="T", unit="µs"),
            Heading(name="prior", unit="µs"), Heading(name="T/prior"), name_heading("it would choose"),
        ),
        rows=rows,
    )  # fmt: skip
    return Section(
        anchor="prior", title="A prior", question="What does NCCL itself reckon with?", blocks=(drawing, numbers)
    )
