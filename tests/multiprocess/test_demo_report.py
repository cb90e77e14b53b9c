"""The demonstration as a user runs it, cut short: real processes, and its report opened in a real browser."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.analysis.report.browser import Browser, find_browser
from tests.multiprocess.program import clean_environment

BROWSER = find_browser()

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a demonstration of one launch, and half a minute at most."""
    folder = tmp_path_factory.mktemp("demo")
    words = ("demo", "--launches", "1", "--budget", "30s", "--output", "results")
    done = subprocess.run(
        [sys.executable, "-m", "collmark", *words],
        cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("report: results/")
    assert "45 claims" in done.stdout
    return folder / last.removeprefix("report: ")


def test_it_writes_a_report_that_says_where_it_was(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert os.uname().nodename in text
    assert "loopback" in text
    assert "SIMULATED" not in text


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium: apt install chromium")
def test_its_report_is_silent_in_a_browser(report: Path) -> None:
    assert BROWSER is not None
    with Browser(BROWSER) as browser:
        visit = browser.open(report)
        assert visit.console == []
        assert visit.requests == []
        assert browser.evaluate("document.querySelectorAll('svg').length") >= 5
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
