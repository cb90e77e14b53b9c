"""``collmark claims`` as its users meet it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
OWN = """
[[claims]]
id = "mine"
sentence = "Two is one."
[claims.S]
predicate = "ratio"
rule = "rounding"
claimed = 1
parameters = { over = 2, under = 1 }
"""


@pytest.fixture
def own(workplace: Path) -> str:
    """Return the name of a file with a claim that fails."""
    (workplace / "mine.toml").write_text(OWN, encoding="utf-8")
    return "mine.toml"


def rows(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the cells of a table by claim and kind."""
    found, claim = {}, ""
    for line in text.splitlines()[3:]:
        cells = re.split(r"\s{2,}", line.strip())
        claim = cells[0] if line[0] != " " else claim
        cells = cells[1:] if line[0] != " " else cells
        if cells[0] in "SWMP":
            found[claim, cells[0]] = cells
    return found


def test_table_has_a_row_for_each_kind(cli: Cli) -> None:
    result = cli("claims")
    assert result.status == 0
    first, second, head, *_lines = result.out.splitlines()
    assert first == "45 claims, 54 verdicts: 14 hold, 13 fail, 0 inconclusive, 27 no data"
    assert second.startswith("kind: S arithmetic on link rates")
    assert head.split() == ["claim", "kind", "verdict", "claimed", "found", "by"]
    found = rows(result.out)
    assert len(found) == 54
    assert found["gap-18x", "S"][1:4] == ["FAILS", "18", "9"]
    assert found["gap-18x", "M"][1:4] == ["no data", "18 x/1.2", "-"]
    assert found["dp-2.8s", "W"][1:4] == ["FAILS", "2.8 s", "5.512 s"]
    assert found["zero-stages", "W"][1] == "holds"


def test_words_go_to_stderr_and_commands_are_whole(cli: Cli) -> None:
    result = cli("claims")
    note, title, *commands, last = result.err.splitlines()
    assert note.startswith("note: no run named")
    assert title == "to decide rows of kind M that have no data:"
    assert len(commands) > 5
    assert all(re.match(r"  (collmark run|for )", line) for line in commands)
    assert last == "explain one: collmark claims gap-18x"
    assert not cli("claims", "-q").err


@pytest.mark.parametrize("columns", ["", "100", "80", "200"])
@pytest.mark.parametrize("words", [["claims"], ["claims", "--all"], ["claims", "latest"]], ids=" ".join)
def test_table_fits(cli: Cli, measured: str, words: list[str], columns: str) -> None:
    del measured
    result = cli(*words, env={"COLUMNS": columns} if columns else {})
    assert result.status == 0
    assert max(map(len, result.out.splitlines())) <= int(columns or 100)
    assert "..." not in result.out
    assert "\x1b" not in result.out


def test_ascii_is_enough(workplace: Path) -> None:
    del workplace
    letters = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    words = [sys.executable, "-m", "collmark", "claims"]
    done = subprocess.run(words, capture_output=True, env=os.environ | letters, check=False)
    assert done.returncode == 0
    assert b"1 +-10 %" in done.stdout
    assert (done.stdout + done.stderr).isascii()


def test_colour_repeats_the_word(cli: Cli) -> None:
    colored = cli("claims", "--color", "always").out
    assert "\x1b[31mFAILS" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == cli("claims", "--color", "never").out


def test_claim_is_explained(cli: Cli) -> None:
    result = cli("claims", "gap-18x")
    assert result.status == 0
    text = result.out
    assert text.startswith("gap-18x: NVLink has 18 times the bandwidth of InfiniBand.\n")
    for name in ("given", "note", "by", "worked", "rule", "holds", "beside", "evidence", "would change", "to decide"):
        assert re.search(rf"^  {name}  ", text, flags=re.MULTILINE), name
    assert "450 GB/s / 50 GB/s = 9" in text
    assert "S  FAILS  claimed 18, found 9" in text
    assert "M  no data  claimed 18 x/1.2, found -" in text
    folded = [line for line in text.splitlines() if "collmark" not in line]
    assert max(map(len, folded)) <= 100
    *_rest, first, second, third = text.splitlines()
    assert first.endswith(" &&")
    assert second.endswith(" &&")
    assert third.strip().startswith("collmark claims gap-18x ")


def test_compound_claim_lists_its_parts(cli: Cli) -> None:
    text = cli("claims", "flops-6nd").out
    assert "6 N in all: holds, claimed 6, found 6" in text
    assert "forward 1 N: FAILS, claimed 1, found 2" in text


