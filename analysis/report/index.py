"""The index of sections, in the order in which a report shows them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from collmark.analysis.report.content import Section
from collmark.analysis.report.material import Material
from collmark.analysis.report.sections.cases import cases
from collmark.analysis.report.sections.claims import claims
from collmark.analysis.report.sections.contrasts import side_by_side
from collmark.analysis.report.sections.curves import curves
from collmark.analysis.report.sections.environment import environment
from collmark.analysis.report.sections.expected import expected
from collmark.analysis.report.sections.first import first
from collmark.analysis.report.sections.fits import fits
from collmark.analysis.report.sections.history import history
from collmark.analysis.report.sections.pairs import pairs
from collmark.analysis.report.sections.prior import prior
from collmark.analysis.report.sections.ragged import ragged
from collmark.analysis.report.sections.ranks import ranks
from collmark.analysis.report.sections.runs import runs
from collmark.analysis.report.sections.stability import launches, tails
from collmark.analysis.report.sections.warnings import warnings
from collmark.analysis.report.sections.where import where
from collmark.analysis.report.sections.words import words
from collmark.core.registry import Registry


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One section of a report.

    Attributes
    ----------
    build : callable
        Material to a section, or to None where there is nothing to say.
    in_ticket : bool
        Whether the Markdown summary has it too.
    """

    build: Callable[[Material], Section | None]
    in_ticket: bool = False


SECTIONS = Registry(
    "section",
    [
        ("summary", Part(build=first, in_ticket=True)),
        ("where", Part(build=where, in_ticket=True)),
        ("runs", Part(build=runs, in_ticket=True)),
        ("history", Part(build=history)),
        ("curves", Part(build=curves)),
        ("fits", Part(build=fits, in_ticket=True)),
        ("prior", Part(build=prior)),
        ("expected", Part(build=expected, in_ticket=True)),
        ("contrasts", Part(build=side_by_side, in_ticket=True)),
        ("ragged", Part(build=ragged, in_ticket=True)),
        ("claims", Part(build=claims, in_ticket=True)),
        ("pairs", Part(build=pairs)),
        ("launches", Part(build=launches)),
        ("repetitions", Part(build=tails)),
        ("ranks", Part(build=ranks)),
        ("warnings", Part(build=warnings, in_ticket=True)),
        ("environment", Part(build=environment)),
        ("cases", Part(build=cases)),
        ("words", Part(build=words)),
    ],
)


def sections_of(material: Material, *, ticket: bool = False) -> list[Section]:
    """Return the sections that have something to say; of a ticket only those that belong there."""
    parts = [part for part in SECTIONS.values() if part.in_ticket or not ticket]
    return [section for part in parts if (section := part.build(material)) is not None]
