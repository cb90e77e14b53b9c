"""Routing: tokens choose different experts by their popularity, nothing is lost, and a size holds what it can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.errors import UsageError
from collmark.core.popularity import SCALE, random_words, zipf_weights
from collmark.core.routing import BATCH, Routing, _draw, choose
from collmark.core.traffic import counts_of


@st.composite
def routings(draw: st.DrawFn) -> tuple[Routing, int]:
    """Draw a routing and a number of ranks that it can be on."""
    ranks, each = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    experts = ranks * each
    routing = Routing(
        experts=experts,
        topk=draw(st.integers(1, min(experts, 9))),
        exponent=draw(st.floats(0, 10)),
        seed=draw(st.integers(0, 2**63 - 1)),
        token=draw(st.sampled_from([8, 40])),
    )
    return routing, ranks


def drawn_one_by_one(weights: list[int], words: list[int]) -> list[int]:
    """Return experts drawn by weight from those that are left, each from the line that they make."""
    left = list(enumerate(weights))
    chosen = []
    for word in words:
        point = word % sum(weight for _expert, weight in left)
        for place, (expert, weight) in enumerate(left):
            if point < weight:
                chosen.append(expert)
                del left[place]
                break
            point -= weight
    return chosen


@given(st.data(), st.lists(st.integers(1, SCALE), min_size=1, max_size=12), st.integers(1, 5))
def test_tokens_draw_from_the_experts_that_are_left(data: st.DataObject, weights: list[int], tokens: int) -> None:
    word = st.integers(0, 2**64 - 1)
    words = [data.draw(st.lists(word, min_size=len(weights), max_size=len(weights))) for _token in range(tokens)]
    found = choose(np.array(weights), np.array(words, dtype=np.uint64).T)
    assert found.T.tolist() == [drawn_one_by_one(weights, one) for one in words]


@given(st.integers(1, 40), st.integers(1, 32), st.floats(0, 10), st.integers(0, 99))
def test_a_token_never_chooses_an_expert_twice(experts: int, chosen: int, exponent: float, seed: int) -> None:
    chosen = min(chosen, experts)
    words = random_words(seed, chosen * 50).reshape(chosen, 50)
    found = choose(np.array(zipf_weights(experts, exponent)), words)
    assert all(len(set(token)) == chosen and 0 <= min(token) <= max(token) < experts for token in found.T.tolist())


def test_popular_experts_are_chosen_as_often_as_their_weight_says() -> None:
    words = random_words(3, 2 * 20000).reshape(2, 20000)
    found = choose(np.array([4, 2, 2]) * 2**30, words)
    # Of weights 1/2, 1/4, 1/4 without putting back: P(second is the last) = 1/2 x 1/2 + 1/4 x 1/3.
    firsts, seconds = (np.bincount(row, minlength=3) / 20000 for row in found)
    assert firsts == pytest.approx([1 / 2, 1 / 4, 1 / 4], abs=0.015)
    assert seconds == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=0.015)


@given(routings(), st.integers(0, 1 << 16) | st.integers(0, 2**63 - 1))
def test_every_rank_sends_all_choices_of_equally_many_tokens_and_what_is_sent_is_received(
    drawn: tuple[Routing, int], nbytes: int
) -> None:
    routing, ranks = drawn
    counts = np.array(routing.counts(nbytes, ranks, 4), dtype=object) * 4
    (sent,) = set(counts.sum(axis=1).tolist())
    assert sent % (routing.topk * routing.token) == 0
    assert counts.sum() == counts.sum(axis=0).sum() == ranks * sent
    assert (counts % routing.token == 0).all()
    assert max(sent, *counts.sum(axis=0).tolist()) <= nbytes


@given(routings(), st.integers(1, 3 * BATCH) | st.integers(1, 1 << 40))
def test_a_size_holds_as_many_tokens_as_fit_and_batch_after_batch_is_alike(
    drawn: tuple[Routing, int], tokens: int
) -> None:
    routing, ranks = drawn
    batch = _draw(routing.experts, routing.topk, routing.exponent, routing.seed, ranks)
    copies = tokens // BATCH * batch.pairs(BATCH) + batch.pairs(tokens % BATCH)
    heaviest = int(max(copies.sum(axis=0).max(), copies.sum(axis=1).max()))

    def tokens_in(nbytes: int) -> int:
        return sum(routing.counts(nbytes, ranks, 4)[0]) * 4 // (routing.token * routing.topk)

    enough = heaviest * routing.token
    assert tokens_in(enough - 1) < tokens <= tokens_in(enough)
    if tokens_in(enough) == tokens:
        assert routing.counts(enough, ranks, 4) == tuple(map(tuple, (copies * (routing.token // 4)).tolist()))


@given(routings(), st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_no_pair_exchanges_less_in_a_larger_call(drawn: tuple[Routing, int], nbytes: int, more: int) -> None:
    routing, ranks = drawn
    one, other = (np.array(routing.counts(size, ranks, 4)) for size in (nbytes, nbytes + more))
    assert (one <= other).all()


def test_one_rank_keeps_everything_to_itself() -> None:
    assert counts_of("moe:4:2:1:3:8B", nbytes=1000, ranks=1, itemsize=4) == (((1000 // 16) * 16 // 4,),)


@pytest.mark.parametrize("nbytes", [0, 7, 15])
def test_less_than_a_token_is_nothing(nbytes: int) -> None:
    assert counts_of("moe:4:2:1:3:8B", nbytes=nbytes, ranks=2, itemsize=4) == ((0, 0), (0, 0))


@pytest.mark.parametrize(
    ("ranks", "itemsize", "problem"),
    [
        (3, 4, "moe:4:2:1:3:12B: 4 experts do not lie evenly on 3 ranks"),
        (8, 4, "4 experts do not lie evenly on 8 ranks"),
        (2, 8, "a token of 12 B holds no whole number of elements of 8 B"),
    ],
)
def test_what_cannot_be_is_refused(ranks: int, itemsize: int, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        counts_of("moe:4:2:1:3:12B", nbytes=1000, ranks=ranks, itemsize=itemsize)


def test_without_skew_ranks_receive_about_alike_and_with_it_the_popular_receive_most() -> None:
    def received(exponent: int) -> list[int]:
        counts = counts_of(f"moe:8:2:{exponent}:1:1B", nbytes=4000, ranks=8, itemsize=1)
        return sorted(map(sum, zip(*counts, strict=True)))

    even, skewed = received(0), received(2)
    assert even[-1] < 1.1 * even[0]
    # Of two choices without putting back, nearly every token has the most popular expert among its own.
    assert skewed[-1] > 20 * skewed[0]
