"""A real rank that enters late by a fifth of L at 1 MiB is named, over gloo and over MPI."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.mpi_libraries import WHEEL, path_of
from tests.multiprocess.program import Program, collmark

from collmark.bench import scheduling
from collmark.core.record import ENTERS

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
LATE, SHARE = 1, 0.2
# In the rank's own process, after the agreed start and before the clock is read. The native loop of MPI agrees on
# starts by itself where ranks share a page; without it, the loop times one call at a time, as across hosts.
HOOK = """
import sys, time
if any("collmark.bench.process" in word for word in sys.orig_argv):
    from collmark.bench import rank, start_page
    start_page.make_page = lambda nbytes: None
    make = rank.Rank.__init__
    def make_late(self, number, session, await_start, *more):
        def wait(timeout):
            await_start(timeout)
            ends = time.monotonic_ns() + {nanoseconds} * (number == {late})
            while time.monotonic_ns() < ends:
                pass
        make(self, number, session, wait, *more)
    rank.Rank.__init__ = make_late
"""


def run(start: Start, folder: Path, backend: str, delay: float) -> Program:
    """Carry out a run of one case whose rank 1 enters late by `delay` s."""
    (folder / "sitecustomize.py").write_text(HOOK.format(nanoseconds=round(delay * 1e9), late=LATE))
    library = ("--mpi-library", path_of(WHEEL)) if backend == "mpi" else ()
    # Gloo's own threads are moved about by the scheduler otherwise, and T lies in two modes on a small machine.
    policy = ("--scheduling", "fifo") if backend == "gloo" and not scheduling.refusal() else ()
    output = folder / f"results-{delay:g}-{len(list(folder.iterdir()))}"
    program = start(
        *collmark("run", "--json", "--backend", backend, *library, *policy, "--output", str(output)),
        *("--operation", "all_reduce", "--sizes", "1MiB"),
        *("--ranks", "2", "--launches", "3", "--case-budget", "1 s"),
        PYTHONPATH=str(folder),
    )
    assert program.end(110) == 0, program.errors
    return program


def of_plan(program: Program) -> list[dict[str, Any]]:
    """Return the records of a run, sentinels apart."""
    return [record for record in program.events("record") if record["sentinel"] is None]


def is_steady(records: list[dict[str, Any]], delay: float) -> bool:
    """Whether ranks had the machine for themselves: times that count, alike, entered together."""
    if any(record["status"] not in ENTERS for record in records):  # it would not count
        return False
    times = [record["timing"]["median"] for record in records]
    together = all(record["ranks"]["skew"] < delay / 4 for record in records) if delay else True
    return together and max(times) < 2 * min(times)


@pytest.mark.parametrize("backend", ["gloo", "mpi"])
def test_a_delay_of_a_fifth_of_the_operation_is_named(start: Start, tmp_path: Path, backend: str) -> None:
    for _attempt in range(5):
        quiet = of_plan(run(start, tmp_path, backend, 0.0))
        delay = SHARE * statistics.median(record["timing"]["median"] for record in quiet)
        if not is_steady(quiet, delay):
            continue
        program = run(start, tmp_path, backend, delay)
        if is_steady(of_plan(program), 0.0):
            assert_named(program.events("end")[0], backend, delay)
            return
    pytest.skip("other work on this machine keeps ranks from entering together")


def assert_named(end: dict[str, Any], backend: str, delay: float) -> None:
    (late,) = [one for one in end["stragglers"] if one["end"] == "entered"]
    assert (late["rank"], late["ranks"], late["what"]) == (LATE, 2, f"{backend} 1x2")
    assert late["host"]
    assert late["chance"] <= 0.001
    assert late["share"]["value"] > 0.5
    assert late["seconds"]["value"] > delay / 2
    assert late["seconds"]["interval"]["over"] == "launches"
    assert any(
        words.startswith(f"rank {LATE} (") and " enters late in 1 of 1 case" in words for words in end["findings"]
    )
