"""20,000 mutations of the corpus in every run of the tests; `make fuzz` tries a million."""

import pytest
from tests.analysis.importers import fuzz

CHUNK = 1_000
SEED = 20260


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(20))
def test_mutations_lose_rows_and_facts_and_never_change_one(chunk: int) -> None:
    inputs = range(chunk * CHUNK, (chunk + 1) * CHUNK)
    assert [(one.log, one.index, one.how, one.fault) for one in fuzz.run(inputs, SEED)] == []
