"""The command line in this process: fast, and without a terminal."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collmark.cli.main import main
from collmark.core.plan import Plan
from collmark.workflow.interruption import StopSignals
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run

LAUNCHER_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        (thing,) = self.objects
        return thing

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The objects on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Result]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with nothing in the environment that speaks to collmark."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLLMARK_RESULTS", "COLUMNS", "NO_COLOR", *LAUNCHER_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return a function that runs the command line."""

    def run(*words: str, env: Mapping[str, str] | None = None) -> Result:
        for name, value in (env or {}).items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(words)
        said = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return Result(status=stop.value.code, out=said.out, err=said.err)

    return run


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a simulated run of two launches of three cases, to be copied."""
    plan = Plan(backends=("simulated",), operations=("all_reduce",), sizes="64B:4KiB:x8", launches=2)
    prepared = prepare(plan, ranks=2, oversubscribe=False, joined=None)
    folder = create_run(prepared, output=tmp_path_factory.mktemp("small"), label="small", command=["collmark"])
    sink = Sink(emit=lambda _event: None, on_fault=lambda _text: None)
    with StopSignals(lambda _number: None) as signals:
        carry_out(folder, sink, signals)
    return folder.path


@pytest.fixture
def measured(small_run: Path, workplace: Path) -> str:
    """Return the path of a small simulated run in the folder of results."""
    shutil.copytree(small_run, workplace / "results" / small_run.name)
    return f"results/{small_run.name}"
