"""Imports go one way: the contracts of pyproject.toml, kept by the code and broken by planted violations."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LINT = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(no_cache=True, limit_to_contracts=tuple(sys.argv[1:])))
"""


def lint(checkout: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """Run the linter in a fresh process: it imports the package that it reads, the first one on the path."""
    return subprocess.run(
        [sys.executable, "-c", LINT, *contracts],
        cwd=checkout,
        env={"PYTHONPATH": str(checkout / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_contracts_are_kept(root: Path) -> None:
    done = lint(root)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("analysis/planted.py", "import collmark.bench", "layers"),
        ("bench/planted.py", "import collmark.analysis", "layers"),
        ("bench/planted.py", "import collmark.workflow", "layers"),
        ("src/collmark/core/planted.py", "import collmark.kernels", "layers"),
        ("src/collmark/planted.py", "", "layers"),
        ("analysis/planted.py", "import collmark.kernels", "analysis-without-kernels"),
        ("bench/planted.py", "import torch", "communication-libraries"),
        ("analysis/planted.py", "import mpi4py", "communication-libraries"),
        ("src/collmark/workflow/planted.py", "import pandas", "analysis-libraries"),
        ("bench/planted.py", "import rich", "terminal-libraries"),
    ],
)
def test_planted_violation_is_found(checkout: Callable[[], Path], file: str, line: str, contract: str) -> None:
    copy = checkout()
    assert lint(copy, contract).returncode == 0
    (copy / file).write_text(f"{line}\n", encoding="utf-8")
    done = lint(copy, contract)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout
