"""Findings for machines: the same fields, in SI units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from collmark.analysis.claims.finding import Figure, Finding, Part
from collmark.analysis.claims.quantity import scale_of, si_unit


def in_si_units(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain objects by field name, every figure and band in SI units."""
    table: dict[str, Any] = msgspec.to_builtins(finding)
    table["parts"] = [_judged_object(part) for part in finding.parts]
    table["also"] = [_figure_object(figure) for figure in finding.also]
    return {**table, **_judged_object(finding, only=("found", "band"))}


def _judged_object(judged: Finding | Part, only: Sequence[str] = ()) -> dict[str, Any]:
    """Return a finding or a part of one, or some of its fields, with found and band in SI units."""
    table: dict[str, Any] = msgspec.to_builtins(judged)
    if judged.found is not None:
        table["found"] = _figure_object(judged.found)
        if judged.band is not None:
            table["band"] = [end * scale_of(judged.found.unit) for end in judged.band]
    return {name: value for name, value in table.items() if not only or name in only}


def _figure_object(figure: Figure) -> dict[str, Any]:
    table: dict[str, Any] = msgspec.to_builtins(figure)
    scale = scale_of(figure.unit)
    table["value"] *= scale
    table["unit"] = si_unit(figure.unit)
    if table["estimate"] is not None:
        for name in ("value", "lower", "upper"):
            table["estimate"][name] *= scale
    return table
