"""How the demonstration of two emulated tiers ends: everything it shows is marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.workflow.emulated_runs import emulated_runs

from collmark.cli import emulated
from collmark.cli.console import Terminal

MB = 1e6


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    fast, slow = emulated_runs(tmp_path, 180 * MB, 10 * MB, (171 * MB, 9.5 * MB))
    return {"fast": fast, "slow": slow}


def test_fits_ratio_verdict_and_report_say_emulated(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    emulated._conclude(Terminal(), folders, as_json=False)
    out, err = capsys.readouterr()
    captions = [line for line in out.splitlines() if "2x1@" in line and "gloo" in line]
    assert len(captions) == 2
    assert all(line.startswith("EMULATED made-") for line in captions)
    assert "EMULATED fast over slow: raw TCP 18.00; asymptotes of stream 18.00 [" in out
    assert "EMULATED holds" in out
    assert "1 claim, 2 verdicts: 0 hold, 1 fail, 0 inconclusive, 1 no data" in out
    assert f"collmark claims gap-18x --tier-a tcp@fast --tier-b tcp@slow {folders['fast']} {folders['slow']}" in err
    report = folders["fast"] / "report.html"
    assert err.rstrip().splitlines()[-1] == f"report: {report}"
    text = report.read_text(encoding="utf-8")
    assert "EMULATED. No figure here was measured over real links" in text
    assert "EMULATED holds" in text
    assert text.count("<h3>EMULATED: ") == text.count("<h3>") > 0


def test_for_machines_it_is_one_marked_object(folders: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    emulated._conclude(Terminal(), folders, as_json=True)
    (told,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (told["event"], told["marker"], told["ratio"]["raw"]) == ("emulated", "EMULATED", pytest.approx(18))
    assert told["folders"] == [str(folder) for folder in folders.values()]
    assert [(one["verdict"], one["marker"]) for one in told["findings"]] == [
        ("fails", ""),
        ("no data", ""),
        ("holds", "emulated"),
    ]
