"""The table of checks, and the page that documents it.

To write the page's table anew: ``COLLMARK_WRITE_CHECKS=1 .venv/bin/pytest tests/core/doctor/test_table.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from collmark.core.doctor.check import Check, NotTold, Seen, differing
from collmark.core.doctor.facts import Facts, RankFacts
from collmark.core.doctor.finding import Diagnosis, Finding, Level
from collmark.core.doctor.network import matches
from collmark.core.doctor.table import CHECKS, MOST_FINDINGS, diagnose

PAGE = Path(__file__).parents[3] / "docs/doctor.md"
BEGIN, END = "<!-- checks -->\n", "<!-- end of checks -->\n"
NOTHING = Facts(backend="gloo")


def table() -> Iterator[str]:
    yield "| check | looks at | what a finding breaks | how to mend it | sources |\n|---|---|---|---|---|\n"
    for name, check in CHECKS.items():
        cells = (name, check.looks, check.breaks, check.mend, "; ".join(check.sources))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def test_the_page_holds_every_check() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    there, after = rest.split(END)
    if os.environ.get("COLLMARK_WRITE_CHECKS"):
        there = "".join(table())
        PAGE.write_text(f"{before}{BEGIN}{there}{END}{after}", encoding="utf-8")
    assert there == "".join(table()), "docs/doctor.md does not hold the checks that there are; see the top of this test"


def check(*seen: Seen | NotTold, applies: bool = True) -> Check:
    return Check(looks="x", breaks="it breaks", mend="mend it", rule=lambda _: iter(seen), applies=lambda _: applies)


def test_findings_come_worst_first_and_with_the_words_of_their_check() -> None:
    checks = {
        "one": check(Seen(level=Level.HINT, found="a")),
        "two": check(Seen(level=Level.BLOCKING, found="b\nc", hosts=("host",), mend="otherwise")),
        "three": check(Seen(level=Level.WARNING, found="d", breaks="other")),
    }
    found = diagnose(NOTHING, checks)
    assert [one.check for one in found.findings] == ["two", "three", "one"]
    assert str(found.findings[0]) == "two: host: b c: it breaks -> otherwise"
    assert str(found.findings[1]) == "three: d: other -> mend it"
    assert [one.check for one in found.blocking] == ["two"]
    assert [one.check for one in found.notable] == ["two", "three"]
    assert found.words() == "1 failure, 1 warning, 1 hint, 0 good"


def rank(number: int, host: str) -> RankFacts:
    return RankFacts(rank=number, host=host)


def test_the_same_in_several_places_is_one_finding() -> None:
    seen = [
        Seen(level=Level.WARNING, found="a", ranks=(rank(number, f"host{number // 2}"),)) for number in (3, 0, 1, 2)
    ]
    hosts = [Seen(level=Level.HINT, found="b", hosts=(f"host{number}",)) for number in range(9)]
    one, other = diagnose(NOTHING, {"x": check(*seen, *hosts)}).findings
    assert one.where == "ranks 0-3 (host1, host0)"
    assert other.where == "host0, host1, host2, host3 and 5 more"


def test_many_different_findings_are_counted() -> None:
    seen = [Seen(level=Level.WARNING, found=f"{number}", hosts=(f"host{number}",)) for number in range(5000)]
    found = diagnose(NOTHING, {"x": check(*seen, Seen(level=Level.BLOCKING, found="worst"))}).findings
    assert len(found) == MOST_FINDINGS
    assert found[0].found == "worst"
    assert found[-1].found.endswith(" (and 4993 more like it)")


def test_what_is_not_told_is_neither_good_nor_bad() -> None:
    checks = {"one": check(NotTold(why="no file")), "two": check(), "three": check(applies=False)}
    found = diagnose(NOTHING, checks)
    assert (found.findings, found.good, found.unknown) == ([], ["two"], {"one": "no file"})
    assert found.words() == "1 not checked, 1 good"


def test_what_is_not_told_of_one_host_hides_nothing_of_another() -> None:
    found = diagnose(NOTHING, {"one": check(NotTold(why="no file"), Seen(level=Level.WARNING, found="a"))})
    assert [one.found for one in found.findings] == ["a"]
    assert found.unknown == {"one": "no file"}


def test_a_diagnosis_can_be_stored() -> None:
    finding = Finding(check="x", level=Level.WARNING, where="", found="a", breaks="b", mend="c")
    diagnosis = Diagnosis(findings=[finding], good=["y"], unknown={"z": "w"})
    assert msgspec.json.decode(msgspec.json.encode(diagnosis), type=Diagnosis) == diagnosis
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"findings": [], "good": [], "unknown": {}, "more": 1}', type=Diagnosis)


@pytest.mark.parametrize(
    ("asked", "name", "exact", "expected"),
    [
        ("eth", "eth0", False, True), ("eth", "ib0", False, False), ("=eth0", "eth0", False, True),
        ("=eth0", "eth01", False, False), ("^docker,lo", "eth0", False, True), ("^docker,lo", "docker0", False, False),
        ("^=docker0", "docker01", False, True), ("eth0", "eth01", True, False), ("eth0,ens3", "ens3", True, True),
        ("mlx5_0:1,mlx5_1:1", "mlx5_1", False, True), ("", "eth0", False, False),
    ],
)  # fmt: skip
def test_names_are_matched_as_the_library_does(asked: str, name: str, exact: bool, expected: bool) -> None:  # noqa: FBT001
    assert matches(asked, name, exact=exact) is expected


def test_values_that_differ_are_counted_where_they_are_many() -> None:
    words = differing((f"host{number}", f"{number % 9}") for number in range(90))
    assert words.count(";") == 4
    assert words.endswith("and 5 other values")
    assert "and 6 more" in words
