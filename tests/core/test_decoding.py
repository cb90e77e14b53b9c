"""Decoding: what does not fit is said with its place, its value and what is allowed, in words and not in types."""

from typing import Annotated, Any

import msgspec
import pytest

from collmark.core.bounds import Count, NotNegative, Share
from collmark.core.decoding import decoded
from collmark.core.errors import UsageError
from collmark.core.placement import Tier


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part with a rule between its fields."""

    low: NotNegative = 0.0
    high: NotNegative = 1.0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must not be above high")


class Whole(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of every kind of field."""

    count: Annotated[Count, msgspec.Meta(description="how many")]
    share: Annotated[Share | None, msgspec.Meta(description="which part")] = None
    tier: Tier = Tier.TCP
    parts: list[Part] = []
    pair: tuple[Count, Count] = (0, 0)
    names: dict[str, str] = {}
    name: str = ""
    on: bool = False


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"count": -1}, "count: -1: must be a whole number, at least 0"),
        ({"count": 1.5}, "count: 1.5: must be a whole number"),
        ({"count": "many"}, "count: many: must be a whole number"),
        ({"count": 2**63}, "count: 9223372036854775808: must be a whole number, at most 9223372036854775807"),
        ({"share": 1.5}, "share: 1.5: must be a number, at most 1"),
        ({"share": "x"}, "share: x: must be a number or nothing"),
        ({"share": float("nan")}, "share: nan: must be a number, at least 0"),
        ({"tier": "tpc"}, "tier: unknown tier 'tpc'; did you mean 'tcp'? allowed: shared-memory, loopback"),
        ({"parts": [{}, {"low": -1}]}, "parts[1].low: -1: must be a number, at least 0"),
        ({"parts": [{"low": 3}]}, "parts[0]: low must not be above high"),
        ({"parts": [{"lwo": 3}]}, "parts[0]: unknown key 'lwo'; did you mean 'low'?"),
        ({"parts": {"low": 3}}, "parts: {'low': 3}: must be a list"),
        ({"parts": [None]}, "parts[0]: None: must be a table"),
        ({"pair": [1]}, "pair: [1]: must be a list of length 2"),
        ({"pair": [1, -1]}, "pair[1]: -1: must be a whole number, at least 0"),
        ({"names": {"a": 1}}, "names[...]: "),
        ({"name": 3}, "name: 3: must be text"),
        ({"on": "yes"}, "on: yes: must be true or false"),
        ({"colour": "red"}, "unknown key 'colour'; allowed: count, share, tier"),
        ({"count": "x" * 5000}, "count: xxx"),
    ],
)
def test_a_fault_has_its_place_and_what_is_allowed(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        decoded({"count": 1} | change, Whole)
    assert str(caught.value).startswith(problem)
    assert "`" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_what_is_missing_is_named() -> None:
    with pytest.raises(UsageError, match=r"^'count' is missing$"):
        decoded({}, Whole)


def test_a_place_starts_with_a_name() -> None:
    with pytest.raises(UsageError, match=r"^parts\[0\]\.high: x: must be a number$"):
        decoded([{"high": "x"}], list[Part], "parts")


def test_what_fits_comes_through() -> None:
    assert decoded({"count": 3, "tier": "rdma", "pair": [1, 2]}, Whole) == Whole(count=3, tier=Tier.RDMA, pair=(1, 2))
