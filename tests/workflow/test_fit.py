"""Reading the runs that a user names: each once, and never two as one."""

import shutil
from pathlib import Path

import msgspec
import pytest
from tests.analysis.made import curve, results_of

from collmark.core.errors import UsageError
from collmark.core.store import RunFolder, Writer
from collmark.workflow.fit import fit_runs, load_runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a run of one curve."""
    results = results_of(curve(levels=[1.0, 1.1]))
    made = RunFolder.create(tmp_path / "a" / "run", results.run)
    writer = Writer(made, 1, 0)
    for record in results.records:
        writer.append(record, None)
    return made.path


def test_a_run_that_is_named_twice_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert [one.name for one in load_runs([str(folder), "."])] == ["run"]


def test_two_folders_of_one_name_are_two_runs(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "b" / "run"
    shutil.copytree(folder, other)
    results = load_runs([str(folder), str(other)])
    assert [one.name for one in results] == ["run", str(other)]
    fits = fit_runs(results)[0].fits
    assert [fit.launches for fit in fits] == [2, 2]
    first, second = (msgspec.structs.replace(fit, series=fits[0].series) for fit in fits)
    assert first == second


def test_a_run_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        load_runs([str(tmp_path / "nothing")])
