"""Raw repetitions: the same T that the record's summary has, read for the cases asked for only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.made import curve, results_of

from collmark.analysis.figures.rank_shares import RANK, rank_shares
from collmark.analysis.figures.repetitions import REPETITION, repetitions
from collmark.analysis.results import Results, load
from collmark.core.plan import Plan
from collmark.core.record import SampleReference
from collmark.core.store import RunFolder, read_samples
from collmark.workflow.interruption import StopSignals
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run

OPERATIONS = ("all_reduce", "broadcast", "ping_pong", "stream")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return a simulated run of every kind of T."""
    plan = Plan(
        backends=("simulated",), operations=OPERATIONS, sizes="64B:4KiB:x8", launches=2,
        simulation={"within_cv": 0.1, "skew": 1e-6},
    )  # fmt: skip
    prepared = prepare(plan, ranks=3, oversubscribe=False, joined=None)
    folder = create_run(prepared, output=tmp_path_factory.mktemp("raw"), label="raw", command=["collmark"])
    with StopSignals(lambda _number: None) as signals:
        carry_out(folder, Sink(emit=lambda _event: None, on_fault=lambda _text: None), signals)
    return load(folder)


def asked(results: Results) -> dict[tuple[str, str], str]:
    """Return all cases of a run with what T is."""
    return {(results.name, record.case.key): record.case.estimand.value for record in results.records}


def test_medians_are_those_of_the_records(measured: Results) -> None:
    kept = [record for record in measured.records if record.sentinel is None]
    table, problems = repetitions([measured], asked(measured))
    assert problems == []
    assert list(table.columns) == list(REPETITION)
    medians = table.groupby(["case", "launch"])["seconds"].median()
    assert {record.case.operation for record in kept} == set(OPERATIONS)
    for record in kept:
        assert record.timing is not None
        assert medians[record.case.key, record.launch] == pytest.approx(record.timing.median, rel=1e-9)


def test_t_is_what_the_curve_has_it_to_be(measured: Results) -> None:
    # A record of L on a curve on which clocks could not always be compared.
    longest = dict.fromkeys(asked(measured), "D_max")
    table, _problems = repetitions([measured], longest)
    medians = table.groupby(["case", "launch"])["seconds"].median()
    for record in measured.records:
        if record.sentinel is None and record.case.operation == "all_reduce":
            assert record.timing is not None
            assert record.ranks is not None
            assert medians[record.case.key, record.launch] == pytest.approx(record.ranks.longest, rel=1e-9)
            assert record.ranks.longest > record.timing.median


def test_only_what_was_asked_for_is_read(measured: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def watched(folder: RunFolder, reference: SampleReference) -> NDArray[np.int64]:
        read.append(reference)
        return read_samples(folder, reference)

    monkeypatch.setattr("collmark.analysis.figures.repetitions.read_samples", watched)
    (_run, case), estimand = next(iter(asked(measured).items()))
    repetitions([measured], {(measured.name, case): estimand})
    assert len(read) == sum(r.case.key == case and r.sentinel is None for r in measured.records)


def test_damaged_and_missing_samples_are_told(measured: Results) -> None:
    assert measured.folder is not None
    path = measured.folder.path / "samples-0001.i64"
    whole = path.read_bytes()
    keys = asked(measured)
    try:
        path.write_bytes(bytes(len(whole)))
        table, problems = repetitions([measured], keys)
        assert any("checksum" in problem for problem in problems)
        assert set(table["launch"]) == {2}
        path.unlink()
        assert any("No such file" in problem for problem in repetitions([measured], keys)[1])
    finally:
        path.write_bytes(whole)


def test_results_in_memory_have_none() -> None:
    table, problems = repetitions([results_of(curve())], {("made", "x"): "L"})
    assert table.empty
    assert problems == []
    assert list(table.columns) == list(REPETITION)


def test_rank_shares_sum_to_the_repetitions(measured: Results) -> None:
    table = rank_shares([measured])
    assert list(table.columns) == list(RANK)
    sums = table.groupby(["panel", "launch"])[["last"]].sum()["last"]
    totals = table.groupby(["panel", "launch"])["repetitions"].first()
    assert np.array_equal(sums, totals)
    assert set(table["end"]) == {"entered", "left"}
    assert set(table["rank"]) == {0, 1, 2}


def test_a_single_rank_is_never_last() -> None:
    assert rank_shares([results_of(curve(ranks=1))]).empty


def test_folder_of_the_samples_is_the_runs(measured: Results) -> None:
    assert measured.folder is not None
    assert isinstance(measured.folder.path, Path)
