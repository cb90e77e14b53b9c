"""Ctrl-C before a run has begun: out at once, with one line, the right status and no traceback."""

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


LATER = """
import os, signal

look = os.sched_getaffinity

def strike(pid):
    os.sched_getaffinity = look
    os.kill(os.getpid(), signal.SIGINT)
    return look(pid)

os.sched_getaffinity = strike
"""


@pytest.mark.manner(12)
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
    program = interrupted(start, tmp_path, STRIKE.format(module=module, swallowed=swallowed))
    assert program.end() == 130, program.errors
    assert program.words == ["interrupted\n"]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the plan is prepared without asking for cores")
def test_an_interrupt_while_the_plan_is_prepared(start: Start, tmp_path: Path) -> None:
    program = interrupted(start, tmp_path, LATER)
    assert program.end() == 130, program.errors
    assert program.words == ["interrupted\n"]
    assert not (tmp_path / "results").exists()


def interrupted(start: Start, folder: Path, strike: str) -> Program:
    """Return a run that sends a signal to itself, as the code says that its interpreter finds first."""
    (folder / "early").mkdir()
    (folder / "early" / "sitecustomize.py").write_text(strike)
    path = os.pathsep.join([str(folder / "early"), os.environ.get("PYTHONPATH", "")])
    return start(*small_run("--launches", "1"), PYTHONPATH=path)
