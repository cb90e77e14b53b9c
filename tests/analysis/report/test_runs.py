"""Two runs in one report: what changed, case by case, where there is something to compare."""

from __future__ import annotations

import re

import msgspec
from tests.analysis.made import curve, noisy, results_of, times

from collmark.analysis.compare.compare import compare
from collmark.analysis.compare.side import Side
from collmark.analysis.report.changes import changed, changes_table
from collmark.analysis.report.content import Drawing, Table, Text
from collmark.analysis.report.index import SECTIONS
from collmark.analysis.report.material import gather
from collmark.analysis.results import Results
from collmark.core.record import Record


def named(records: list[Record], name: str) -> Results:
    made = results_of(records, name)
    return msgspec.structs.replace(made, run=msgspec.structs.replace(made.run, label=name))


def test_what_changed_is_counted_drawn_and_listed_worst_first() -> None:
    before = noisy(curve(levels=(0.99, 1.0, 1.01)), sd=0.005)
    after = [times(record, 1.3 if record.case.nbytes > 1 << 20 else 1.0) for record in before]
    section = SECTIONS["runs"].build(gather([named(before, "before"), named(after, "after")]))
    assert section is not None
    text, counts, drawing, table = section.blocks
    assert isinstance(text, Text)
    assert text.lead == "after against before."
    assert isinstance(counts, Table)
    assert [[cell.text for cell in row[1:]] for row in counts.rows] == [
        ["all_reduce", "up to 4 KiB", "0", "0", "5", "0", "1.00 to 1.00"],
        ["all_reduce", "to 1 MiB", "0", "0", "4", "0", "1.00 to 1.00"],
        ["all_reduce", "above 1 MiB", "3", "0", "0", "0", "1.30 to 1.30"],
    ]
    assert isinstance(drawing, Drawing)
    assert drawing.title == (
        "all_reduce: after against before, 12 comparisons: 3 slower, 0 faster, 9 no evidence, 0 cannot tell; slowest: "
        "4 MiB, 30 % slower"
    )
    assert isinstance(table, Table)
    assert [row[-1].text for row in table.rows] == ["slower"] * 3 + ["no evidence"] * 9


def test_of_three_runs_two_stand_against_the_first() -> None:
    runs = [named(noisy(curve(), seed=seed), name) for seed, name in enumerate(("a", "b", "c"))]
    section = SECTIONS["runs"].build(gather(runs))
    assert section is not None
    assert [block.lead for block in section.blocks if isinstance(block, Text)] == ["b against a.", "c against a."]


def test_the_first_screen_says_of_what_it_counts() -> None:
    before = [*noisy(curve(levels=(0.99, 1.0, 1.01)), sd=0.005), *noisy(curve("broadcast", levels=(0.99, 1.0, 1.01)))]
    before += curve("barrier", sizes=(0,), levels=(0.99, 1.0, 1.01))
    after = [times(record, 1.3 if record.case.operation == "broadcast" else 1.0) for record in before]
    material = gather([named(before, "before"), named(after, "after")])
    summary, section = SECTIONS["summary"].build(material), SECTIONS["runs"].build(material)
    assert summary is not None
    assert section is not None
    (carrier,), (all_of_them,) = ([one for one in own.blocks if isinstance(one, Drawing)] for own in (summary, section))
    found = summary.blocks[0]
    assert isinstance(found, Text)
    # The sentence counts what has no size too; a picture what it can draw, and of which panel it is.
    assert "after against before, 25 comparisons: 12 slower" in found.words
    assert carrier.title.startswith("broadcast: after against before, 12 comparisons: 12 slower, 0 faster, 0 no ")
    assert carrier.caption.endswith("Counted above it is this panel alone; 1 more in Runs.")
    assert all_of_them.title.startswith("after against before, 24 comparisons in 2 panels: 12 slower, 0 faster, 12 no")
    assert "alone" not in all_of_them.caption


def test_many_runs_are_counted_together() -> None:
    runs = [named(noisy(curve(sizes=(1024, 65536)), seed=seed), f"r{seed}") for seed in range(5)]
    runs[3] = named([times(record, 1.5) for record in runs[0].records], "r3")
    section = SECTIONS["runs"].build(gather(runs))
    assert section is not None
    (drawing,) = (one for one in section.blocks if isinstance(one, Drawing))
    assert drawing.title.startswith("4 runs against r0, 8 comparisons in 4 panels: 2 slower, ")
    assert re.search(r"; slowest: all_reduce, r3, (1|64) KiB, 50 % slower$", drawing.title)


def test_runs_that_share_no_case_are_not_compared() -> None:
    one, other = named(curve("all_reduce"), "a"), named(curve("all_gather"), "b")
    assert SECTIONS["runs"].build(gather([one, other])) is None
    assert SECTIONS["runs"].build(gather([one])) is None


def test_cases_that_are_in_one_run_only_are_told_with_the_reason() -> None:
    one, other = named(curve("all_reduce"), "a"), named([*curve("all_reduce"), *curve("broadcast")], "b")
    section = SECTIONS["runs"].build(gather([one, other]))
    assert section is not None
    words = section.blocks[0]
    assert isinstance(words, Text)
    assert words.words == "Differs: nothing that was recorded. 12 cases not compared (broadcast: no broadcast there)."


def test_what_is_slower_is_told_before_what_is_faster_by_more() -> None:
    before, after = (
        Side(name=name, results=(results_of([*curve(alpha=alpha), *curve("all_gather", alpha=other)], name),))
        for name, alpha, other in (("a", 20e-6, 20e-6), ("b", 8e-6, 26e-6))
    )
    found = compare(before, [after])
    assert "; most slower: all_gather 16 B" in changed(found)
    assert [row[0].text for row in changes_table(found, "verdicts", 5).rows] == ["all_gather", "all_reduce"]


def test_of_more_runs_than_colours_each_has_a_panel_the_most_changed_first() -> None:
    runs = [results_of(noisy(curve(), seed=night), f"20300101T00000{night}Z-night{night}") for night in range(6)]
    slower = [times(record, 1.3) for record in noisy(curve(), seed=9)]
    material = gather([*runs, results_of(slower, "20300101T000009Z-slow")])
    assert material.changed is not None
    panels = list(material.changed["panel"].unique())
    assert len(panels) == 6
    assert panels[0] == "all_reduce, slow"
    assert (material.changed.groupby("panel")["other"].nunique() == 1).all()
