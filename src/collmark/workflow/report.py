"""Runs to a report: read, fit, judge, write. Nothing here prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.table import load_table
from collmark.analysis.costs.nccl_tuning import system_of
from collmark.analysis.expected.system import named_systems
from collmark.analysis.figures.plate import plate
from collmark.analysis.report.content import Drawing
from collmark.analysis.report.index import sections_of
from collmark.analysis.report.material import Material, gather
from collmark.analysis.report.sentences import Sentences, sentences
from collmark.analysis.report.write import Format, write
from collmark.analysis.results import Results
from collmark.core.errors import UsageError, nearest

FILE = "report.html"
"""Name of a report that nobody named, in the folder of its first run."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report, and what it says.

    Attributes
    ----------
    text : str
        The file.
    kind : Format
        What it is written as.
    runs : tuple of str
        Names of the runs.
    sentences : Sentences
        What was found, how sure it is, what to do.
    sections : tuple of str
        Names of its sections, in their order.
    pictures : tuple of str
        What its pictures say.
    """

    text: str
    kind: Format
    runs: tuple[str, ...]
    sentences: Sentences
    sections: tuple[str, ...]
    pictures: tuple[str, ...]


def read_format(text: str | None, file: str | None) -> Format:
    """Return the format asked for, or that of the file's name.

    Raises
    ------
    UsageError
        If there is no such format.
    """
    if text is None:
        return Format.MARKDOWN if file is not None and file.endswith(".md") else Format.HTML
    if text in set(Format):
        return Format(text)
    close = nearest(text, [kind.value for kind in Format])
    hint = f" did you mean {close!r}?" if close else ""
    raise UsageError(f"unknown format {text!r};{hint} allowed: {', '.join(Format)}")


def is_summary(kind: Format) -> bool:
    """Whether a format is one to paste, and so belongs on stdout unless a file is named."""
    return kind is Format.MARKDOWN


def material_of(
    results: Sequence[Results], expect: Iterable[str] = (), *, include_unstable: bool = False, prior: str = ""
) -> Material:
    """Return what a report on some runs is made of, the verdicts on all claims among it; UsageError for no prior.

    Parameters
    ----------
    results : sequence of Results
        Runs of different names.
    expect : iterable of str
        Names of systems that were measured.
    include_unstable : bool
        Let unstable records enter.
    prior : str
        Name of a prior to set beside measurements; empty for none.
    """
    if prior:
        system_of(prior, gpus_per_node=2, nodes=1)  # its name is read before anything is worked out
    systems = named_systems(expect)
    table = load_table()
    material = gather(results, (), systems, include_unstable=include_unstable, prior=prior)
    findings = judge(
        table.claims,
        table.rules,
        results,
        include_unstable=include_unstable,
        fits=material.fits,
        table=material.table,
    )
    return msgspec.structs.replace(material, findings=tuple(findings))


def main_findings(results: Sequence[Results], *, include_unstable: bool = False) -> Sentences:
    """Return what was found in some runs, how sure it is and what to do, in sentences."""
    return sentences(material_of(results, include_unstable=include_unstable))


def make_report(
    results: Sequence[Results],
    kind: Format,
    expect: Iterable[str] = (),
    *,
    include_unstable: bool = False,
    prior: str = "",
) -> Report:
    """Return a report on some runs, set against the systems of some names, and beside a prior if one is named."""
    return report_of(material_of(results, expect, include_unstable=include_unstable, prior=prior), kind)


def report_of(material: Material, kind: Format) -> Report:
    """Return a report from what was worked out already: fits and findings can be had from there too."""
    sections = sections_of(material, ticket=is_summary(kind))
    pictures = [block.title for section in sections for block in section.blocks if isinstance(block, Drawing)]
    return Report(
        text=write(material, sections, kind),
        kind=kind,
        runs=tuple(one.name for one in material.results),
        sentences=sentences(material),
        sections=tuple(section.anchor for section in sections),
        pictures=tuple(pictures),
    )


def figures_of(material: Material) -> dict[str, bytes]:
    """Return every picture of the report as files for a slide or a paper, SVG and PNG, by name."""
    drawn = [block for section in sections_of(material) for block in section.blocks if isinstance(block, Drawing)]
    return {
        f"{one.anchor}{suffix}": data
        for one in drawn
        for suffix, data in plate(one.whole(), one.anchor, one.title, one.caption).items()
    }


def default_file(results: Sequence[Results]) -> Path:
    """Return where a report lies that nobody named: with the first of its runs."""
    folder = next(one.folder for one in results if one.folder is not None)
    return folder.path / FILE
