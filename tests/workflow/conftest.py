"""A run with planted facts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from collmark.core.store import RunFolder
from collmark.workflow.interruption import StopSignals
from collmark.workflow.planning import make_plan
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run

Simulate = Callable[..., RunFolder]


@pytest.fixture
def simulate(tmp_path: Path) -> Simulate:
    """Return a function that carries out a simulated plan and returns its folder."""

    def run(*planted: str, label: str = "", launches: str = "2", **options: str) -> RunFolder:
        given = {"--backend": ["simulated"], "--operation": ["all_reduce"], "--sizes": ["64B:4KiB:x8"]}
        given |= {"--launches": [launches], **{f"--{name}": [text] for name, text in options.items()}}
        plan = make_plan(None, given | ({"--simulate": list(planted)} if planted else {}))
        prepared = prepare(plan, ranks=4, oversubscribe=False, joined=None)
        folder = create_run(prepared, output=tmp_path / "results", label=label, command=["collmark", "run"])
        sink = Sink(emit=lambda _event: None, on_fault=lambda _text: None)
        with StopSignals(lambda _number: None) as signals:
            carry_out(folder, sink, signals)
        return folder

    return run
