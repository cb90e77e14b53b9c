"""Words to findings: ids and runs told apart, each run once, a gate that lets nothing pass in silence."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from collmark.analysis.claims.finding import Finding, Kind, Verdict
from collmark.core.errors import UsageError
from collmark.workflow.claims import Gate, Judgement, Wanted, as_object, gate, judge_claims

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with the small reference run."""
    shutil.copytree(REFERENCE, tmp_path / "results")
    return tmp_path / "results"


def test_arithmetic_needs_no_run(tmp_path: Path) -> None:
    found = judge_claims(Wanted(output=tmp_path / "nowhere"))
    assert sum(found.counts.values()) == len(found.findings) == 54
    assert found.counts[Verdict.NO_DATA] == 27
    assert "no run named" in found.remarks[0]
    assert found.commands


def test_measured_rows_of_a_laptop_say_no_data(root: Path) -> None:
    found = judge_claims(Wanted(words=["latest"], output=root))
    assert not found.remarks
    assert len(found.runs) == 1
    measured = [finding for finding in found.findings if finding.kind is Kind.MEASURED]
    assert len(measured) == 15
    assert {finding.verdict for finding in measured} == {Verdict.NO_DATA}
    assert all(finding.command for finding in measured)


def test_words_are_ids_or_runs(root: Path) -> None:
    found = judge_claims(Wanted(words=["ndr-50", "latest", "gap-18x", "ndr-50"], output=root))
    assert found.named == ("ndr-50", "gap-18x")
    assert [claim.id for claim in found.claims] == ["ndr-50", "gap-18x"]
    assert len(found.runs) == 1


def test_run_named_twice_counts_once(root: Path) -> None:
    (path,) = root.iterdir()
    found = judge_claims(Wanted(words=[str(path), "latest", "reference"], output=root))
    assert len(found.runs) == 1


def test_runs_of_one_name_are_told_apart(root: Path, tmp_path: Path) -> None:
    (path,) = root.iterdir()
    other = tmp_path / "elsewhere" / path.name
    shutil.copytree(path, other)
    found = judge_claims(Wanted(words=[str(path), str(other)], output=root))
    assert found.runs == (path.name, str(other))


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("gap-18", "did you mean 'gap-18x'?"),
        ("refrence", "did you mean 'reference'?"),
        ("lates", "did you mean 'latest'?"),
        ("xyzzy", "is no claim, and as a run"),
        ("", "is no claim"),
    ],
)
def test_word_that_is_neither_is_answered_with_the_nearest(root: Path, word: str, wanted: str) -> None:
    with pytest.raises(UsageError) as raised:
        judge_claims(Wanted(words=[word], output=root))
    assert wanted in str(raised.value)


def test_kinds_are_kept_apart() -> None:
    found = judge_claims(Wanted(kinds=["S,W"]))
    assert {str(finding.kind) for finding in found.findings} == {"S", "W"}
    assert not found.remarks
    with pytest.raises(UsageError, match="allowed: S, W, M, P"):
        judge_claims(Wanted(kinds=["X"]))
    with pytest.raises(UsageError, match="none of ndr-50 has kind P"):
        judge_claims(Wanted(words=["ndr-50"], kinds=["P"]))


def test_tier_for_all_only_narrows() -> None:
    found = judge_claims(Wanted(tier_b="infiniband@ndr", kinds=["M"]))
    by_id = {finding.claim: finding for finding in found.findings}
    assert "infiniband@ndr" in by_id["gap-18x"].by
    assert "nvlink, infiniband@ndr" in by_id["moe-a2a"].by
    assert by_id["roce-parity"].by == "no records of roce, infiniband@ndr"
    assert by_id["ib-latency-2us"].by == "no records of infiniband@ndr"
    assert by_id["nvlink4-900"].by == "no records of nvlink@nvlink4"
    assert not found.warnings


def test_tier_used_for_nothing_is_said() -> None:
    found = judge_claims(Wanted(tier_a="loopback"))
    assert found.warnings == (
        "--tier-a loopback was used for no claim: it narrows no row's own tier; name the claims it is for",
    )
    assert not judge_claims(Wanted(words=["gap-18x"], tier_a="loopback")).warnings
    with pytest.raises(UsageError, match=r"--tier-a nvlnk: unknown tier"):
        judge_claims(Wanted(tier_a="nvlnk"))


def made(*verdicts: Verdict, named: tuple[str, ...] = (), marker: str = "") -> Judgement:
    findings = [
        Finding(claim=f"c{n}", sentence="It is.", kind=Kind.MEASURED, verdict=verdict, claimed="1", marker=marker)
        for n, verdict in enumerate(verdicts)
    ]
    return Judgement(
        findings=tuple(findings),
        claims=(),
        named=named,
        runs=(),
        rules={},
        out_of_scope=(),
        commands=(),
        remarks=(),
        warnings=(),
    )


HOLDS, FAILS, OPEN, NONE = Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE, Verdict.NO_DATA


@pytest.mark.parametrize(
    ("verdicts", "named", "passed", "words"),
    [
        ((HOLDS, HOLDS), (), True, "passed, 2 hold"),
        ((HOLDS, NONE), (), True, "passed, 1 hold; 1 not decided, and so not checked"),
        ((HOLDS, FAILS), (), False, "FAILED, 1 fail: c1 M"),
        ((NONE, NONE), (), False, "FAILED, nothing was decided"),
        ((NONE, OPEN), (), False, "FAILED, nothing was decided"),
        ((), (), False, "FAILED, nothing was decided"),
        ((HOLDS, HOLDS), ("c0", "c1"), True, "passed, 2 hold"),
        ((HOLDS, NONE), ("c0", "c1"), False, "FAILED, asked for and not decided: c1 M"),
        ((HOLDS, OPEN), ("c0", "c1"), False, "FAILED, asked for and not decided: c1 M"),
        ((FAILS, NONE), ("c0", "c1"), False, "FAILED, 1 fail: c0 M"),
    ],
)
def test_gate(verdicts: tuple[Verdict, ...], named: tuple[str, ...], passed: bool, words: str) -> None:  # noqa: FBT001
    assert gate(made(*verdicts, named=named)) == Gate(passed=passed, words=words)


def test_simulated_figures_pass_no_gate() -> None:
    assert not gate(made(HOLDS, marker="simulated")).passed


def test_object_is_in_si_units() -> None:
    found = as_object(judge_claims(Wanted(words=["ndr-50", "pp-size", "fit-gpus", "tp-18gb"])), scope=True, result=None)
    by_id = {(one["claim"], one["kind"]): one for one in found["findings"]}
    figure = {"name": "found", "value": 50e9, "unit": "B/s", "estimate": None, "over": "", "under": ""}
    assert by_id["ndr-50", "S"]["found"] == figure
    assert by_id["ndr-50", "S"]["band"] == [49.5e9, 50.5e9]
    assert by_id["pp-size", "W"]["found"]["value"] == pytest.approx(8192 * 8192 * 2)
    assert by_id["pp-size", "W"]["band"] == pytest.approx([1.5e9, 4.5e9])
    assert {figure["unit"] for figure in by_id["tp-18gb", "W"]["also"]} == {"", "s"}
    parts = by_id["fit-gpus", "W"]["parts"]
    assert [part["verdict"] for part in parts] == ["fails", "holds"]
    assert parts[1]["found"]["value"] == 560e9
    assert found["out_of_scope"]
    assert "interval" in found["rules"]
    assert "gate" not in found
    assert msgspec.json.decode(msgspec.json.encode(found))["claims"] == 4