def test_simulated_run_decides_nothing(cli: Cli, measured: str) -> None:
    result = cli("claims", measured, "--kind", "M")
    assert result.out.startswith("15 claims, 15 verdicts: 0 hold, 0 fail, 0 inconclusive, 15 no data\n")
    tiers = ("--tier-a", "simulated", "--tier-b", "simulated")
    marked = cli("claims", "roce-parity", measured, *tiers)
    assert "M  no data" in marked.out
    assert re.search(r"^M  SIMULATED (inconclusive|holds)", marked.out, flags=re.MULTILINE)


def test_json_is_one_object(cli: Cli, own: str) -> None:
    result = cli("claims", "--json", "--file", own, "--all", "--gate")
    assert result.status == 1
    assert result.json["claims"] == 46
    assert len(result.json["findings"]) == 55
    assert result.json["verdicts"] == {"holds": 14, "fails": 14, "inconclusive": 0, "no data": 27}
    assert result.json["gate"]["passed"] is False
    assert {"rules", "runs", "commands", "out_of_scope"} <= set(result.json)
    assert "out_of_scope" not in cli("claims", "--json").json


def test_all_adds_what_is_out_of_scope(cli: Cli) -> None:
    assert "out of scope:" not in cli("claims").out
    text = cli("claims", "--all").out
    assert "out of scope:\n  prices" in text
    assert "inference: " in text


@pytest.mark.manner(14)
@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        (["--gate"], 1, "gate: FAILED, nothing was decided"),
        (["--kind", "S,W", "--gate"], 1, "gate: FAILED, 13 fail: gap-18x S, "),
        (["node-640", "recompute-33", "--gate"], 0, "gate: passed, 2 hold"),
        (["fit-gpus", "node-640", "--gate"], 1, "gate: FAILED, 1 fail: fit-gpus W"),
        (["ndr-50", "--gate"], 1, "gate: FAILED, asked for and not decided: ndr-50 M"),
        (["ndr-50", "--kind", "S", "--gate"], 0, "gate: passed, 1 hold"),
        (["--kind", "P", "--gate"], 1, "gate: FAILED, nothing was decided"),
    ],
)
def test_gate_decides_the_status(cli: Cli, words: list[str], status: int, wanted: str) -> None:
    result = cli("claims", *words)
    assert result.status == status
    assert wanted in " ".join(result.err.split())
    assert cli("claims", *[word for word in words if word != "--gate"]).status == 0


def test_own_claim_and_threshold(cli: Cli, own: str) -> None:
    assert "mine" in cli("claims", "--file", own).out
    assert "S  FAILS  claimed 1, found 2" in cli("claims", "mine", "--file", own).out
    text = cli("claims", "llama-405b", "--set", "about.tolerance=1.01").out
    assert "W  FAILS" in text
    assert "tolerance 1.01 (set; default 1.2)" in " ".join(text.split())


BAD = {
    "unknown word": (["claims", "gap-18"], "did you mean 'gap-18x'?"),
    "unknown run": (["claims", "smal"], "did you mean 'small'?"),
    "neither": (["claims", "xyzzy"], "is no claim, and as a run"),
    "unknown kind": (["claims", "--kind", "Z"], "allowed: S, W, M, P"),
    "unknown tier": (["claims", "--tier-a", "nvlnk"], "did you mean 'nvlink'?"),
    "unknown rule": (["claims", "--set", "abuot.tolerance=1"], "did you mean 'about'?"),
    "bad threshold": (["claims", "--set", "about.tolerance=x"], "is no number"),
    "no file": (["claims", "--file", "nowhere.toml"], "nowhere.toml: No such file"),
    "unknown option": (["claims", "--gte"], "did you mean '--gate'?"),
    "misspelt predicate": (["claims", "--file", "bad.toml"], "did you mean 'ratio'?"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("json", [False, True])
def test_wrong_use_is_one_line(cli: Cli, measured: str, workplace: Path, name: str, json: bool) -> None:  # noqa: FBT001
    del measured
    (workplace / "bad.toml").write_text(OWN.replace('"ratio"', '"ratoi"'), encoding="utf-8")
    words, wanted = BAD[name]
    result = cli(*words, *(["--json"] if json else []))
    (line,) = result.err.splitlines()
    assert line.startswith("error: ")
    assert wanted in line
    assert result.status == 2
    assert not result.out if not json else result.json["error"]["message"] == line.removeprefix("error: ")


def test_arithmetic_needs_no_heavy_library(workplace: Path) -> None:
    del workplace
    program = (
        "import sys\nfrom collmark.cli.main import run\nassert run(['claims', '-q']) == 0\n"
        "sys.exit(bool({'pandas', 'scipy', 'torch', 'matplotlib', 'seaborn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=os.environ, check=False)
    assert done.returncode == 0
