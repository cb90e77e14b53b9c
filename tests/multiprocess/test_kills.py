"""Ten random kills, by the code of tests/prove/prove_kills.py: nothing finished is lost, and a resume completes."""

import os
from pathlib import Path

import pytest
from tests.multiprocess.kills import Kill, complaint, draw, inflict

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes in /proc"),  # noqa: PTH112
]


@pytest.mark.parametrize("kill", draw(seed=12, count=10), ids=str)
def test_a_kill_costs_nothing_that_was_finished(kill: Kill, tmp_path: Path) -> None:
    assert not complaint(kill, inflict(kill, tmp_path))
