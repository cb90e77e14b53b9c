"""Records and samples: what was finished stays readable, whatever happens while writing."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.stored import STAMPS, errors_in, lines_of, record_of

from collmark.core.errors import MeasurementError, ParseError, UsageError
from collmark.core.record import (
    SCHEMA_VERSION,
    Record,
    SampleReference,
)
from collmark.core.store import RECORDS_FILE, RunFolder, TornLineWarning, Writer, read_samples

# -- records


def test_records_come_back_in_order(three: RunFolder) -> None:
    assert errors_in(three) == ["one", "two", "three"]
    assert next(iter(three.records())) == record_of(error="one")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25)
@given(data=st.data())
def test_any_record_survives(folder: RunFolder, any_record: st.SearchStrategy[Record], data: st.DataObject) -> None:
    record = msgspec.structs.replace(data.draw(any_record), schema_version=SCHEMA_VERSION, samples=None)
    lines_of(folder).write_bytes(b"")
    assert Writer(folder, 1, 0).append(record, None) == record
    assert list(folder.records()) == [record]


def test_every_record_is_on_disk_when_append_returns(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    writer = Writer(folder, 1, 10_000)
    writer.append(record_of(), None)
    size = lines_of(folder).stat().st_size
    assert synced == [size]
    writer.append(record_of(), STAMPS)
    # Samples first: a record never points to what is not there.
    assert synced[1:] == [STAMPS.nbytes, lines_of(folder).stat().st_size]


@pytest.mark.parametrize("cut", [1, 2, 30, 200])
def test_a_torn_last_line_is_skipped_with_a_warning_and_mended(three: RunFolder, cut: int) -> None:
    path = lines_of(three)
    whole = path.read_bytes()
    path.write_bytes(whole[: -cut - 1])
    with pytest.warns(TornLineWarning, match="skipped a torn last line"):
        assert errors_in(three) == ["one", "two"]
    three.mend()
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:2])
    Writer(three, 1, 0).append(record_of(4, "four"), None)
    assert errors_in(three) == ["one", "two", "four"]


def test_a_last_line_that_only_lacks_its_end_is_kept(three: RunFolder) -> None:
    path = lines_of(three)
    path.write_bytes(path.read_bytes()[:-1])
    assert errors_in(three) == ["one", "two", "three"]
    three.mend()
    Writer(three, 1, 0).append(record_of(4, "four"), None)
    assert errors_in(three) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("tail", [b"\0\0\0\0", b"{", b'{"schema_version": 1, "launch": 1}', b"\xff\xfe", b'{"err\xc3'])
def test_whatever_a_crash_leaves_at_the_end_costs_only_itself(three: RunFolder, tail: bytes) -> None:
    with lines_of(three).open("ab") as file:
        file.write(tail)
    with pytest.warns(TornLineWarning):
        assert errors_in(three) == ["one", "two", "three"]
    three.mend()
    assert errors_in(three) == ["one", "two", "three"]


def test_mending_leaves_a_whole_file_alone(three: RunFolder, folder: RunFolder) -> None:
    before = lines_of(three).read_bytes()
    three.mend()
    assert lines_of(three).read_bytes() == before
    lines_of(folder).write_bytes(b"")
    folder.mend()
    assert list(folder.records()) == []


@pytest.mark.parametrize("line", [b"{}x", b"nonsense", b"[]", b"3", b'{"schema_version": 1, "launch": "one"}'])
def test_damage_before_the_last_line_is_an_error_with_its_line(three: RunFolder, line: bytes) -> None:
    path = lines_of(three)
    one, _two, last = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([one, line, last, b""]))
    with pytest.raises(ParseError, match=RECORDS_FILE) as caught:
        list(three.records())
    assert caught.value.line == 2


def test_a_damaged_last_line_that_was_ended_is_an_error_too(three: RunFolder) -> None:
    with lines_of(three).open("ab") as file:
        file.write(b"nonsense\n")
    with pytest.raises(ParseError) as caught:
        list(three.records())
    assert caught.value.line == 4


def test_a_run_that_has_just_been_made_has_no_records(folder: RunFolder) -> None:
    lines_of(folder).write_bytes(b"")
    assert list(folder.records()) == []


def test_records_that_were_taken_away_are_not_taken_for_none(folder: RunFolder) -> None:
    lines_of(folder).unlink()
    with pytest.raises(UsageError, match=r"records\.jsonl is missing, and with it all that the run had measured"):
        list(folder.records())


# -- raw samples


def test_samples_come_back(folder: RunFolder) -> None:
    writer = Writer(folder, 7, 10_000)
    references = [
        writer.append(record_of(launch), stamps).samples for launch, stamps in ((7, STAMPS), (8, STAMPS[:, :2, ::2]))
    ]
    assert [reference.offset for reference in references if reference] == [0, STAMPS.nbytes]
    for reference, stamps in zip(references, (STAMPS, STAMPS[:, :2, ::2]), strict=True):
        assert reference is not None
        assert reference.file == "samples-0007.i64"
        assert read_samples(folder, reference).tolist() == stamps.tolist()
    assert [record.samples for record in folder.records()] == references


def test_samples_end_with_the_share_and_records_do_not(folder: RunFolder) -> None:
    writer = Writer(folder, 1, STAMPS.nbytes + 100)
    written = [writer.append(record_of(launch), STAMPS) for launch in (1, 2, 3)]
    assert [record.samples is not None for record in written] == [True, False, False]
    small = writer.append(record_of(4), STAMPS[:, :1, :1])
    assert small.samples is not None
    assert len(list(folder.records())) == 4
    assert Writer(folder, 2, 0).append(record_of(), STAMPS).samples is None


@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_samples_are_checked(folder: RunFolder, damage: str) -> None:
    reference = Writer(folder, 1, 10_000).append(record_of(), STAMPS).samples
    assert reference is not None
    path = folder.path / reference.file
    data = bytearray(path.read_bytes())
    data[17] ^= 1
    path.write_bytes(data if damage == "flip" else data[:-1])
    with pytest.raises(ParseError, match="do not match their checksum"):
        read_samples(folder, reference)


def test_missing_samples_are_named(folder: RunFolder) -> None:
    with pytest.raises(UsageError, match=r"samples-0009\.i64"):
        read_samples(folder, SampleReference(file="samples-0009.i64", offset=0, shape=(2, 1, 1), crc32=0))


# -- a full disk

FULL = """
import resource, sys
from pathlib import Path
import msgspec
import numpy as np
from collmark.core.errors import MeasurementError
from collmark.core.record import Record
from collmark.core.store import RunFolder, Writer

