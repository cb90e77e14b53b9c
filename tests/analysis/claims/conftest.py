"""Findings without records, worked out once."""

from __future__ import annotations

import pytest

from collmark.analysis.claims.finding import Finding
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.table import Table, load_table


@pytest.fixture(scope="session")
def table() -> Table:
    """Return the built-in claims."""
    return load_table()


@pytest.fixture(scope="session")
def bare(table: Table) -> dict[tuple[str, str], Finding]:
    """Return the findings without any record, by id and kind."""
    return {(finding.claim, str(finding.kind)): finding for finding in judge(table.claims, table.rules)}
