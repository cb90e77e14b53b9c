"""Results to report on: ordinary, hostile, empty, and a simulated run on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.analysis.figures.tables import HOSTILE
from tests.analysis.made import case_of, curve, noisy, record_of, replaced, results_of
from tests.analysis.report.browser import Browser, find_browser

from collmark.analysis.claims.finding import Figure, Finding, Kind, Part, Verdict
from collmark.analysis.report.write import Format
from collmark.analysis.results import Results, load
from collmark.core.case import Cadence
from collmark.core.estimate import Estimate
from collmark.core.placement import Placement, Tier
from collmark.core.plan import Plan
from collmark.core.record import Check, Evidence, Host, Launch, Outcome, Status, Timer
from collmark.workflow.interruption import StopSignals
from collmark.workflow.prepare import prepare
from collmark.workflow.report import make_report
from collmark.workflow.run import Sink, carry_out, create_run

STAMP = "2030-01-01T00:00:00Z"
ESTIMATE = Estimate(value=8.1, lower=8.0, upper=8.3, method="made", count=5, over="launches")


def finding(verdict: Verdict = Verdict.FAILS, kind: Kind = Kind.MEASURED, **changes: object) -> Finding:
    """Return a finding with all that one may have."""
    values: dict[str, Any] = {
        "claim": "gap-18x", "sentence": "NVLink is 18 times InfiniBand", "claimed": "18 x/1.2",
        "found": Figure(name="stream, one pair", value=8.1, estimate=ESTIMATE), "band": (15.0, 21.6),
        "by": "stream, 5 launches", "steps": ("450 / 50 = 9",), "evidence": ("a run",), "rule": "within 1.2",
        "would_change": "another NIC", "command": "collmark run", "also": (Figure(name="paper", value=9.0),),
        "parts": (Part(says="one of two", verdict=verdict, claimed="18"),), "notes": ("look out",),
    }  # fmt: skip
    return Finding(kind=kind, verdict=verdict, **{**values, **changes})


def launch_of(number: int, words: str = "plain", **changes: object) -> Launch:
    """Return a launch on one host, its facts in words of one's choice."""
    timer = Timer(name=words, tick=1e-9, cost=1e-8, cost_p99=1e-7, call_overhead=1e-8, loop=words)
    launch = Launch(
        id=number, backend="gloo", placement="1x2", started=STAMP, launcher=words, timer=timer, scheduling=words,
        hosts=[Host(name=words, ranks=[0, 1], cores=1, cpu=words, system=words, governor=words)],
        libraries={words: words}, environment={words: words}, start_seconds=0.1, outcome=Outcome.COMPLETE,
    )  # fmt: skip
    return msgspec.structs.replace(launch, **changes)


def with_launches(results: Results, words: str = "plain", **changes: object) -> Results:
    """Return results whose run tells of its launches."""
    numbers = sorted({record.launch for record in results.records})
    run = msgspec.structs.replace(results.run, launches=[launch_of(number, words) for number in numbers], **changes)
    return msgspec.structs.replace(results, run=run)


@pytest.fixture(scope="session")
def ordinary() -> Results:
    """Return two operations over three launches."""
    return with_launches(results_of([*noisy(curve()), *noisy(curve("ping_pong", alpha=5e-6), seed=6)]))


@pytest.fixture(scope="session")
def hostile() -> Results:
    """Return results in which every text that a file can hold is hostile."""
    placement = Placement(ranks_per_node=2, label=HOSTILE)
    evidence = Evidence(tier=Tier.LOOPBACK, because=[HOSTILE])
    records = [
        replaced(record, evidence=evidence, error=HOSTILE, check=Check(checked=10, wrong=0, first=HOSTILE))
        for record in [*noisy(curve()), *noisy(curve(of_case={"placement": placement}))]
    ]
    failed = record_of(case_of(nbytes=12345), None, error=HOSTILE, evidence=evidence)
    wrong = replaced(records[3], status=Status.WRONG, timing=None, check=Check(checked=9, wrong=1, first=HOSTILE))
    results = results_of([*records, failed, wrong], name=HOSTILE)
    return with_launches(
        results, HOSTILE, label=HOSTILE, created=HOSTILE, version=HOSTILE, command=[HOSTILE], notices=[HOSTILE]
    )


@pytest.fixture(scope="session")
def empty() -> Results:
    """Return a run without any record."""
    return results_of([], name="empty")


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return a simulated run on disk, with raw samples."""
    plan = Plan(
        backends=("simulated",), operations=("all_reduce", "barrier"), sizes="64B:1MiB:x4", launches=3,
        cadences=(Cadence.ISOLATED, Cadence.STREAMING),
        simulation={"launch_sd": 0.02, "within_cv": 0.05},
    )  # fmt: skip
    prepared = prepare(plan, ranks=4, oversubscribe=False, joined=None)
    folder = create_run(prepared, output=tmp_path_factory.mktemp("report"), label="sim", command=["collmark", "run"])
    with StopSignals(lambda _number: None) as signals:
        carry_out(folder, Sink(emit=lambda _event: None, on_fault=lambda _text: None), signals)
    return load(folder)


@pytest.fixture(scope="session")
def reference() -> Results:
    """Return the reference run of the repository."""
    from collmark.core.store import RunFolder

    (path,) = (Path(__file__).parents[3] / "results" / "reference").glob("*/")
    return load(RunFolder(path))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser for the tests of one file, which are marked IN_A_BROWSER."""
    program = find_browser()
    assert program is not None
    with Browser(program) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(simulated: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of one simulated run."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(make_report([simulated], Format.HTML).text, encoding="utf-8")
    return path
