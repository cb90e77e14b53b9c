"""Output that leads nowhere: closed streams disturb nothing, a full one is said in one line."""

import subprocess
import sys
from pathlib import Path

import pytest


def listed(redirection: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = f"'{sys.executable}' -P -m collmark list {redirection}"
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_disturb_nothing(redirection: str, tmp_path: Path) -> None:
    assert listed(redirection, tmp_path).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_output_is_one_line(measured_run: Path) -> None:
    done = listed("latest > /dev/full", measured_run)
    assert (done.returncode, done.stderr.count("error: cannot write the output")) == (4, 1), done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def measured_run(tmp_path: Path) -> Path:
    command = "run --backend simulated --ranks 2 --operation all_reduce --sizes 64B --launches 1"
    subprocess.run(
        [sys.executable, "-P", "-m", "collmark", *command.split()],
        cwd=tmp_path, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    return tmp_path
