"""What ranks took to start, and from when on that is worth a word."""

import pytest

from collmark.core.start_up import LARGE, start_up_of, start_up_words


def test_median_and_slowest_of_each_part() -> None:
    start = start_up_of([1.0, 2.0, 9.0], [5.0, 1.0, 3.0])
    assert (start.began, start.began_most, start.loaded, start.loaded_most) == (2.0, 9.0, 3.0, 5.0)
    assert start.slowest == 2


@pytest.mark.parametrize(("load", "is_said"), [(LARGE - 2.5, False), (LARGE, True)])
def test_a_long_start_is_said_with_its_parts_and_where_to_read_on(load: float, *, is_said: bool) -> None:
    words = start_up_words([start_up_of([0.5], [0.1]), start_up_of([1.0, 2.0], [3.0, load])])
    assert bool(words) is is_said
    if is_said:
        assert "up to 2.0 s until they could join and 10 s to load the library" in words
        assert "rank 1 longest" in words
        assert "docs/launching.md" in words


def test_nothing_is_said_of_no_launch() -> None:
    assert not start_up_words([])
