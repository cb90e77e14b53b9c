"""``collmark doctor`` as text and as JSON, and what a run says of it; the ranks themselves are not started here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collmark.bench.event import LaunchStarted
from collmark.cli.console import Terminal
from collmark.cli.diagnosis_table import diagnosis_lines
from collmark.cli.progress import Narrator
from collmark.cli.stream import write_event
from collmark.core.doctor.finding import Diagnosis, Finding, Level
from collmark.core.record import Launch, Timer
from collmark.workflow import doctor as workflow
from collmark.workflow.doctor import Examination


def finding(level: Level, check: str = "memlock") -> Finding:
    return Finding(check=check, level=level, where="node-b", found="64 KiB", breaks="it fails", mend="raise it")


BAD = Diagnosis(
    findings=[finding(Level.BLOCKING), finding(Level.WARNING, "governor"), finding(Level.HINT, "iommu")],
    good=["world", "ranks"],
    unknown={"acs": "only root may look"},
)
GOOD = Diagnosis(findings=[], good=["world"], unknown={})


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[[Diagnosis], None]:
    """Return a function that lets the examination find something."""

    def find(diagnosis: Diagnosis) -> None:
        examination = Examination(backend="gloo", launcher="collmark", placement="1x2", diagnosis=diagnosis)
        monkeypatch.setattr(workflow, "examine", lambda *_words, **_named: examination)

    return find


@pytest.mark.manner(14)
def test_findings_are_shown_worst_first_and_block(cli: Callable[..., Any], found: Callable[[Diagnosis], None]) -> None:
    found(BAD)
    result = cli("doctor")
    assert (result.status, result.err) == (3, "")
    assert result.out.splitlines() == [
        "FAIL  memlock: node-b: 64 KiB: it fails -> raise it",
        "WARN  governor: node-b: 64 KiB: it fails -> raise it",
        "hint  iommu: node-b: 64 KiB: it fails -> raise it",
        "skip  acs: only root may look",
        "ok    world, ranks",
        "1 failure, 1 warning, 1 hint, 1 not checked, 2 good; a run would stop here",
    ]


def test_nothing_that_blocks_is_status_0(cli: Callable[..., Any], found: Callable[[Diagnosis], None]) -> None:
    found(GOOD)
    assert (cli("doctor").status, cli("doctor").out) == (0, "ok    world\n1 good\n")
    found(msgspec.structs.replace(GOOD, findings=[finding(Level.WARNING)]))
    assert cli("doctor").status == 0


def test_json_is_one_object(cli: Callable[..., Any], found: Callable[[Diagnosis], None]) -> None:
    found(BAD)
    result = cli("doctor", "--json")
    thing = json.loads(result.out)
    assert (result.status, thing["status"], thing["placement"]) == (3, 3, "1x2")
    assert [one["level"] for one in thing["diagnosis"]["findings"]] == ["blocking", "warning", "hint"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--backend", "simulated"), "--backend simulated: simulated ranks have nothing that could be wrong"),
        (("--backend", "gloo,mpi"), "--backend gloo,mpi: one backend is examined at a time"),
        (("--ranks", "4000"), "--ranks 4000: at most 1024 are started on one host"),
        (("--ranks", "none"), "--ranks none: must be a whole number"),
        (("--backend", "glo"), "did you mean 'gloo'"),
    ],
)
def test_wrong_words_are_answered(cli: Callable[..., Any], words: tuple[str, ...], problem: str) -> None:
    result = cli("doctor", *words)
    assert result.status == 2
    assert problem in result.err


def test_a_launcher_that_tells_no_rank_is_a_finding(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collmark.bench.launchers.joined.parent_name", lambda: "mpiexec")
    result = cli("doctor")
    assert result.status == 3
    assert result.out.startswith("FAIL  ranks: mpiexec started this process but told it no rank: every copy would be")


def test_long_findings_are_folded() -> None:
    long = msgspec.structs.replace(finding(Level.WARNING), found="word " * 60)
    lines = list(diagnosis_lines(msgspec.structs.replace(GOOD, findings=[long]), Terminal()))
    assert max(map(len, lines)) <= Terminal().width()
    assert all(line.startswith("      ") for line in lines[1:-2])


def started(doctor: Diagnosis | None) -> LaunchStarted:
    timer = Timer(name="x", tick=1e-9, cost=1e-8, cost_p99=1e-7, call_overhead=1e-8, loop="native")
    launch = Launch(
        id=1, backend="gloo", placement="1x2", started="2030-01-01T00:00:00Z", launcher="collmark", hosts=[],
        libraries={}, environment={}, timer=timer, scheduling="other", start_seconds=0.5, doctor=doctor,
    )  # fmt: skip
    return LaunchStarted(launch=launch, cases=1)


@pytest.mark.parametrize(("verbosity", "hints"), [(0, 0), (1, 1)])
def test_a_run_says_each_finding_once(capsys: pytest.CaptureFixture[str], verbosity: int, hints: int) -> None:
    narrator = Narrator(Terminal(verbosity=verbosity), [], redraws=False, is_rank=True)
    for event in (started(BAD), started(BAD), started(None)):
        narrator.take(event)
    said = capsys.readouterr().err
    assert said.count("doctor: governor: node-b") == 1
    assert said.count("doctor: iommu: node-b") == hints


def test_a_run_says_nothing_of_what_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    Narrator(Terminal(), [], redraws=False, is_rank=True).take(started(GOOD))
    assert "doctor" not in capsys.readouterr().err


def test_findings_are_an_object_of_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    write_event(Terminal(), started(GOOD))
    assert capsys.readouterr().out == ""
    write_event(Terminal(), started(BAD))
    thing = json.loads(capsys.readouterr().out)
    assert (thing["event"], thing["launch"], len(thing["findings"])) == ("doctor", 1, 3)


def test_an_mpi_that_cannot_be_started_is_a_finding(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from collmark.core.errors import UnavailableError

    def refuse(*_words: object) -> None:
        raise UnavailableError("no mpiexec belongs to it")

    monkeypatch.setattr(workflow, "with_mpi_library", refuse)
    monkeypatch.chdir(tmp_path)
    result = cli("doctor", "--backend", "mpi")
    assert result.status == 3
    assert result.out.startswith("FAIL  launcher: no mpiexec belongs to it: ranks cannot be started")
    assert list(tmp_path.iterdir()) == []
