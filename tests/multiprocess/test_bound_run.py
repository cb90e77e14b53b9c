"""The duration that is said before a run bounds what the run takes, also where it is the buffers that take it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.multiprocess.program import Program, collmark, only_run

from collmark.workflow.bound import START_SECONDS

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("operation", "dtype"), [("broadcast", "uint8"), ("all_reduce", "int8"), ("all_gather", "float16")]
)
def test_large_buffers_are_within_the_bound(start: Start, tmp_path: Path, operation: str, dtype: str) -> None:
    program = start(
        *collmark("run", "--json", "--ranks", "2", "--operation", operation, "--dtype", dtype, "--sizes", "64MiB"),
        *("--launches", "1", "--case-budget", "50 ms", "--output", "results"),
    )
    assert program.end(100) == 0, program.errors
    (began,) = program.events("start")
    walls = [record.wall for record in only_run(tmp_path).records()]
    assert len(walls) == 4  # with the sentinel's
    assert sum(walls) > 4 * 0.05  # no budget bounds this
    assert sum(walls) <= began["at_most"] - START_SECONDS
