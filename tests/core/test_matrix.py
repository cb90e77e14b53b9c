"""Matrix files: every way to write one, and a line for whatever is none; a matrix is what is in it."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zlib
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.errors import UsageError
from collmark.core.matrix import Matrix, heaviest, known, learn, pack, read_cells
from collmark.core.operation import MOST_RAGGED_RANKS

CELLS = ((0, 4096, 12), (7, 0, 0), (0, 123456789012, 5))
squares = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 2**60 - 1), min_size=n, max_size=n).map(tuple), min_size=n, max_size=n)
)


@pytest.mark.parametrize(
    "text",
    [
        "0 4096 12\n7 0 0\n0 123456789012 5\n",
        "0,4096,12\n7,0,0\n0,123456789012,5",
        "0, 4096 ,12\r\n7,0,0\r\n0,123456789012,5\r\n",
        "# bytes from row to column\n\n0\t4096\t12\n\n7 0 0  # idle\n 0 123456789012 5 \n",
        "\ufeff0 4096 12\n7 0 0\n0 123456789012 5\n",
        "0 4.096e+03 12.0\n7 0 0\n0 1.23456789012e11 5\n",
        "0 4096 12\r7 0 0\r0 123456789012 5",
    ],
)
def test_a_matrix_is_what_is_in_it_however_it_is_written(text: str, tmp_path: Path) -> None:
    path = tmp_path / "any name.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_cells(path) == CELLS


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "matrix.txt", np.array(CELLS))
    assert read_cells(tmp_path / "matrix.txt") == CELLS


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "m.csv: is empty: write a row of bytes for each sending rank"),
        (b"\n# only words\n", "m.csv: is empty"),
        (b"1 2\n3 -4\n", "m.csv:2: column 2: must not be negative: '-4'"),
        (b"1 2\n3 x\n", "m.csv:2: column 2: must be a whole number of bytes: 'x'"),
        (b"\n1,2.5\n3,4\n", "m.csv:2: column 2: must be a whole number of bytes: '2.5'"),
        (b"1,2\n3,\n", "m.csv:2: column 2: is empty"),
        (b"1,2\n,3\n", "m.csv:2: column 1: is empty"),
        (b"1 nan\n3 4\n", "m.csv:1: column 2: must be a whole number of bytes: 'nan'"),
        (b"1 10M\n3 4\n", "m.csv:1: column 2: must be a whole number of bytes: '10M'"),
        (b"1 1_0\n3 4\n", "m.csv:1: column 2: must be a whole number of bytes: '1_0'"),
        ("1 \u0661\n3 4\n".encode(), "m.csv:1: column 2: must be a whole number of bytes"),
        (b"1 9223372036854775808\n3 4\n", "m.csv:1: column 2: must not be above 9223372036854775807 B"),
        (b"1 1e999\n3 4\n", "m.csv:1: column 2: must not be above"),
        (b"1 " + b"9" * 5000 + b"\n3 4\n", "m.csv:1: column 2: must be a whole number of bytes: '9999"),
        (b"# a\n1 2\n3 4 5\n", "m.csv:3: 3 columns, where line 2 has 2"),
        (b"1 2\n3\n", "m.csv:2: 1 column, where line 1 has 2"),
        (b"1 2\n3 4\n5 6\n", "m.csv:3: 2 columns and more rows: must be square, a row for each sending rank"),
        (b"1 2 3\n4 5 6\n", "m.csv: 3 columns and 2 rows: must be square"),
        (b"0 0\n0 0\n", "m.csv: no rank sends anything"),
        (b"9223372036854775807 1\n0 0\n", "m.csv: a rank's bytes are above 9223372036854775807 in all"),
        (b"1 2\n3 \xff4\n", "m.csv:2: is no text: write numbers of bytes"),
        (b"1 2\n3 \x004\n", "m.csv:2: column 2: must be a whole number of bytes: '\\x004'"),
        (b"PK\x03\x04\x14\x00\x08\x00", "m.csv:1: column 1: must be a whole number of bytes"),
        (b"0 " * (MOST_RAGGED_RANKS + 1), "m.csv:1: 2049 columns: at most 2048 ranks"),
    ],
)
def test_what_is_no_matrix_is_answered_by_one_line_with_its_place(
    content: bytes, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_bytes(content)
    with pytest.raises(UsageError, match=f"^{re.escape(problem)}") as caught:
        read_cells(Path("m.csv"))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = {"nowhere": "nowhere: No such file or directory", "pipe": "pipe: is no file", "": "is no file"}
    for path, problem in found.items():
        with pytest.raises(UsageError, match=problem):
            read_cells(tmp_path / path)
    with pytest.raises(UsageError, match="null"):
        read_cells(Path("a\0b"))
    monkeypatch.setattr("collmark.core.matrix.MOST_FILE_NBYTES", 10)
    (tmp_path / "large").write_bytes(b"1 " * 6)
    with pytest.raises(UsageError, match=r"large: is larger than 10\.0 B"):
        read_cells(tmp_path / "large")


@given(squares)
def test_a_packed_matrix_is_the_same_and_known_by_its_cells(rows: list[tuple[int, ...]]) -> None:
    cells = tuple(rows)
    one, other = pack("one", cells), pack("other", cells)
    assert learn(one) == learn(other) == learn(msgspec.json.decode(msgspec.json.encode(one), type=Matrix))
    assert known(learn(one)) == cells
    changed = ((cells[0][0] + 1, *cells[0][1:]), *cells[1:])
    assert learn(pack("one", changed)) != learn(one)


def test_the_digest_is_the_same_on_every_machine() -> None:
    little_endian = struct.pack("<9q", *CELLS[0], *CELLS[1], *CELLS[2])
    assert learn(pack("", CELLS)) == hashlib.sha256(little_endian).hexdigest()[:12] == "15708bcd04c3"


def test_a_matrix_of_many_ranks_takes_under_eight_bytes_a_pair() -> None:
    cells = np.random.default_rng(1).integers(0, 2**62, (1024, 1024))
    packed = pack("trace.csv", tuple(map(tuple, cells.tolist())))
    assert len(packed.data) < 1.01 * 8 * 1024**2
    assert known(learn(packed)) == tuple(map(tuple, cells.tolist()))


@pytest.mark.parametrize(
    ("ranks", "data"),
    [
        (2, b"no data"),
        (2, b""),
        (2, zlib.compress(bytes(8 * 3))),
        (2, zlib.compress(bytes(8 * 5))),
        (3, zlib.compress(bytes(8 * 4))),
        (2, zlib.compress(bytes(1 << 26))),
        (0, b""),
        (MOST_RAGGED_RANKS + 1, b""),
        (2, zlib.compress(np.array([1, 2, 3, -4], dtype="<i8").tobytes())),
    ],
)
def test_what_is_stored_and_no_matrix_is_refused(ranks: int, data: bytes) -> None:
    with pytest.raises(UsageError, match=r"^matrix m: "):
        learn(Matrix(name="m", ranks=ranks, data=data))


def test_the_heaviest_rank_sends_or_receives_most_the_own_share_included() -> None:
    assert heaviest(((1, 2), (3, 4))) == 7
    assert heaviest(((1, 8), (3, 4))) == 12
    assert heaviest(((5,),)) == 5
