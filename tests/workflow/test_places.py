"""Runs are found by path, folder name, label or latest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collmark.core.errors import UsageError
from collmark.workflow.places import UnreadableRunWarning, find_run, new_run_path, results_root, run_folders


def test_root_is_the_option_then_the_variable_then_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLLMARK_RESULTS", raising=False)
    assert results_root() == Path("results")
    monkeypatch.setenv("COLLMARK_RESULTS", "/somewhere")
    assert results_root() == Path("/somewhere")
    assert results_root(Path("here")) == Path("here")


def test_new_path_is_free_and_carries_the_label(tmp_path: Path) -> None:
    first = new_run_path(tmp_path, "x")
    first.mkdir()
    assert first.name.endswith("-x")
    assert new_run_path(tmp_path, "x") != first


@pytest.mark.parametrize("label", ["a/b", "..", " ", "-x", "a" * 65, "é"])
def test_label_must_fit_a_file_name(tmp_path: Path, label: str) -> None:
    with pytest.raises(UsageError, match="label"):
        new_run_path(tmp_path, label)


def test_run_is_found_by_every_name(simulate: Callable[..., Any], tmp_path: Path) -> None:
    root = tmp_path / "results"
    one, two = simulate(label="one", launches="1"), simulate(label="two", launches="1")
    for name in (str(one.path), one.path.name, "one"):
        assert find_run(name, root).path == one.path
    assert find_run("latest", root).path.name in (one.path.name, two.path.name)
    assert len(list(run_folders(root))) == 2


def test_last_of_two_runs_with_one_label_is_taken(simulate: Callable[..., Any], tmp_path: Path) -> None:
    _first, second = simulate(label="same", launches="1"), simulate(label="same", launches="1")
    assert find_run("same", tmp_path / "results").path.name == second.path.name


def test_folder_that_is_no_run_hides_no_label(
    simulate: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = simulate(label="demo", launches="1")
    monkeypatch.chdir(tmp_path)
    for parent in (tmp_path, tmp_path / "results"):
        (parent / "demo").mkdir()
    assert find_run("demo").path.name == made.path.name


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_no_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="the name of a run is empty"):
        find_run(name, tmp_path)


def test_a_file_holds_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    monkeypatch.setenv("COLLMARK_RESULTS", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"file is no folder of runs but a file.*COLLMARK_RESULTS"):
        list(run_folders(results_root()))
    with pytest.raises(UsageError, match="no folder of runs"):
        find_run("latest")
    assert list(run_folders(tmp_path / "nowhere")) == []


def test_a_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("a page", encoding="utf-8")
    with pytest.raises(UsageError, match=r"report\.html is a file: a run is a folder that holds run\.json"):
        find_run(str(tmp_path / "report.html"), tmp_path)


def test_unknown_run_names_the_nearest(simulate: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is none under"):
        find_run("laptop", tmp_path / "results")
    simulate(label="laptop", launches="1")
    with pytest.raises(UsageError, match="did you mean 'laptop'"):
        find_run("laptp", tmp_path / "results")


def test_what_is_no_run_is_passed_over(simulate: Callable[..., Any], tmp_path: Path) -> None:
    simulate(label="good", launches="1")
    (tmp_path / "results" / "folder").mkdir()
    broken = tmp_path / "results" / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{", encoding="utf-8")
    with pytest.warns(UnreadableRunWarning, match=r"passed over: .*broken/run\.json: "):
        assert [run.label for _folder, run in run_folders(tmp_path / "results")] == ["good"]
