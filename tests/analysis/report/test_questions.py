"""What an engineer asks of a cluster is answered before anything is scrolled: its fabric, its nodes, a change, 18x."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.analysis.made import curve, noisy, replaced, results_of
from tests.analysis.report.browser import IN_A_BROWSER, Browser
from tests.analysis.report.conftest import launch_of

from collmark.analysis.report.write import Format
from collmark.analysis.results import Results
from collmark.core.placement import Fabric, Placement, Tier
from collmark.core.record import Host, Record
from collmark.workflow.report import make_report

pytestmark = IN_A_BROWSER
LEVELS = (0.98, 0.99, 1.0, 1.01, 1.02)
INFINIBAND: dict[str, Any] = {
    "of_case": {"placement": Placement(nodes=2, ranks_per_node=1), "backend": "nccl"},
    "tier": Tier.RDMA, "fabric": Fabric.INFINIBAND, "levels": LEVELS,
}  # fmt: skip
NVLINK = {**INFINIBAND, "of_case": {"placement": Placement(ranks_per_node=2), "backend": "nccl"}} | {
    "tier": Tier.NVLINK, "fabric": None,
}  # fmt: skip
SCREEN = (1280, 800)


@pytest.fixture(autouse=True)
def screen(browser: Browser) -> None:
    browser.look(*SCREEN)


def over(link: Mapping[str, Any], operation: str, rate: float, seed: int = 5) -> list[Record]:
    """Return records of an operation over a link whose bus bandwidth comes near a rate in B/s."""
    return noisy(curve(operation, alpha=4e-6, beta=1 / rate, **link), seed=seed)


def first_screen(browser: Browser, folder: Path, *runs: Results, expect: tuple[str, ...] = ()) -> str:
    """Return the words of the first screen, all of which are in view."""
    path = folder / "report.html"
    path.write_text(make_report(list(runs), Format.HTML, expect).text, encoding="utf-8")
    assert browser.open(path).console == []
    bottom = browser.evaluate("document.querySelector('.first').getBoundingClientRect().bottom")
    assert bottom <= SCREEN[1], "it is scrolled to"
    words: str = browser.evaluate("document.querySelector('.first').innerText.replace(/\\s+/g, ' ')")
    return words


def test_is_my_fabric_as_it_should_be(browser: Browser, tmp_path: Path) -> None:
    records = [*over(INFINIBAND, "stream", 47e9), *over(INFINIBAND, "all_to_all", 29e9, seed=7)]
    said = first_screen(browser, tmp_path, results_of(records), expect=("ndr",))
    assert "FOUND all_to_all reaches 58" in said
    assert "of 50 GB/s, link ndr (--expect)" in said
    assert "stream 47" in said.partition("share")[2], "and each figure beside what is expected of it"


def test_which_nodes_are_slow(browser: Browser, tmp_path: Path) -> None:
    def late(record: Record) -> Record:
        assert record.ranks is not None
        assert record.timing is not None
        delay = [0.0, 0.3 * record.timing.median]
        ranks = msgspec.structs.replace(record.ranks, last_in=[5, 95], lateness=delay, chance_in=0.0005)
        return replaced(record, ranks=ranks)

    results = results_of([late(record) for record in over(INFINIBAND, "all_reduce", 41e9)])
    hosts = [
        Host(name=name, ranks=[rank], cores=1, cpu="any", system="any")
        for rank, name in enumerate(("node-a", "node-b"))
    ]
    launches = [launch_of(number, backend="nccl", placement="2x1", hosts=hosts) for number in range(1, len(LEVELS) + 1)]
    run = msgspec.structs.replace(results.run, launches=launches)
    said = first_screen(browser, tmp_path, msgspec.structs.replace(results, run=run))
    assert "WHAT TO DO Look at this first: rank 1 (node-b) enters late in 12 of 12 cases" in said


def test_did_the_upgrade_change_anything(browser: Browser, tmp_path: Path) -> None:
    def side(name: str, rate: float, nccl: str, seed: int) -> Results:
        records = [*over(INFINIBAND, "all_reduce", 41e9, seed), *over(INFINIBAND, "all_to_all", rate, seed + 1)]
        results = results_of(records, name)
        launches = [launch_of(number, libraries={"nccl": nccl}) for number in range(1, len(LEVELS) + 1)]
        return msgspec.structs.replace(results, run=msgspec.structs.replace(results.run, launches=launches))

    before = side("20300101T000000Z-before", 29e9, "2.27.5", 5)
    after = side("20300102T000000Z-after", 25e9, "2.28.3", 31)
    said = first_screen(browser, tmp_path, before, after)
    assert "FOUND after against before, 24 comparisons: " in said
    assert " slower, 0 faster, " in said
    assert "most slower: all_to_all " in said
    assert "Differs: nccl 2.27.5 -> 2.28.3." in said


def test_does_18x_hold_here(browser: Browser, tmp_path: Path) -> None:
    said = first_screen(
        browser, tmp_path, results_of([*over(NVLINK, "stream", 380e9), *over(INFINIBAND, "stream", 47e9, seed=8)])
    )
    assert "FOUND gap-18x fails: 8." in said
    assert "outside 15 to 21.6" in said
