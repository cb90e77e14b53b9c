"""A report says what imported figures are where they stand, and nothing that no log tells."""

from __future__ import annotations

from tests.analysis.claims.links import imported, link
from tests.analysis.made import results_of
from tests.analysis.report.test_sections import section, words_of

from collmark.analysis.report.content import Table
from collmark.analysis.report.material import gather
from collmark.analysis.results import Results

STATISTIC = "mean over ranks (nccl-tests)"


def log(launches: int = 1) -> Results:
    """Return figures as nccl-tests would print them."""
    records = [one for one in link("nvlink", "all_reduce", ranks=8) if one.launch <= launches]
    return results_of(imported(records, "nccl-tests", "mean over ranks"))


def ours() -> Results:
    return results_of(link("nvlink", "all_reduce", ranks=8), "ours")


def test_cases_are_of_the_statistic_of_the_tool() -> None:
    words = words_of(section(gather([log()]), "cases").blocks)
    assert f"T: as the logs give it, {STATISTIC}; one launch: no interval. algbw" in words
    assert "median" not in words
    several = words_of(section(gather([log(launches=3)]), "cases").blocks)
    assert f"{STATISTIC}; geometric mean over launches, 95 % by Student's t" in several
    mixed = words_of(section(gather([log(), ours()]), "cases").blocks)
    assert f"{STATISTIC}; where not imported, the median; geometric mean" in mixed
    own = words_of(section(gather([ours()]), "cases").blocks)
    assert "T: geometric mean over launches of the medians, 95 %" in own


def test_pictures_and_fits_say_it_too() -> None:
    material = gather([log()])
    assert f"Dot: what the log says, {STATISTIC};" in words_of(section(material, "curves").blocks)
    assert f"T: {STATISTIC}" in words_of(section(material, "fits").blocks)


def test_what_and_where_claims_nothing_that_no_log_tells() -> None:
    (table,) = (block for block in section(gather([log()]), "where").blocks if isinstance(block, Table))
    facts = {row[0].text: row[1].text for row in table.rows}
    assert (facts["cadence"], facts["scheduling"]) == ("isolated", "-")
    assert facts["records"].endswith(f" imported; T: {STATISTIC}")
    assert facts["launches"] == "1 in the logs"
    own = {row[0].text: row[1].text for block in section(gather([ours()]), "where").blocks for row in block.rows}  # type: ignore[union-attr]
    assert own["scheduling"] == "class other, bound to none"
    assert "same buffers" in own["cadence"]
    assert "T: " not in own["records"]
