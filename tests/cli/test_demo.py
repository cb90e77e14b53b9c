"""How the demonstration ends: fits, verdicts, findings, and a report in the run's folder."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collmark.cli import demo
from collmark.cli.console import Terminal
from collmark.core.errors import InterruptedRunError
from collmark.workflow.places import find_run

RUN = (
    "run",
    "--backend",
    "simulated",
    "--operation",
    "all_reduce,ping_pong",
    "--sizes",
    "16B:16MiB:x16",
    "--ranks",
    "2",
)


@pytest.fixture
def measured(cli: Callable[..., Any]) -> Path:
    assert cli(*RUN, "--launches", "2", "--label", "made").status == 0
    return find_run("made").path


def test_it_ends_with_fits_verdicts_findings_and_a_report(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    demo.conclude(find_run("made"), Terminal(), as_json=False)
    out, err = capsys.readouterr()
    assert "1/beta" in out
    assert "45 claims" in out
    assert f"collmark claims {measured}" in out
    assert "SIMULATED, not measured" in out
    assert err.rstrip().splitlines()[-1] == f"report: {measured / 'report.html'}"
    assert (measured / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_for_machines_the_report_is_one_more_event(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    demo.conclude(find_run("made"), Terminal(), as_json=True)
    event = json.loads(capsys.readouterr().out)
    assert event["event"] == "report"
    assert Path(event["file"]) == measured / "report.html"
    assert set(event["sentences"]) == {"found", "sure", "next"}


def test_emulated_tiers_are_refused_in_one_line_where_they_cannot_be(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.platform", "linux")
    done = cli("demo", "--emulated-tiers")
    assert (done.status, done.out) == (3, "")
    (line,) = done.err.splitlines()
    assert line == "error: hosts cannot be emulated here: only root may make network namespaces: run it as root (sudo)"
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget", "1 min"), "error: --budget bounds what is measured on this machine; leave it away with"),
        (("--launches", "auto"), "error: --launches auto: with --emulated-tiers a whole number"),
        (("--launches", "0"), "error: --launches"),
    ],
)
def test_what_emulated_tiers_do_not_take_is_refused(cli: Callable[..., Any], words: tuple[str, ...], said: str) -> None:
    done = cli("demo", "--emulated-tiers", *words)
    assert done.status == 2
    assert " ".join(done.err.split()).startswith(said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_its_end_says_what_is_kept_and_how_to_go_on(measured: Path, number: int) -> None:
    before = signal.getsignal(number)
    with (
        pytest.raises(InterruptedRunError, match=f"kept: collmark report {measured}"),
        demo.stopped_in_words(find_run("made")),
    ):
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before
