"""Units: what people write is read exactly, what is written is exact and never zero by rounding."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core import units
from collmark.core.errors import UsageError

nbytes_of_any_magnitude = st.one_of(
    st.integers(0, units.MAX_NBYTES),
    st.builds(lambda count, power: count << power, st.integers(0, 3000), st.integers(0, 45)),
    st.builds(lambda count, power: count * 10**power, st.integers(0, 3000), st.integers(0, 14)),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("8", 8),
        ("8B", 8),
        ("8 b", 8),
        (" 4k ", 4096),
        ("4K", 4096),
        ("4KiB", 4096),
        ("4kib", 4096),
        ("4KB", 4000),
        ("4kB", 4000),
        ("4kb", 4000),
        ("1M", 1 << 20),
        ("1MB", 10**6),
        ("1G", 1 << 30),
        ("1GB", 10**9),
        ("1GiB", 1 << 30),
        ("1T", 1 << 40),
        ("1TB", 10**12),
        ("2TiB", 2 << 40),
        ("1.5MiB", 3 << 19),
        (".5K", 512),
        ("0.3KB", 300),
        ("1.50 GB", 1_500_000_000),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_parse_nbytes(text: str, expected: int) -> None:
    assert units.parse_nbytes(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("-8", "negative"),
        ("- 8KiB", "negative"),
        ("abc", "not a number"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("-inf", "not a number"),
        ("1e3", "not a number"),
        ("1_000", "not a number"),
        ("1,000", "not a number"),
        ("0x10", "not a number"),
        ("1.K", "not a number"),
        ("\u0661", "not a number"),
        ("8\n9", "not a number"),
        ("4Q", "unknown unit 'Q'"),
        ("4bytes", "unknown unit 'bytes'"),
        ("1PiB", "unknown unit 'PiB'"),
        ("4Gb", "reads as bits"),
        ("4Mib", "reads as bits"),
        ("1.1K", "whole number of bytes"),
        ("0.5", "whole number of bytes"),
        ("9223372036854775808", "above 9223372036854775807"),
        ("99999999TiB", "above"),
        ("9" * 5000, "digits"),
    ],
)
def test_parse_nbytes_refuses(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        units.parse_nbytes(text)
    message = str(caught.value)
    assert problem in message
    assert "allowed:" in message
    assert "KiB" in message
    assert len(message) < 240


@pytest.mark.parametrize(
    ("nbytes", "expected"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (3000, "3000 B"),
        (1025 * 1024, "1025 KiB"),
        (1 << 30, "1 GiB"),
        (3 << 29, "1.5 GiB"),
        (10**9, "1000000000 B"),
        (1 << 50, "1024 TiB"),
    ],
)
def test_format_nbytes(nbytes: int, expected: str) -> None:
    assert units.format_nbytes(nbytes) == expected


@given(nbytes_of_any_magnitude)
def test_sizes_round_trip(nbytes: int) -> None:
    compact = units.compact_nbytes(nbytes)
    assert " " not in compact
    assert units.parse_nbytes(compact) == units.parse_nbytes(units.format_nbytes(nbytes)) == nbytes


@given(st.integers(1, 1023), st.sampled_from(["KiB", "MiB", "GiB", "TiB"]))
def test_whole_binary_sizes_are_written_in_their_unit(count: int, unit: str) -> None:
    assert units.format_nbytes(units.parse_nbytes(f"{count}{unit}")) == f"{count} {unit}"


def test_a_negative_size_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="negative"):
        units.format_nbytes(-1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4min", 240.0),
        ("90s", 90.0),
        ("90 S", 90.0),
        ("500ms", 0.5),
        ("20us", 20e-6),
        ("3ns", 3e-9),
        ("1h", 3600.0),
        ("1.5h", 5400.0),
        ("2", 2.0),
        ("1.5", 1.5),
        (".1", 0.1),
    ],
)
def test_parse_seconds(text: str, expected: float) -> None:
    assert units.parse_seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("0", "above 0"),
        ("0.0s", "above 0"),
        ("-1s", "negative"),
        ("inf", "not a number"),
        ("nan", "not a number"),
        ("1e400", "not a number"),
        ("4m", "unknown unit 'm'"),
        ("2days", "unknown unit 'days'"),
        ("9" * 5000, "digits"),
    ],
)
def test_parse_seconds_refuses(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        units.parse_seconds(text)
    assert problem in str(caught.value)
    assert "allowed:" in str(caught.value)


@given(st.text(alphabet="0123456789.-+ eEkKmMgGtTiIbBsShnu\n", max_size=12))
def test_parsers_give_a_sound_value_or_one_line(text: str) -> None:
    nbytes = value_or_message(units.parse_nbytes, text)
    seconds = value_or_message(units.parse_seconds, text)
    assert nbytes.isprintable() if isinstance(nbytes, str) else 0 <= nbytes <= units.MAX_NBYTES
    assert seconds.isprintable() if isinstance(seconds, str) else 0 < seconds < math.inf


def value_or_message(parse: Callable[[str], float], text: str) -> float | str:
    try:
        return parse(text)
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (20e-6, "20 us"),
        (0.0015, "1.5 ms"),
        (0.04, "40 ms"),
        (0.4, "0.4 s"),
        (0.25, "0.25 s"),
        (1, "1.0 s"),
        (9.96, "10 s"),
        (42, "42 s"),
        (59.7, "1 min 00 s"),
        (184, "3 min 04 s"),
        (3599.6, "1 h 00 min"),
        (3725, "1 h 02 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_format_duration(seconds: float, expected: str) -> None:
    assert units.format_duration(seconds) == expected


@given(st.floats(1e-9, 1e7))
def test_a_duration_reads_back_close_to_what_it_was(seconds: float) -> None:
    words = units.format_duration(seconds).split()
    assert not {"60", "1000"} & set(words)
    pairs = zip(words[::2], words[1::2], strict=True)
    read = sum(units.parse_seconds(f"{number}{unit}") if float(number) else 0 for number, unit in pairs)
    # Whole seconds just above 10 s are the coarsest.
    assert read == pytest.approx(seconds, rel=0.06)


@pytest.mark.parametrize("seconds", [-1.0, math.inf, math.nan])
def test_a_duration_must_be_one(seconds: float) -> None:
    with pytest.raises(ValueError, match="duration"):
        units.format_duration(seconds)


@pytest.mark.parametrize(
    ("microseconds", "expected"),
    [
        (0.0, "0"),
        (0.0000562, "0.0000562"),
        (0.00999, "0.00999"),
        (0.22, "0.220"),
        (9.996, "10.0"),
        (12.34, "12.3"),
        (99.96, "100"),
        (123.4, "123"),
        (12345.6, "12346"),
        (-1.5, "-1.50"),
    ],
)
def test_three_significant_digits(microseconds: float, expected: str) -> None:
    assert units.format_microseconds(microseconds / 1e6) == expected
    assert units.format_gigabytes_per_second(microseconds * 1e9) == expected


@pytest.mark.manner(16)
@given(st.floats(1e-9, 1e9))
def test_a_number_is_fixed_point_close_and_never_zero(gigabytes_per_second: float) -> None:
    text = units.format_gigabytes_per_second(gigabytes_per_second * 1e9)
    assert "e" not in text
    assert float(text) == pytest.approx(gigabytes_per_second, rel=0.0051)


def test_beyond_ordinary_magnitudes() -> None:
    assert units.format_microseconds(1e-30) == "1.00e-24"
    assert units.format_microseconds(math.nan) == "nan"
