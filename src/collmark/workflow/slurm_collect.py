"""What jobs have measured to a report: fits, verdicts and one file for a browser beside one to paste."""

from __future__ import annotations

from pathlib import Path

import msgspec

from collmark.analysis.report.write import Format
from collmark.analysis.results import load
from collmark.bench.cluster.state import read_state, write_file
from collmark.core.errors import UsageError
from collmark.core.numeral import listed
from collmark.workflow.places import run_folders
from collmark.workflow.report import Report, material_of, report_of
from collmark.workflow.slurm_status import missing_launches


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What was collected.

    Attributes
    ----------
    report : Report
        The report, and what it says.
    files : tuple of str
        Where it lies.
    notices : tuple of str
        What is not there yet.
    """

    report: Report
    files: tuple[str, ...]
    notices: tuple[str, ...]


def collect(results: Path) -> Collected:
    """Fit, judge and report all runs of a folder of results.

    Raises
    ------
    UsageError
        If there is nothing to report on, or the report cannot be written.
    """
    runs = [one for one in (load(folder) for folder, _run in run_folders(results)) if one.records]
    if not runs:
        raise UsageError(f"{results}: no run with a record; collmark slurm status {results} tells how far the jobs are")
    material = material_of(runs)
    report, files = report_of(material, Format.HTML), []
    for name, text in (("report.html", report.text), ("report.md", report_of(material, Format.MARKDOWN).text)):
        write_file(results / name, text.encode())
        files.append(str(results / name))
    return Collected(report=report, files=tuple(files), notices=tuple(_missing(results)))


def _missing(results: Path) -> list[str]:
    """Return which placements lack launches, of those that were submitted."""
    state = read_state(results)
    wanted = {run: entry.launches for entry in (state.entries if state else ()) for run in entry.runs}
    lacking = {run: missing_launches(results / run, launches) for run, launches in wanted.items()}
    return [
        f"{run}: not all of launch {listed([*map(str, launches)])} is there; collmark slurm submit completes it"
        for run, launches in lacking.items()
        if launches
    ]
