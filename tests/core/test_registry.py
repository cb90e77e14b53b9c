"""Registry: ordered, without duplicates, helpful about unknown names."""

import pytest

from collmark.core.errors import UnknownNameError
from collmark.core.registry import Registry

COLOURS = Registry("colour", [("red", 1), ("green", 2), ("blue", 3)])


def test_entries_are_found_by_name() -> None:
    assert COLOURS["green"] == 2


def test_order_is_kept() -> None:
    assert list(COLOURS) == ["red", "green", "blue"]
    assert COLOURS.names() == ("red", "green", "blue")
    assert list(COLOURS.values()) == [1, 2, 3]
    assert next(iter(COLOURS.items())) == ("red", 1)
    assert len(COLOURS) == 3


def test_an_unknown_name_is_answered_with_the_nearest_and_the_choices() -> None:
    with pytest.raises(UnknownNameError, match="unknown colour 'gren'; did you mean 'green'") as caught:
        COLOURS["gren"]
    assert caught.value.choices == ("red", "green", "blue")
    # The KeyError inside would only be noise in a traceback.
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


def test_asking_does_not_raise() -> None:
    assert "red" in COLOURS
    assert "gren" not in COLOURS
    assert COLOURS.get("gren") is None
    assert COLOURS.get("gren", 0) == 0
    assert COLOURS.get("red") == 1


def test_a_mapping_will_do() -> None:
    assert Registry("colour", {"red": 1}) == {"red": 1}


def test_a_duplicate_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="duplicate colour 'red'"):
        Registry("colour", [("red", 1), ("red", 2)])


def test_later_changes_of_the_source_do_not_reach_it() -> None:
    source = {"red": 1}
    colours = Registry("colour", source)
    source["green"] = 2
    assert colours.names() == ("red",)
