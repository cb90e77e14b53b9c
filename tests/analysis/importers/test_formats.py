"""Every example of docs/formats.md is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from collmark.analysis.importers.index import IMPORTERS
from collmark.analysis.importers.read import read_log
from collmark.analysis.importers.row import Facts

PAGE = Path(__file__).resolve().parents[3] / "docs" / "formats.md"
EXAMPLES = re.findall(
    r"^```(?:text|json|jsonl|csv)?\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_is_read(number: int) -> None:
    read = read_log(EXAMPLES[number].encode(), "example", Facts())
    assert read.rows
    assert not read.skipped


def test_every_tool_has_one() -> None:
    tools = {row.tool for example in EXAMPLES for row in read_log(example.encode(), "example", Facts()).rows}
    # Of these the page describes what differs from the example of a sibling.
    siblings = {"rccl-tests", "torch-dist-bench", "ml-engineering"}
    assert set(IMPORTERS) - siblings <= tools
