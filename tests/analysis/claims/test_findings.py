"""What holds for all findings: no verdict without data, every rule said, commands that exist."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from collmark.analysis.claims.finding import Finding, Kind, Verdict
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.measurement import Tiers, commands_for
from collmark.analysis.claims.table import Table, load_table
from collmark.bench.backends.index import BACKENDS
from collmark.core.operation_table import OPERATIONS
from collmark.core.sweep import parse_sweep

FLAGS = Path(__file__).parents[2] / "architecture" / "flags.txt"
COMING = {"nccl"}  # backends that are named before they are there
Bare = dict[tuple[str, str], Finding]


def test_there_are_45_claims_and_54_verdicts(table: Table, bare: Bare) -> None:
    assert (len(table.claims), len(bare)) == (45, 54)
    kinds = [kind for _claim, kind in bare]
    assert {kind: kinds.count(kind) for kind in ("S", "W", "M", "P")} == {"S": 8, "W": 19, "M": 15, "P": 12}


def test_nothing_but_arithmetic_is_decided_without_data(bare: Bare) -> None:
    for (_claim, kind), finding in bare.items():
        if kind in ("M", "P"):
            assert (finding.verdict, finding.found) == (Verdict.NO_DATA, None)
        else:
            assert finding.verdict in (Verdict.HOLDS, Verdict.FAILS)
            assert finding.found is not None


def test_projections_say_what_they_need(bare: Bare) -> None:
    for (_claim, kind), finding in bare.items():
        if kind == "P":
            assert finding.by == "needs a layout projection"
            assert finding.would_change.startswith("a projection: ")
            assert not finding.command


def test_every_finding_says_its_rule_and_what_would_change_it(bare: Bare) -> None:
    for finding in bare.values():
        assert finding.rule
        assert finding.would_change
        assert finding.claimed
        assert finding.sentence.endswith(".")


def test_verdict_of_a_compound_claim_is_that_of_its_parts(bare: Bare) -> None:
    compound = [finding for finding in bare.values() if finding.parts]
    assert len(compound) >= 6
    for finding in compound:
        fails = [part for part in finding.parts if part.verdict is Verdict.FAILS]
        assert finding.verdict is (Verdict.FAILS if fails else Verdict.HOLDS)
        shown = (fails or list(finding.parts))[0]
        assert (finding.found, finding.claimed) == (shown.found, shown.claimed)
        assert shown.says in finding.by


def test_contradictions_are_said_on_both_sides(table: Table) -> None:
    by_id = {claim.id: claim for claim in table.claims}
    rivals = [(claim.id, rival) for claim in table.claims for rival in claim.rivals]
    assert rivals
    for one, other in rivals:
        assert one in by_id[other].rivals


def test_workload_row_without_a_closed_form_is_no_data(tmp_path: Path) -> None:
    file = tmp_path / "open.toml"
    file.write_text(
        '[[claims]]\nid = "open"\nsentence = "It is 1."\n[claims.W]\nclosed_form = false\npredicate = "figure"\n'
        'rule = "rounding"\nclaimed = 1\nparameters = { of = 1 }\n',
        encoding="utf-8",
    )
    table = load_table([file])
    (finding,) = judge(table.of(["open"]), table.rules)
    assert (finding.verdict, finding.by) == (Verdict.NO_DATA, "needs a workload model")


def collmark_words(command: str) -> list[list[str]]:
    """Return the words of each call of collmark in a line for a shell."""
    return [part.split() for part in re.findall(r"collmark [^;&]*", command)]


def check(words: list[str], flags: set[str]) -> None:
    _program, command, *rest = words
    known = {flag for line in flags if line.startswith(f"collmark {command} ") for flag in line.split()[2:]}
    assert known, f"no such command: {command}"
    for word in rest:
        assert not word.startswith("-") or word in known, f"collmark {command} has no {word}"
    given = dict(pairwise(rest))
    if command == "run":
        assert given["--backend"] in {*BACKENDS, *COMING}
        assert all(name in OPERATIONS for name in given["--operation"].split(","))
        assert list(parse_sweep(given["--sizes"]))


def flags() -> set[str]:
    return set(FLAGS.read_text(encoding="utf-8").splitlines())


def test_commands_are_made_of_what_exists(bare: Bare, table: Table) -> None:
    measured = [finding for (_claim, kind), finding in bare.items() if kind == "M"]
    lines = [finding.command for finding in measured] + list(commands_for(table.claims, Tiers()))
    assert len(measured) == 15
    for line in lines:
        calls = collmark_words(line)
        assert calls
        for words in calls:
            check(words, flags())


def test_last_command_judges_what_the_others_measured(bare: Bare) -> None:
    for (claim, kind), finding in bare.items():
        if kind == "M":
            *measuring, last = collmark_words(finding.command)
            assert last[:3] == ["collmark", "claims", claim]
            if "$pair" not in finding.command:
                runs = [
                    words[words.index(option) + 1]
                    for words in measuring
                    for option in ("--label", "--into")
                    if option in words
                ]
                assert last[3:] == runs


def test_folders_of_a_tier_take_one_plan_each(table: Table) -> None:
    folders = [line.partition("--into ")[2] for line in commands_for(table.claims, Tiers()) if "--into" in line]
    assert len(folders) == len(set(folders))


@pytest.mark.parametrize("kind", ["S", "W"])
def test_steps_carry_units(bare: Bare, kind: str) -> None:
    for (_claim, own), finding in bare.items():
        if own == kind and finding.found is not None and finding.found.unit:
            assert finding.found.unit.split("/")[0].lstrip("kMGTP") in " ".join(finding.steps)


def test_kinds_come_in_one_order(table: Table) -> None:
    order = [Kind.LINK, Kind.WORKLOAD, Kind.MEASURED, Kind.PROJECTED]
    for claim in table.claims:
        kinds = [aspect.kind for aspect in claim.aspects]
        assert kinds == sorted(kinds, key=order.index)
