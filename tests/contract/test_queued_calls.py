"""The calls made for a library that queues them give right results where they block, over gloo."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.contract.conftest import measure

from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.torch_calls import CALLS, QUEUED_CALLS
from collmark.core.expansion import expand
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import Status

OTHERS = tuple(name for name in CALLS if CALLS[name] is not QUEUED_CALLS[name])

# Stands in for the interpreter that a rank is started with: gloo is called as NCCL is.
INTERPRETER = """\
#!{python}
import runpy
import sys

from collmark.bench.backends.gloo import GlooSession
from collmark.bench.backends.torch_calls import QUEUED_CALLS

GlooSession.calls = QUEUED_CALLS
sys.argv = ["process", *sys.argv[sys.argv.index("collmark.bench.process") + 1 :]]
runpy.run_module("collmark.bench.process", run_name="__main__", alter_sys=True)
"""


def test_the_tables_differ_in_what_goes_there_and_back() -> None:
    assert list(QUEUED_CALLS) == list(CALLS)
    assert OTHERS == ("send_recv", "bidirectional_stream")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_right_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
    if missing := BACKENDS["gloo"].missing():
        pytest.skip(missing)
    interpreter = tmp_path / "python"
    interpreter.write_text(INTERPRETER.format(python=sys.executable))
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    operations = OTHERS if ranks > 1 else ("send_recv",)
    plan = Plan(operations=operations, sizes="4B,100KB", dtypes=("float32", "bfloat16"), messages=5)
    cases = expand(plan, Placement(ranks_per_node=ranks), {"gloo": BACKENDS["gloo"].capability}).cases
    records = [r for r in measure("gloo", ranks, cases, tmp_path / "run").records() if r.sentinel is None]
    assert {(record.case.operation, record.case.dtype) for record in records} == {
        (operation, dtype) for operation in operations for dtype in plan.dtypes
    }
    for record in records:
        assert record.status in (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE), (record.case, record.error)
        assert record.check.checked > 0 == record.check.wrong
