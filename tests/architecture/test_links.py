"""The links: right in this checkout, and one clear line from a checkout that lost them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LINKS = ("analysis", "bench", "kernels", "slurm")


def run(words: list[str], path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(path)}
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def lose(link: Path, how: str) -> None:
    target = str(link.readlink())
    link.unlink()
    if how == "text":
        # What git writes where the file system has no links.
        link.write_text(target, encoding="utf-8")


@pytest.mark.parametrize("name", LINKS)
def test_link_is_relative_and_leads_to_the_folder(root: Path, name: str) -> None:
    link = root / "src/collmark" / name
    assert link.readlink() == Path("../..", name)
    assert link.resolve() == root / name


@pytest.mark.parametrize("name", LINKS)
def test_folder_refuses_to_be_imported_by_its_short_name(root: Path, name: str, tmp_path: Path) -> None:
    done = run(["-c", f"import {name}"], root, tmp_path)
    assert f"ImportError: this folder is the package collmark.{name}" in done.stderr


@pytest.mark.parametrize("how", ["text", "removed"])
@pytest.mark.parametrize("name", LINKS)
def test_import_from_a_checkout_without_links_says_so(
    checkout: Callable[[], Path], tmp_path: Path, name: str, how: str
) -> None:
    copy = checkout()
    lose(copy / "src/collmark" / name, how)
    program = f"try: import collmark.{name}.x\nexcept ImportError as error: print(error)"
    done = run(["-c", program], copy / "src", tmp_path)
    assert done.stdout.startswith(f"collmark.{name} is missing: src/collmark/{name} should be a link"), done
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("how", ["text", "removed"])
@pytest.mark.parametrize("command", ["demo", "plan", "run", "list", "doctor"])
def test_command_from_a_checkout_without_links_says_so(
    checkout: Callable[[], Path], tmp_path: Path, command: str, how: str
) -> None:
    copy = checkout()
    for name in LINKS:
        lose(copy / "src/collmark" / name, how)
    done = run(["-m", "collmark", command], copy / "src", tmp_path)
    assert done.returncode == 3, done
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    assert "should be a link" in line
