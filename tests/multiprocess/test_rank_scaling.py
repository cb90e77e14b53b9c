"""What each rank of gloo's all_reduce sends is a ring's, by the counters of its link.

The small form of tests/prove/prove_rank_scaling.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.prove.prove_rank_scaling import LAWS, Scaling, fits, is_ring, measure

from collmark.bench.emulated.hosts import refusal


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.timeout(300)
def test_three_ranks_send_what_a_ring_sends(tmp_path: Path) -> None:
    if reason := refusal():
        pytest.skip(reason)
    found = measure(3, tmp_path / "run", launches=1)
    assert is_ring([found]), found.factors


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("ranks", range(2, 17))
def test_a_law_moves_all_that_must_be_moved(law: str, ranks: int) -> None:
    sent = LAWS[law](ranks)
    assert len(sent) == ranks
    # Every vector but one has to leave its rank, and the result has to reach them: 2(p-1) vectors' worth in sum.
    assert sum(sent) >= 2 * (ranks - 1) - 1e-9


def test_laws_are_told_apart_at_the_ranks_that_are_measured() -> None:
    for name, law in LAWS.items():
        made = [Scaling(ranks=ranks, factors=tuple(law(ranks)), words=(), records=()) for ranks in (2, 3, 4, 6)]
        assert is_ring(made) is (name == "ring")
    assert not fits([1.34, 1.33, 1.33], [1.5, 1.5, 1.5])
