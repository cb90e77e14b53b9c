"""The command line in this process: fast, and without a terminal."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.workflow.slurm_stub import SlurmStub

from collmark.cli.main import main
from collmark.core.doctor.finding import Diagnosis
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.workflow.demo import Demo
from collmark.workflow.doctor import Examination
from collmark.workflow.interruption import StopSignals
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run
from collmark.workflow.settings import KEYS, variable_of

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
    for name in ("COLUMNS", "NO_COLOR", *map(variable_of, KEYS), *LAUNCHER_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-settings"))
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


@pytest.fixture
def everything(measured: str, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay a place in which every command of :mod:`tests.cli.every` works; what would measure here is made up."""
    from tests.cli.test_compare import copy_of  # these import this module's types
    from tests.cli.test_import import nccl
    from tests.cli.test_noise import machine
    from tests.cli.test_slurm import CONFIG, LISTED, NODES

    place = Placement(ranks_per_node=2)
    small = Plan(backends=("simulated",), operations=("all_reduce",), sizes="64B,4KiB", launches=2, placements=(place,))
    demo = Demo(plan=small, oversubscribe=False, remarks=("made up",))
    diagnosis = Diagnosis(findings=[], good=["world"], unknown={})
    examination = Examination(backend="gloo", launcher="collmark", placement="1x2", diagnosis=diagnosis)
    monkeypatch.setattr("collmark.workflow.demo.make_demo", lambda **_named: demo)
    monkeypatch.setattr("collmark.workflow.doctor.examine", lambda *_words, **_named: examination)
    monkeypatch.setattr("collmark.workflow.noise.measure_machine", lambda *_words: machine(2))
    file = copy_of(measured, "20300101T000000Z-slower", 1.5) / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"label": "slower"}), encoding="utf-8")
    for copy in ("small-run", "one/run"):
        shutil.copytree(measured, workplace / copy)
    (workplace / "a100.log").write_text(nccl(20.0, 21.0, 24.0), encoding="utf-8")
    (workplace / "plan.toml").write_text('backends = ["simulated"]\nsizes = "64B"\nlaunches = 2\n', encoding="utf-8")
    (workplace / "site.toml").write_text("nodes = 4\ncpus_per_node = 2\n", encoding="utf-8")
    (workplace / "bin").mkdir()
    stub = SlurmStub(workplace / "bin")
    stub.answer(sinfo=NODES, srun=LISTED, scontrol=CONFIG)
    monkeypatch.setenv("PATH", stub.path)
    return workplace
