"""What commands write, and where: results, what was named, and nothing else; nothing is overwritten unasked."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.cli.every import BEFORE, WORKS

pytestmark = pytest.mark.manner(19)

NAMED = ("results", "new.html", "new.toml", "jobs", "one")
"""What the words of `WORKS` name, and the folder of results."""


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        yield str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b""


def test_nothing_is_written_outside_results_and_what_was_named(
    cli: Cli, everything: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR"):
        (outside / variable).mkdir()
        monkeypatch.setenv(variable, str(outside / variable))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before, around = dict(files(everything)), dict(files(outside))
    for path, words in WORKS.items():
        if path in BEFORE:
            assert cli(*BEFORE[path]).status == 0
        assert cli(*path.split(), *words).status == 0, path
    written = {name for name, data in files(everything) if before.get(name) != data}
    elsewhere = {name for name in written if Path(name).parts[0] not in NAMED}
    assert {name for name in elsewhere if not name.startswith("bin/")} == set(), "bin is of the Slurm that is made up"
    assert {Path(name).parts[0] for name in written} >= set(NAMED)
    assert dict(files(outside)) == around


def test_libraries_keep_to_the_cache(measured: str, workplace: Path) -> None:
    """matplotlib looks for its settings and keeps a list of fonts: its first use in a home of its own."""
    home = workplace / "home"
    home.mkdir()
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MPLCONFIG"))}
    words = [sys.executable, "-m", "collmark", "report", measured]
    done = subprocess.run(words, env=bare | {"HOME": str(home)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {Path(name).parts[0] for name, _data in files(home)} <= {".cache"}


WRITERS = {
    "report": ("report", "small", "-o"),
    "export": ("export", "small", "-o"),
    "plan": ("plan", "--init"),
    "slurm init": ("slurm", "init"),
    "pairs": ("pairs", "--placement", "2x2", "--write-plan"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_overwritten_only_with_force_and_a_dash_is_stdout(cli: Cli, everything: Path, name: str) -> None:
    assert everything.is_dir()
    words, path = WRITERS[name], Path("mine")
    path.write_text("mine", encoding="utf-8")
    refused = cli(*words, "mine")
    assert (refused.status, path.read_text(encoding="utf-8")) == (2, "mine")
    assert "--force" in refused.err
    assert cli(*words, "mine", "--force").status == 0
    text = path.read_text(encoding="utf-8")
    assert text != "mine"
    dash = cli(*words, "-")
    assert dash.out.rstrip("\n") == text.rstrip("\n")
    assert not Path("-").exists()


def test_every_option_that_names_an_output_is_here() -> None:
    from tests.cli.every import commands

    forcing = {path for path, one in commands() for parameter in one.params if "--force" in parameter.opts}
    assert forcing == set(WRITERS)