folder, kind = RunFolder(Path(sys.argv[1])), sys.argv[2]
record = msgspec.structs.replace(next(folder.records()), launch=4)
files = [folder.path / "records.jsonl", folder.path / "samples-0001.i64"]
sizes = lambda: [path.stat().st_size if path.exists() else 0 for path in files]
writer = Writer(folder, 1, 1 << 30)
stamps = np.zeros((2, 2, 4), np.int64)
writer.append(record, stamps)
before = sizes()
room = {"record": before[0] + 100, "samples": before[1] + 100}[kind]
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
if kind == "samples":
    stamps = np.zeros((2, 200, 400), np.int64)
try:
    writer.append(record, stamps)
except MeasurementError as error:
    print(error)
print(before == sizes())
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
print(len(list(folder.records())))
"""


@pytest.mark.parametrize("kind", ["record", "samples"])
def test_on_a_full_disk_the_files_keep_their_length(three: RunFolder, kind: str) -> None:
    command = [sys.executable, "-W", "error", "-c", FULL, str(three.path), kind]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    file = RECORDS_FILE if kind == "record" else "samples-0001.i64"
    assert file in found[0]
    assert found[0].endswith("File too large; everything finished before is kept")
    assert found[1:] == ["True", "4"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(three.records())) == 4


@pytest.mark.parametrize("refuse", ["write", "fsync"])
def test_a_disk_that_refuses_is_a_lost_measurement(
    three: RunFolder, monkeypatch: pytest.MonkeyPatch, refuse: str
) -> None:
    def fault(*_arguments: object) -> int:
        raise OSError(5, "Input/output error")

    before = lines_of(three).read_bytes()
    monkeypatch.setattr(os, refuse, fault)
    with pytest.raises(MeasurementError, match="Input/output error; everything finished before is kept"):
        Writer(three, 1, 0).append(record_of(), None)
    assert lines_of(three).read_bytes() == before


def test_short_writes_are_carried_on(three: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write: Callable[[int, memoryview], int] = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))
    Writer(three, 1, 0).append(record_of(4, "four"), None)
    assert errors_in(three) == ["one", "two", "three", "four"]
