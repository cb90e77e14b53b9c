"""Settings: option, plan, variable, the project's file, the user's file, default: who wins, for every key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

from collmark.cli.options import PLAN_OPTIONS
from collmark.core.plan_field import FIELDS
from collmark.workflow.planning import KNOBS, SIMULATE
from collmark.workflow.settings import KEYS, PREFIX, RANKS, RESULTS, variable_of

pytestmark = pytest.mark.manner(20)

VALUES: dict[str, tuple[str, str, str, str]] = {
    "operations": ("barrier", "all_reduce", "all_gather", "ping_pong"),
    "sizes": ("8B", "16B", "32B", "64B"),
    "dtypes": ("int8", "int32", "float64", "bfloat16"),
    "reductions": ("max", "min", "prod", "avg"),
    "backends": ("simulated", "mpi", "nccl", "gloo,mpi"),
    "traffic": ("zipf:1.0", "zipf:1.2", "zipf:2.0", "zipf:3.0"),
    "precision": ("1%", "2%", "3%", "4%"),
    "case_budget": ("3 s", "4 s", "5 s", "6 s"),
    "budget": ("1 min", "2 min", "3 min", "4 min"),
    "timeout": ("31 s", "32 s", "33 s", "34 s"),
    "launches": ("6", "7", "8", "auto"),
    "scheduling": ("fifo", "other", "fifo", "other"),
    "binding": ("cores", "none", "cores", "none"),
    "cadences": ("streaming", "isolated,streaming", "streaming", "isolated,streaming"),
    "buffers": ("rotated", "same,rotated", "rotated", "same,rotated"),
    "in_place": ("yes", "no", "no,yes", "yes"),
    "forms": ("persistent", "nonblocking", "persistent", "nonblocking"),
    "mpi_library": ("site", "environment", "/one", "/two"),
    "thread_level": ("single", "serialized", "multiple", "single"),
    "groups": ("blocked:2", "blocked:4", "strided:2", "node"),
    "messages": ("1", "2", "3", "4"),
    "batch": ("3", "4", "5", "6"),
    "samples": ("1KiB", "2KiB", "3KiB", "4KiB"),
    "seed": ("2", "3", "4", "5"),
    RANKS: ("3", "4", "5", "6"),
    RESULTS: ("one", "two", "three", "four"),
}
"""Of each key: what the user's file, the project's, the variable and the option say."""

OPTIONS = {knob.field: knob.option for knob in KNOBS} | {RANKS: "--ranks"}
"""Of each key; that of results is --output, which commands have that read or write runs."""


def test_every_option_of_a_plan_is_a_key_and_every_key_has_values() -> None:
    assert set(VALUES) == set(KEYS) == set(OPTIONS) | {RESULTS} == set(FIELDS) | {RANKS, RESULTS}
    assert set(OPTIONS.values()) == set(PLAN_OPTIONS.values()) - {SIMULATE} | {"--ranks"}


def user_file(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "config" / "collmark" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    return path


def explained(cli: Cli, key: str, *words: str) -> tuple[object, str]:
    """Return a key's value and source."""
    result = cli("plan", *words, "--explain", "--json")
    assert result.status == 0, result.err
    (row,) = [row for row in result.json["settings"] if row["key"] == key]
    return row["value"], row["source"]


