"""SizeSweep: strictly increasing whole sizes, exact steps, errors that name the text."""

from fractions import Fraction
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from collmark.core.errors import UsageError
from collmark.core.sweep import MAX_SIZES, SizeRange, SizeSweep, parse_sweep

KIB = 1024
positive = st.integers(1, 1 << 40)
ranges = st.one_of(
    st.builds(
        lambda first, more, factor: SizeRange(first=first, last=first + more, factor=factor),
        positive,
        st.integers(0, 1 << 40),
        st.sampled_from([1.1, 1.25, 1.5, 2.0, 3.0, 1.0625, 10.0, 1e25, 1e300]),
    ),
    st.builds(
        lambda first, step, count: SizeRange(first=first, last=first + step * count, step=step),
        positive,
        positive,
        st.integers(0, 40),
    ),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", [4]),
        ("8B:64B:x2", [8, 16, 32, 64]),
        ("8B:100B:x2", [8, 16, 32, 64]),
        ("8:8:x2", [8]),
        ("4:30:x1.5", [4, 6, 9, 14, 20, 30]),
        ("4:29:x1.5", [4, 6, 9, 14, 20]),
        ("1KiB:4KiB:+1KiB", [KIB, 2 * KIB, 3 * KIB, 4 * KIB]),
        ("1KiB:4000:+1KiB", [KIB, 2 * KIB, 3 * KIB]),
        ("1KiB,3000,1MiB", [KIB, 3000, 1 << 20]),
        ("1MiB, 3000 ,1KiB", [KIB, 3000, 1 << 20]),
        ("8:32:X2,10,12:20:+8", [8, 10, 12, 16, 20, 32]),
        ("5:9:x1.7", [5, 9]),  # 8.5, a half, for 1.7 as written; below it for the nearest float
        ("1:8:x1.2", [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_sizes(text: str, expected: list[int]) -> None:
    sweep = parse_sweep(text)
    assert list(sweep) == expected
    assert len(sweep) == len(expected)


def test_the_usual_sweep_is_the_powers_of_two() -> None:
    assert list(parse_sweep("8B:1GiB:x2")) == [1 << power for power in range(3, 31)]
    assert len(list(parse_sweep("4:1G:x1.5"))) == 48


def test_factor_steps_do_not_accumulate_rounding() -> None:
    sizes = list(parse_sweep("1000:1T:x1.1"))
    for power, nbytes in enumerate(sizes):
        assert abs(nbytes - 1000 * Fraction(11, 10) ** power) <= Fraction(1, 2)


def test_the_order_of_items_does_not_matter() -> None:
    assert parse_sweep("1:4:x2,8,16") == parse_sweep("16,1:4:x2,8")


def test_large_powers_are_exact_where_floats_are_not() -> None:
    assert list(parse_sweep("1:4052555153018976267:x3"))[-1] == 3**39


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("8B:1GB:x0", "the factor must be above 1, as in 8B:1GiB:x2 or 1KiB:1MiB:+64KiB"),
        ("8B:1GB:x1", "the factor must be above 1"),
        ("8B:1GB:x1.00000000000000000001", "the factor must be above 1"),
        ("8B:1GB:x-2", "the factor must be above 1"),
        ("8B:1GB:+0", "the step must be above 0"),
        ("8B:1GB:+-4", "the step must be above 0"),
        ("8:4:x2", "the last size must not be below the first"),
        ("0", "sizes must be above 0"),
        ("0:8:x2", "sizes must be above 0"),
        ("8,0", "sizes must be above 0"),
        ("-8", "negative"),
        ("-8:8:x2", "negative"),
        ("1:10001:+1", "more than 10000 sizes"),
        ("1B:1TiB:x1.0000001", "more than 10000 sizes"),
        ("1:6000:+1,10000:16000:+1", "more than 10000 sizes"),
        ("8,,16", "a size is missing"),
        ("8,", "a size is missing"),
        (":8:x2", "the first size is missing"),
        ("8::x2", "the last size is missing"),
        ("8:16", "the factor or step is missing"),
        ("8:16:", "the factor or step is missing"),
        ("8:", "the last size is missing"),
        ("8:16:2", "'2' is neither xFACTOR nor +STEP"),
        ("8:16:x", "neither xFACTOR nor +STEP"),
        ("8:16:+", "neither xFACTOR nor +STEP"),
        ("8:16:xnan", "neither xFACTOR nor +STEP"),
        ("8:16:xinf", "neither xFACTOR nor +STEP"),
        ("8:16:*2", "neither xFACTOR nor +STEP"),
        ("8:16:x2:x3", "too many parts"),
        ("8:16Q:x2", "unknown unit 'Q'"),
        ("all", "not a number"),
        ("8,16,8", "given more than once: 8B"),
        ("1KiB:4KiB:x2,2048", "given more than once: 2KiB"),
        ("1,2,3,1,2", "given more than once: 1B, 2B"),
    ],
)
def test_errors_name_the_text_and_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_sweep(text)
    assert str(caught.value).startswith(f"{text}: ")
    assert problem in str(caught.value)


def test_the_error_for_nothing_at_all() -> None:
    with pytest.raises(UsageError, match=r"\(empty\): a size is missing"):
        parse_sweep(" ")


def test_an_endless_list_does_not_fill_the_screen() -> None:
    with pytest.raises(UsageError) as caught:
        parse_sweep(",".join(["8"] * 5000))
    assert len(str(caught.value)) < 240


def test_exactly_the_limit_is_allowed() -> None:
    assert len(parse_sweep(f"1:{MAX_SIZES}:+1")) == MAX_SIZES


@given(st.lists(st.one_of(positive, ranges), min_size=1, max_size=4))
@settings(deadline=None)
def test_sizes_rise_strictly_and_text_round_trips(items: list[int | SizeRange]) -> None:
    try:
        sweep = SizeSweep(items=tuple(items))
    except UsageError as error:
        if "more than once" in str(error):
            reject()
        raise
    sizes = list(sweep)
    assert all(low < high for low, high in pairwise(sizes))
    again = parse_sweep(str(sweep))
    assert list(again) == sizes
    assert set(again.items) == set(sweep.items)
    assert parse_sweep(str(again)) == again
    assert str(parse_sweep(str(again))) == str(again)


@given(ranges)
def test_a_range_starts_at_its_first_and_stays_inside(size_range: SizeRange) -> None:
    sizes = list(size_range)
    assert sizes[0] == size_range.first
    assert sizes[-1] <= size_range.last


def test_it_survives_json() -> None:
    sweep = parse_sweep("8:64:x1.5,3000,1KiB:2KiB:+64")
    assert msgspec.json.decode(msgspec.json.encode(sweep), type=SizeSweep) == sweep


@pytest.mark.parametrize(
    "text",
    [
        '{"items": []}',
        '{"items": [0]}',
        '{"items": [8, 8]}',
        '{"items": [{"first": 1, "last": 2}]}',
        '{"items": [{"first": 1, "last": 2, "factor": 2, "step": 1}]}',
        '{"items": [{"first": 1, "last": 2, "factor": 1}]}',
        '{"items": [{"first": 2, "last": 1, "step": 1}]}',
        '{"items": [8], "extra": 1}',
    ],
)
def test_decoding_checks_too(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=SizeSweep)


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_a_factor_is_finite(factor: float) -> None:
    with pytest.raises(UsageError, match="factor"):
        SizeRange(first=1, last=8, factor=factor)
