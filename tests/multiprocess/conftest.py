"""Start collmark in a folder of its own, and leave no process behind."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.multiprocess.program import Program, processes_with

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a shell's background job; programs started from here would inherit it, and never hear Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Return a function that starts a command line; whatever it leaves running fails the test, and is killed."""
    programs: list[Program] = []

    def start(*words: str, **environment: str) -> Program:
        programs.append(Program(*words, folder=tmp_path, **environment))
        return programs[-1]

    yield start
    left = {}
    for program in programs:
        left.update(processes_with(program.mark))
        program.clean_up()
    assert not left, f"still running: {left}"
