"""An installed wheel works away from the checkout: its links became folders, and its data came along."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.slow


def pip(*arguments: str, cwd: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def wheel(checkout: Callable[[], Path], tmp_path: Path) -> Path:
    """Build from a copy, so that no left-over of an earlier build gets in and none stays."""
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), ".", cwd=checkout())
    (built,) = tmp_path.glob("collmark-*.whl")
    return built


def test_wheel_runs_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    pip("install", "--no-deps", "--no-index", "--target", str(target), str(wheel), cwd=empty)
    environment = os.environ | {"PYTHONPATH": str(target)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=empty, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    where = run("-c", "import collmark.bench; print(collmark.bench.__file__)")
    assert Path(where.strip()).is_relative_to(target)
    for command in ("--help", "plan", "list"):
        assert run("-m", "collmark", command)
    assert not list(empty.iterdir()), "a command that only tells wrote a file"


def test_wheel_holds_every_module_and_the_data(wheel: Path, root: Path, code: dict[str, object]) -> None:
    places = ("kernels/source/*.cu", "slurm/*.sbatch", "slurm/*/*.toml", "analysis/report/templates/*")
    data = [file for place in places for file in root.glob(place)]
    assert len(data) >= 13
    wanted = {"collmark/py.typed"}
    for path in [*code, *(file.relative_to(root).as_posix() for file in data)]:
        wanted.add(path.removeprefix("src/") if path.startswith("src/") else f"collmark/{path}")
    held = set(ZipFile(wheel).namelist())
    assert wanted <= held, f"missing: {sorted(wanted - held)}"
    tops = {name.partition("/")[0] for name in held}
    assert all(top.startswith("collmark") for top in tops), tops
