"""Completion in bash, zsh and fish: operations, backends and runs, from a program that loads no heavy library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture.test_help import HEAVY, PROGRAM
from tests.cli.conftest import Cli

from collmark.bench.backends.index import BACKENDS
from collmark.core.operation_table import OPERATIONS

pytestmark = pytest.mark.manner(21)

RUN = "20300101T000000Z-upgrade"


def asked(shell: str, line: str) -> dict[str, str]:
    """Return the variables by which a shell asks what may stand at the end of a line."""
    if shell == "bash":
        words = line.split(" ")
        return {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_COLLMARK_COMPLETE": "complete_bash"}
    more = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"} if shell == "fish" else {}
    return {"_TYPER_COMPLETE_ARGS": line, "_COLLMARK_COMPLETE": f"complete_{shell}", **more}


def offered(cli: Cli, line: str, monkeypatch: pytest.MonkeyPatch, shell: str = "bash") -> list[str]:
    with monkeypatch.context() as patch:
        for name, value in asked(shell, line).items():
            patch.setenv(name, value)
        out = cli().out
    if shell == "zsh":
        return [word.strip('"').partition('":"')[0] for word in out.partition("((")[2].partition("))")[0].splitlines()]
    return [word.partition("\t")[0] for word in out.splitlines() if word]


@pytest.fixture
def runs(measured: str, workplace: Path) -> list[str]:
    """Return what names the runs that lie in the folder of results: one has a label of its own."""
    target = workplace / "results" / RUN
    shutil.copytree(measured, target)
    run = json.loads((target / "run.json").read_text(encoding="utf-8"))
    (target / "run.json").write_text(json.dumps(run | {"label": "upgrade"}), encoding="utf-8")
    return ["latest", "upgrade", "small", RUN, Path(measured).name]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_operations_backends_and_runs_are_offered(
    cli: Cli, runs: list[str], shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(cli, "collmark run --operation ", monkeypatch, shell) == [*OPERATIONS]
    assert offered(cli, "collmark plan --backend ", monkeypatch, shell) == [*BACKENDS]
    assert offered(cli, "collmark report ", monkeypatch, shell) == runs
    assert offered(cli, "collmark re", monkeypatch, shell) == ["report"]


def test_the_last_of_several_names_is_completed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered(cli, "collmark run --operation barrier,all_r", monkeypatch) == ["barrier,all_reduce"]
    assert "barrier,barrier" not in offered(cli, "collmark run --operation barrier,", monkeypatch)


@pytest.mark.parametrize("line", ["list ", "export ", "fit ", "compare ", "history ", "run --resume "])
def test_runs_are_offered_wherever_one_is_named(
    cli: Cli, runs: list[str], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(cli, f"collmark {line}", monkeypatch) == runs
    assert offered(cli, f"collmark {line}up", monkeypatch) == ["upgrade"]


def test_claims_offers_ids_and_runs(cli: Cli, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(cli, "collmark claims ", monkeypatch)
    assert "gap-18x" in found
    assert set(runs) < set(found)


def test_runs_are_those_of_the_folder_that_was_named(
    cli: Cli, runs: list[str], workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runs
    (workplace / "empty").mkdir()
    assert offered(cli, "collmark list --output empty ", monkeypatch) == ["latest"]
    (workplace / "collmark.toml").write_text("nonsense", encoding="utf-8")
    assert offered(cli, "collmark list ", monkeypatch) == [], "the command says what is wrong, and not the shell"


def test_nothing_heavy_is_loaded(runs: list[str]) -> None:
    assert runs
    for line in ("collmark run --backend ", "collmark report "):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | asked("bash", line),
            capture_output=True,
            text=True,
            check=True,
        )
        said = json.loads(done.stderr.splitlines()[-1])
        assert done.stdout.splitlines(), line
        assert not HEAVY & {name.partition(".")[0] for name in said["modules"]}
