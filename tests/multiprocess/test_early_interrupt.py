"""Ctrl-C before a run has begun: out at once, with the right status and without a traceback."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.multiprocess.program import Program, small_run

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

STRIKE = """
import os, signal, sys

class Strike:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(Strike)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                if {swallowed}:
                    return  # as the import machinery does where it is in a callback
                raise

sys.meta_path.insert(0, Strike)
"""


@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize(
    "module",
    [
        "collmark.cli.console",
        "typer",
        "collmark.core.errors",
        "collmark.cli.application",
        "collmark.cli.run",
        "msgspec",
        "numpy",
        "collmark.workflow.planning",
        "collmark.bench.launchers.local",
        "collmark.cli.measure",
    ],
)
def test_an_interrupt_while_libraries_load(start: Start, tmp_path: Path, module: str, swallowed: bool) -> None:  # noqa: FBT001
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "sitecustomize.py").write_text(STRIKE.format(module=module, swallowed=swallowed))
    path = os.pathsep.join([str(tmp_path / "early"), os.environ.get("PYTHONPATH", "")])
    program = start(*small_run("--launches", "1"), PYTHONPATH=path)
    assert program.end() == 130, program.errors
    assert "Traceback" not in program.errors
    assert "fault of collmark" not in program.errors