def value_of(key: str, text: str) -> object:
    value, faults = KEYS[key].read(text)
    assert not faults
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("key", VALUES)
def test_precedence(cli: Cli, workplace: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_user, by_project, by_variable, by_option = VALUES[key]
    before, source = explained(cli, key)
    assert source == "default"
    path = user_file(workplace, f'{key} = "{by_user}"\n', monkeypatch)
    assert explained(cli, key) == (value_of(key, by_user), str(path))
    assert value_of(key, by_user) != before or key in {"scheduling", "binding"}
    (workplace / "collmark.toml").write_text(f'{key} = "{by_project}"\n', encoding="utf-8")
    assert explained(cli, key) == (value_of(key, by_project), "collmark.toml")
    monkeypatch.setenv(variable_of(key), by_variable)
    assert explained(cli, key) == (value_of(key, by_variable), variable_of(key))
    if key in FIELDS:
        (workplace / "plan.toml").write_text(f'{key} = "{by_user}"\n', encoding="utf-8")
        assert explained(cli, key, "plan.toml") == (value_of(key, by_user), "plan plan.toml")
    if key in OPTIONS:
        words = ("plan.toml",) if key in FIELDS else ()
        assert explained(cli, key, *words, OPTIONS[key], by_option) == (value_of(key, by_option), OPTIONS[key])
    monkeypatch.setenv(variable_of(key), "")
    assert explained(cli, key) == (value_of(key, by_project), "collmark.toml"), "an empty variable sets nothing"


def test_what_is_set_is_what_is_planned_run_and_found(cli: Cli, workplace: Path) -> None:
    (workplace / "collmark.toml").write_text(
        'backends = ["simulated"]\noperations = ["all_reduce"]\nsizes = "64B,4KiB"\nlaunches = 2\nranks = 3\n'
        'results = "elsewhere"\n',
        encoding="utf-8",
    )
    assert "2 cases x 2 launches" in cli("plan").err
    done = cli("run", "--launches", "1")
    assert done.status == 0, done.err
    assert "1 node x 3 ranks; 2 cases x 1 launch" in done.err
    (folder,) = (workplace / "elsewhere").iterdir()
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["plan"]["sizes"] == "64B,4KiB"
    assert folder.name in cli("list").out
    assert folder.name not in cli("list", env={variable_of(RESULTS): "nowhere"}).out
    assert folder.name in cli("list", "--output", "elsewhere").out


def test_ranks_that_are_set_give_way_to_a_plan_that_places_them(cli: Cli, workplace: Path) -> None:
    (workplace / "placed.toml").write_text("[[placements]]\nranks_per_node = 2\n", encoding="utf-8")
    env = {variable_of(RANKS): "7", variable_of("backends"): "simulated"}
    assert "1 node x 2 ranks" in cli("plan", "placed.toml", env=env).out
    assert explained(cli, RANKS, "placed.toml") == (None, "placements of the plan")


BAD = {
    "misspelt": ('launches = 2\nsizs = "8B"\n', "collmark.toml:2: unknown key 'sizs'; did you mean 'sizes'?"),
    "a table of a plan": ("[simulation]\nalpha = 1\n", "collmark.toml:1: unknown key 'simulation'"),
    "wrong value": ('seed = 1\n\nprecision = "high"\n', "collmark.toml:3: precision: high: must be a share"),
    "wrong type": ("sizes = 1.5\n", "collmark.toml:1: sizes: 1.5: must be sizes"),
    "no TOML": ("sizes = [", "collmark.toml: "),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", [("plan",), ("run",), ("list",), ("report",), ("slurm", "submit")], ids=" ".join)
def test_a_wrong_file_is_one_line_with_its_place(
    cli: Cli, workplace: Path, name: str, command: tuple[str, ...]
) -> None:
    text, said = BAD[name]
    (workplace / "collmark.toml").write_text(text, encoding="utf-8")
    (workplace / "site.toml").write_text("nodes = 2\n", encoding="utf-8")
    result = cli(*command)
    (line,) = result.err.splitlines()
    assert (result.status, result.out) == (2, "")
    assert line.startswith(f"error: {said}"), line


def test_a_wrong_variable_is_named(cli: Cli) -> None:
    result = cli("plan", env={variable_of("precision"): "high"})
    assert result.status == 2
    assert result.err.startswith(f"error: {PREFIX}PRECISION: high: must be a share")
    backend = cli("plan", env={variable_of("precision"): "", variable_of("backends"): "glo"})
    assert backend.err.startswith(f"error: {PREFIX}BACKENDS: unknown backend 'glo'; did you mean 'gloo'?")


def test_a_table_shows_values_with_units_and_sources(cli: Cli) -> None:
    result = cli("plan", "--explain", "--precision", "2%", env={variable_of("timeout"): "1 min"})
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in result.out.splitlines()}
    assert rows["key"] == "value from"
    assert rows["precision"] == "2.0 % --precision"
    assert rows["timeout"] == f"1 min 00 s {PREFIX}TIMEOUT"
    assert rows["samples"] == "64 MiB default"
    assert rows["results"] == "results default"


def test_a_home_that_cannot_be_written_or_is_not_there_is_enough(measured: str, workplace: Path) -> None:
    """Also to matplotlib, which would keep its fonts there: nothing is said of it, and nothing left behind."""
    (workplace / "tmp").mkdir()
    gone = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MPLCONFIG"))}
    done = subprocess.run(
        [sys.executable, "-m", "collmark", "report", measured],
        env=gone | {"HOME": "/proc/self/no-home", "TMPDIR": str(workplace / "tmp")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "atplotlib" not in done.stderr
    assert list((workplace / "tmp").iterdir()) == []
