"""What is said after a run can be pasted, and shows what comes from a file without obeying it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collmark.cli.conclusion import next_command, program, resume_command

RUN = (
    "run",
    "--backend",
    "simulated",
    "--operation",
    "all_reduce",
    "--sizes",
    "64B",
    "--ranks",
    "2",
    "--label",
    "made",
)


@pytest.mark.parametrize(
    ("typed", "path", "shown"),
    [
        (".venv/bin/collmark", "", ".venv/bin/collmark"),
        ("/a place/collmark", "", "'/a place/collmark'"),
        ("/work/collmark", "here", "collmark"),
        ("/work/pytest", "", "collmark"),
    ],
)
def test_the_program_is_named_as_it_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str, path: str, shown: str
) -> None:
    (tmp_path / "here").mkdir()
    found = tmp_path / "here" / "collmark"
    found.touch(0o755)
    monkeypatch.setattr("sys.argv", [typed])
    monkeypatch.setenv("PATH", str(tmp_path / path) if path else "/nowhere")
    assert program() == shown
    assert resume_command("r") == f"{shown} run --resume r"
    assert callable(next_command)


def test_what_stands_in_a_file_moves_no_cursor(cli: Callable[..., Any]) -> None:
    cli(*RUN)
    (path,) = Path("results").glob("*/run.json")
    run = json.loads(path.read_text(encoding="utf-8"))
    run |= {"label": "\x1b[31mred", "notices": ["\x1b]0;title\x07"], "command": ["\x1b[2J"]}
    path.write_text(json.dumps(run), encoding="utf-8")
    for words in (["list"], ["list", path.parent.name], ["fit", path.parent.name]):
        result = cli(*words)
        assert result.status == 0
        assert "\x1b" not in result.out + result.err
