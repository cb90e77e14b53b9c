"""Runs to a report: read once, named apart, judged, written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.table import load_table
from collmark.analysis.models import solve
from collmark.analysis.report.write import Format
from collmark.core.errors import UsageError
from collmark.core.store import RECORDS_FILE, RunFolder
from collmark.workflow.fit import fit_runs, load_runs
from collmark.workflow.report import (
    FILE,
    default_file,
    main_findings,
    make_report,
    material_of,
    read_format,
)

Simulate = Callable[..., RunFolder]


def test_formats_are_read_from_names() -> None:
    assert read_format(None, None) is Format.HTML
    assert read_format(None, "x.md") is Format.MARKDOWN
    assert read_format("html", "x.md") is Format.HTML
    with pytest.raises(UsageError, match="did you mean 'html'"):
        read_format("htm", None)


def test_two_folders_of_one_name_stay_two_runs(simulate: Simulate, tmp_path: Path) -> None:
    first = simulate(sizes="64B:64KiB:x8").path
    second = tmp_path / "copies" / first.name
    shutil.copytree(first, second)
    results = load_runs([str(first), str(second), str(first)])
    assert [one.name for one in results] == [first.name, str(second)]
    report = make_report(results, Format.HTML)
    assert report.runs == (first.name, str(second))


def test_a_report_is_a_pure_function_of_its_runs(simulate: Simulate) -> None:
    folder = simulate(sizes="64B:64KiB:x8")
    first, second = (make_report(load_runs([str(folder.path)]), Format.HTML) for _ in range(2))
    assert first == second
    assert first.sentences == main_findings(load_runs([str(folder.path)]))
    assert first.sections[0] == "summary"
    assert "claims" in first.sections
    assert all(picture.startswith("SIMULATED") for picture in first.pictures)


def test_every_curve_is_fitted_once_and_judged_as_it_would_be_alone(
    simulate: Simulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = load_runs([str(simulate(sizes="64B:64KiB:x8").path)])
    watched = mock.Mock(side_effect=solve.solve)
    monkeypatch.setattr("collmark.analysis.models.fit.solve", watched)
    material = material_of(results)
    once = watched.call_count
    fit_runs(results)
    assert once == watched.call_count - once > 0
    table = load_table()
    assert list(material.findings) == judge(table.claims, table.rules, results)


def test_a_report_lies_with_its_first_run(simulate: Simulate) -> None:
    folder = simulate()
    assert default_file(load_runs([str(folder.path)])) == folder.path / FILE


def test_a_run_without_records_has_a_report(simulate: Simulate) -> None:
    folder = simulate()
    (folder.path / RECORDS_FILE).write_bytes(b"")
    for kind in Format:
        assert "Nothing was measured" in make_report(load_runs([str(folder.path)]), kind).text


def test_unstable_records_enter_when_asked(simulate: Simulate) -> None:
    results = load_runs([str(simulate("contaminated=0.2", sizes="64B:64KiB:x8", launches="3").path)])
    text = make_report(results, Format.MARKDOWN, include_unstable=True).text
    assert "unstable records entered the fits" in text
