"""The demonstration of two tiers as a user runs it: marked on every screen, and nothing of it left behind."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.multiprocess.program import Program, collmark

from collmark.bench.emulated.hosts import refusal

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _possible() -> None:
    if reason := refusal():
        pytest.skip(reason)


def links() -> str:
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout


def test_it_shows_fits_a_ratio_and_a_verdict_all_of_them_marked(start: Start, tmp_path: Path) -> None:
    before = links()
    program = start(*collmark("demo", "--emulated-tiers", "--launches", "1", "--output", "results"))
    assert program.end(200) == 0, program.errors
    out = "".join(program.lines)
    captions = [line for line in program.lines if "scheduling" in line]
    assert captions
    assert all(line.startswith("EMULATED ") for line in captions)
    assert "EMULATED fast over slow: raw TCP 1" in out
    (verdict,) = (line for line in program.lines if "EMULATED " in line and "18 x" in line)
    assert "gap-18x" not in verdict, "it stands below the claim's own, which has no data"
    assert "emulated ones decide nothing" in " ".join(out.split())
    assert "EMULATED: no figure here is one of a network" in program.errors
    (report,) = tmp_path.glob("results/*-emulated-fast/report.html")
    text = report.read_text(encoding="utf-8")
    assert "EMULATED. No figure here was measured over real links" in text
    assert text.count("<h3>EMULATED: ") == text.count("<h3>") > 0
    assert links() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_takes_the_networks_away_and_says_so(start: Start, number: signal.Signals) -> None:
    program = start(*collmark("demo", "--emulated-tiers", "--output", "results"))
    program.wait_for("launch 1 of 2 over fast")
    program.process.send_signal(number)
    assert program.end(30) == 128 + number
    assert f"stopped by {number.name}; nothing was finished" in program.errors
    program.wait_until_gone(10)
