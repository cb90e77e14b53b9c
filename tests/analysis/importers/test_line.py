"""What terminals, launchers and files put around a line is taken away, and nothing else."""

import gzip
import time

import pytest

from collmark.analysis.importers.line import clean, read_lines
from collmark.core.errors import UsageError

ROW = "           8             2     float     sum      -1    18.75    0.00    0.00       0"


@pytest.mark.parametrize(
    "raw",
    [
        ROW,
        "[1,0]<stdout>:" + ROW,
        "[1,12]<stderr>: " + ROW,
        "[prterun-node01-4711@1,0]<stdout>: " + ROW,
        "0: " + ROW,
        " 12: " + ROW,
        "[0] " + ROW,
        "node01: " + ROW,
        "ip-10-0-3-17.eu.compute: " + ROW,
        "10.0.3.17: " + ROW,
        "2026-05-04T11:22:33.123456789Z " + ROW,
        "2026-05-04T11:22:33+02:00 stdout F " + ROW,
        "\x1b[32m" + ROW + "\x1b[0m",
        "\x1b]0;title\x07" + ROW,
        ROW + "\r",
        ROW + "  \t ",
        "  5% done\r" + ROW,
        ROW.replace("           8", "\t   8"),
    ],
)
def test_a_row_is_left(raw: str) -> None:
    assert clean(raw).split() == ROW.split()


def test_labels_inside_a_row_go_too() -> None:
    assert clean("0:            8    3: 18.75 0: 0.00").split() == ["8", "18.75", "0.00"]
    assert clean("[1,0]<stdout>:8 [1,0]<stdout>:18.75").split() == ["8", "18.75"]


@pytest.mark.parametrize("raw", [
        "12:34:56 up 3 days", "Rank  0: done", "host: 5", "a:b", "", "3:", "[]", "[x] y", "avg: 12.5", "node01:4711: 8",
        "node01:18515 8", "node01:4711:4802 [3] NCCL INFO x", "Device 0: NVIDIA H100", "mlx5_0: 8", "i_p50: 3.1",
        "# Datatype: MPI_INT.", "Iterations: 1000", "rccl-tests: Version develop:0ab12cd", "10.0.3.17:18515",
    ],
)  # fmt: skip
def test_what_is_no_label_stays(raw: str) -> None:
    assert clean(raw) == raw


def test_what_a_host_says_nothing_after_is_empty() -> None:
    assert [line.text for line in read_lines(b"node01: # Size\nnode01: \n", "log")] == ["# Size", ""]


def test_lines_are_numbered_from_one_and_the_last_may_be_cut_off() -> None:
    lines = read_lines(b"one\n\ntwo", "log")
    assert [(line.number, line.text, line.ended) for line in lines] == [
        (1, "one", True), (2, "", True), (3, "two", False)
    ]  # fmt: skip
    assert [line.ended for line in read_lines(b"one\ntwo\n", "log")] == [True, True]
    assert read_lines(b"", "log") == []


def test_only_what_ends_a_line_does() -> None:
    """A form feed, or what Unicode calls a separator, is inside a line; CRLF is one end."""
    lines = read_lines("a\x0cb\u2028c\r\nd".encode(), "log")
    assert [line.text for line in lines] == ["a\x0cb\u2028c", "d"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str) -> None:
    data = "Größe 8\nzwei\n".encode(encoding)
    assert [line.text for line in read_lines(data, "log")] == ["Größe 8", "zwei"]
    assert [line.text for line in read_lines(gzip.compress(data), "log")] == ["Größe 8", "zwei"]


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert len(read_lines(bytes(range(256)) * 4, "log")) == 5
    assert read_lines(b"\xff\xfe\x00", "log")[0].text


def test_a_broken_gzip_file_is_named() -> None:
    whole = gzip.compress(b"one\n" * 1000)
    with pytest.raises(UsageError, match=r"x\.log: it begins as gzip"):
        read_lines(whole[:-12], "x.log")
    with pytest.raises(UsageError, match=r"x\.log"):
        read_lines(b"\x1f\x8b" + b"nothing", "x.log")


@pytest.mark.parametrize("one", [" ", "\x1b", "\x1b[", "\t", "0: ", "[", "[1,0]<stdout>:", "9", "a.", "\r"])
def test_long_lines_take_no_time(one: str) -> None:
    start = time.process_time()
    clean(one * 20_000)
    clean("0: " + one * 20_000 + "x")
    assert time.process_time() - start < 0.5
