"""The source as the architecture tests see it: files, their syntax trees, and copies to break."""

import ast
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = ("bench", "kernels", "analysis", "slurm", "src/collmark")


def _files(folders: tuple[str, ...]) -> Iterator[Path]:
    for folder in folders:
        # The links below src/collmark are not followed: every file is seen once, under its real path.
        for parent, _, names in os.walk(ROOT / folder):
            yield from (Path(parent, name) for name in sorted(names) if name.endswith(".py"))


def _parsed(folders: tuple[str, ...]) -> dict[str, ast.Module]:
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for path in _files(folders)
    }


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the top of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def code() -> dict[str, ast.Module]:
    """Return the syntax tree of every module of the package, by path below the root."""
    return _parsed(CODE)


@pytest.fixture(scope="session")
def code_and_tests() -> dict[str, ast.Module]:
    """Return the same with the tests."""
    return _parsed((*CODE, "tests"))


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[[], Path]:
    """Return a function that copies what a build needs to a new folder, links kept as links."""

    def copy() -> Path:
        target = tmp_path / "checkout"
        target.mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            if (ROOT / name).exists():
                shutil.copy(ROOT / name, target)
        ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in ("bench", "kernels", "analysis", "slurm", "src"):
            shutil.copytree(ROOT / name, target / name, symlinks=True, ignore=ignore)
        return target

    return copy
