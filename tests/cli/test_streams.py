"""Output that leads nowhere: closed streams disturb nothing, a full one is said in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

SIMULATED = "run --backend simulated --ranks 2 --operation all_reduce --sizes 64B --launches 1"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


def listed(redirection: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return called(f"list {redirection}", folder)


def called(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = f"'{sys.executable}' -P -m collmark {words}"
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.manner(3)
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_disturb_nothing(redirection: str, tmp_path: Path) -> None:
    assert listed(redirection, tmp_path).returncode == 0


@needs_full
@pytest.mark.parametrize(
    "words",
    [
        "list latest",
        "list latest --json",
        "list --json",
        "export latest -o -",
        "export latest --json",
        "plan --json",
        "schema",
        "--help",
        "run --help",
        "--version",
        f"{SIMULATED} --json",
        SIMULATED,
    ],
)
def test_a_full_output_is_one_line(measured_run: Path, words: str) -> None:
    done = called(f"{words} > /dev/full", measured_run)
    assert (done.returncode, done.stderr.count("error: cannot write the output")) == (4, 1), done.stderr
    assert "Traceback" not in done.stderr


@needs_full
@pytest.mark.parametrize("redirection", ["> /dev/full", "| true"])
def test_an_error_that_cannot_be_written_as_json_is_said_all_the_same(tmp_path: Path, redirection: str) -> None:
    done = called(f"lst --json {redirection}", tmp_path)
    assert done.stderr.startswith("error: unknown command 'lst'"), done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert done.returncode == (2 if "full" in redirection else 0)


@needs_full
def test_a_run_whose_events_cannot_be_written_says_what_is_kept(tmp_path: Path) -> None:
    done = called(f"{SIMULATED} --json > /dev/full", tmp_path)
    assert "cannot write the output: No space left on device; 0 of 1 record kept, resume with: collmark" in done.stderr


@pytest.fixture
def measured_run(tmp_path: Path) -> Path:
    subprocess.run(
        [sys.executable, "-P", "-m", "collmark", *SIMULATED.split()],
        cwd=tmp_path, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    return tmp_path
