"""Element types: what they hold exactly, and which bits no payload has."""

from __future__ import annotations

import numpy as np
import pytest

from collmark.core.dtype import DTYPES, encoded_integers

every_dtype = pytest.mark.parametrize("name", DTYPES)


def is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


@every_dtype
def test_whole_numbers_up_to_the_limit_decode_exactly(name: str) -> None:
    dtype = DTYPES[name]
    numbers = np.arange(dtype.limit + 1)
    assert dtype.decode(dtype.encode(numbers)).tolist() == numbers.tolist()


@every_dtype
def test_payload_values_have_distinct_bits(name: str) -> None:
    dtype = DTYPES[name]
    bits = dtype.encode(np.arange(dtype.modulus)).view(dtype.unsigned_storage)
    assert len(set(bits.tolist())) == dtype.modulus
    if name != "int8":  # whose upper half is read as negative
        assert dtype.decode(dtype.encode(np.arange(dtype.modulus))).tolist() == list(range(dtype.modulus))


@every_dtype
def test_the_modulus_is_prime_and_the_largest_that_fits(name: str) -> None:
    dtype = DTYPES[name]
    # 16 bits are enough to tell ranks apart; smaller types are used as far as they go.
    room = {"bfloat16": 2**8, "float16": 2**11, "int8": 2**8, "uint8": 2**8}.get(name, 2**16)
    assert is_prime(dtype.modulus)
    assert dtype.modulus <= room
    assert not any(is_prime(number) for number in range(dtype.modulus + 1, room + 1))


@every_dtype
def test_no_payload_has_all_bits_set(name: str) -> None:
    # A buffer is poisoned with set bits before anything is received into it.
    dtype = DTYPES[name]
    poison = 2 ** (8 * dtype.itemsize) - 1
    for numbers in (np.arange(dtype.modulus), np.arange(dtype.limit + 1)):
        assert poison not in dtype.encode(numbers).view(dtype.unsigned_storage).tolist()


@every_dtype
def test_sizes(name: str) -> None:
    dtype = DTYPES[name]
    expected = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2, "int32": 4, "int8": 1, "uint8": 1}[name]
    assert dtype.itemsize == np.dtype(dtype.storage).itemsize == dtype.unsigned_storage.itemsize == expected
    assert dtype.is_integer == ("int" in name)
    assert dtype.name == name


@every_dtype
def test_bits_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    dtype = DTYPES[name]
    numbers = np.arange(dtype.limit + 1)
    theirs = torch.from_numpy(numbers).to(getattr(torch, name)).view(torch.uint8).numpy()
    assert theirs.tolist() == dtype.encode(numbers).view(np.uint8).tolist()


def test_bfloat16_keeps_the_upper_half_of_a_float32() -> None:
    dtype = DTYPES["bfloat16"]
    assert dtype.encode(np.array([0, 1, 2, 3, 256])).tolist() == [0, 0x3F80, 0x4000, 0x4040, 0x4380]
    assert dtype.decode(np.array([0x3FC0, 0xC000], dtype="u2")).tolist() == [1.5, -2.0]


def test_the_table_of_integers_is_shared_and_cannot_be_changed() -> None:
    table = encoded_integers("uint8", 5)
    assert table.tolist() == [0, 1, 2, 3, 4]
    assert encoded_integers("uint8", 5) is table
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 7
