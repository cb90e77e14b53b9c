"""The folder of a run: what was finished stays readable, whatever happens while writing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collmark.core import store
from collmark.core.case import Case
from collmark.core.errors import MeasurementError, ParseError, SchemaError, UsageError
from collmark.core.placement import Placement, Tier
from collmark.core.plan import Plan
from collmark.core.record import (
    SCHEMA_VERSION,
    Check,
    Clock,
    Evidence,
    Launch,
    Outcome,
    Record,
    Run,
    SampleReference,
    Status,
    Timer,
)
from collmark.core.store import RECORDS_FILE, RUN_FILE, RunFolder, TornLineWarning, Writer, read_samples

CASE = Case(operation="barrier", backend="gloo", dtype="float32", placement=Placement(), nbytes=0, requested_nbytes=0)
RUN = Run(
    schema_version=SCHEMA_VERSION,
    label="née 1",
    created="2030-01-01T00:00:00Z",
    version="0",
    command=["collmark", "run"],
    plan=Plan(),
    cases=[CASE],
    notices=["a notice\nof two lines"],
)
TIMER = Timer(name="x", tick=1e-9, cost=1e-8, cost_p99=1e-7, call_overhead=1e-8, loop="python")
STAMPS = np.arange(2 * 3 * 5, dtype=np.int64).reshape(2, 3, 5)


def record_of(launch: int = 1, error: str = "") -> Record:
    return Record(
        schema_version=SCHEMA_VERSION,
        launch=launch,
        case=CASE,
        status=Status.FAILED,
        simulated=False,
        started="2030-01-01T00:00:00Z",
        wall=0.25,
        clock=Clock.SHARED,
        check=Check(checked=0, wrong=0),
        evidence=Evidence(tier=Tier.LOOPBACK),
        error=error,
    )


def launch_of(number: int, outcome: Outcome | None = None) -> Launch:
    return Launch(
        id=number,
        backend="gloo",
        placement="1x1",
        started="2030-01-01T00:00:00Z",
        launcher="collmark",
        hosts=[],
        libraries={},
        environment={},
        timer=TIMER,
        scheduling="other",
        start_seconds=0.5,
        outcome=outcome,
    )


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", RUN)


@pytest.fixture
def three(folder: RunFolder) -> RunFolder:
    """Return a run with three records."""
    writer = Writer(folder, 1, 0)
    for error in ("one", "two", "three"):
        writer.append(record_of(error=error), None)
    return folder


def errors_in(folder: RunFolder) -> list[str]:
    return [record.error for record in folder.records()]


def lines_of(folder: RunFolder) -> Path:
    return folder.path / RECORDS_FILE


# -- a new folder


def test_a_new_run_is_read_back(folder: RunFolder) -> None:
    assert folder.read_run() == RUN
    assert list(folder.records()) == []
    assert (folder.path / "logs").is_dir()


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    assert RunFolder.create(tmp_path / "a" / "b" / "run", RUN).read_run() == RUN


def test_a_folder_that_is_there_is_left_alone(folder: RunFolder) -> None:
    with pytest.raises(UsageError, match="exists already; choose another --output or --label"):
        RunFolder.create(folder.path, msgspec.structs.replace(RUN, label="other"))
    assert folder.read_run() == RUN


@pytest.mark.parametrize("inside", ["file", "file/run", "file/deeper/run"])
def test_a_place_that_cannot_be_written(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(UsageError, match=r"--output") as caught:
        RunFolder.create(tmp_path / inside, RUN)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"is not a run: {RUN_FILE}: .*; collmark list shows runs"):
        RunFolder(tmp_path).read_run()


# -- run.json


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    st.builds(
        Run,
        schema_version=st.just(SCHEMA_VERSION),
        label=st.text(),
        created=st.text(),
        version=st.text(),
        command=st.lists(st.text(), max_size=3),
        plan=st.just(Plan()),
        cases=st.just([CASE]),
        notices=st.lists(st.text(), max_size=3),
    )
)
def test_any_text_in_run_json_survives(folder: RunFolder, run: Run) -> None:
    folder.write_run(run)
    assert folder.read_run() == run


def test_launches_are_added_in_order_and_replaced_by_id(folder: RunFolder) -> None:
    for launch in (launch_of(2), launch_of(1), launch_of(3), launch_of(2, Outcome.LOST)):
        folder.put_launch(launch)
    launches = folder.read_run().launches
    assert [launch.id for launch in launches] == [1, 2, 3]
    assert [launch.outcome for launch in launches] == [None, Outcome.LOST, None]


@pytest.mark.parametrize("text", ["{", "", "[]", "3", '{"schema_version": 1}', "\udcff"])
def test_a_damaged_run_json_is_named(folder: RunFolder, text: str) -> None:
    (folder.path / RUN_FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ParseError, match=RUN_FILE):
        folder.read_run()


def test_run_json_is_replaced_at_once_or_not_at_all(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(
        MeasurementError, match=r"run\.json: No space left on device; everything finished before is kept"
    ):
        folder.put_launch(launch_of(1))
    assert folder.read_run() == RUN


# -- schema


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
def test_a_newer_schema_is_refused(three: RunFolder, version: int) -> None:
    run = json.loads((three.path / RUN_FILE).read_bytes())
    (three.path / RUN_FILE).write_text(json.dumps(run | {"schema_version": version, "hologram": []}))
    message = f"schema {version} is newer than {SCHEMA_VERSION}; upgrade collmark to read it"
    with pytest.raises(SchemaError, match=message):
        three.read_run()
    record = json.loads(lines_of(three).read_bytes().splitlines()[0]) | {"schema_version": version}
    with lines_of(three).open("a") as file:
        file.write(json.dumps(record) + "\n")
    with pytest.raises(SchemaError, match=f"{RECORDS_FILE}:4: {message}"):
        list(three.records())


@pytest.mark.parametrize("version", [None, "1", 0, -1, 1.0])
def test_no_schema_is_no_result_of_ours(three: RunFolder, version: object) -> None:
    run = json.loads((three.path / RUN_FILE).read_bytes())
    (three.path / RUN_FILE).write_text(json.dumps(run | {"schema_version": version}))
    with pytest.raises(SchemaError, match="no schema_version; is this a collmark result"):
        three.read_run()


def test_an_old_schema_is_upgraded_step_by_step(three: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(
        store,
        "UPGRADES",
        {
            1: lambda raw: raw | {"schema_version": 2, "error": raw.get("error", "") + "+1"},
            2: lambda raw: raw | {"schema_version": 3, "error": raw["error"] + "+2"},
        },
    )
    assert errors_in(three) == ["one+1+2", "two+1+2", "three+1+2"]


def test_there_is_one_step_for_every_version_before_this() -> None:
    assert set(store.UPGRADES) == set(range(1, SCHEMA_VERSION))


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
    Writer(three, 1, 0).append(record_of(error="four"), None)
    assert errors_in(three) == ["one", "two", "four"]


def test_a_last_line_that_only_lacks_its_end_is_kept(three: RunFolder) -> None:
    path = lines_of(three)
    path.write_bytes(path.read_bytes()[:-1])
    assert errors_in(three) == ["one", "two", "three"]
    three.mend()
    Writer(three, 1, 0).append(record_of(error="four"), None)
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


def test_a_run_without_records_has_none(folder: RunFolder) -> None:
    lines_of(folder).unlink()
    assert list(folder.records()) == []


# -- raw samples


def test_samples_come_back(folder: RunFolder) -> None:
    writer = Writer(folder, 7, 10_000)
    references = [writer.append(record_of(7), stamps).samples for stamps in (STAMPS, STAMPS[:, :2, ::2])]
    assert [reference.offset for reference in references if reference] == [0, STAMPS.nbytes]
    for reference, stamps in zip(references, (STAMPS, STAMPS[:, :2, ::2]), strict=True):
        assert reference is not None
        assert reference.file == "samples-0007.i64"
        assert read_samples(folder, reference).tolist() == stamps.tolist()
    assert [record.samples for record in folder.records()] == references


def test_samples_end_with_the_share_and_records_do_not(folder: RunFolder) -> None:
    writer = Writer(folder, 1, STAMPS.nbytes + 100)
    written = [writer.append(record_of(), STAMPS) for _ in range(3)]
    assert [record.samples is not None for record in written] == [True, False, False]
    small = writer.append(record_of(), STAMPS[:, :1, :1])
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


# -- the lock


def test_a_second_writer_is_refused(folder: RunFolder) -> None:
    other = RunFolder(folder.path)
    folder.lock()
    with pytest.raises(UsageError, match="is being written by another collmark"):
        other.lock()
    folder.unlock()
    other.lock()
    other.unlock()
    other.unlock()  # once more does no harm


def test_the_lock_lives_as_long_as_any_process_that_holds_it(folder: RunFolder) -> None:
    descriptor = folder.lock()
    holder = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[descriptor]
    )
    try:
        folder.unlock()
        with pytest.raises(UsageError, match="another collmark"):
            RunFolder(folder.path).lock()
    finally:
        holder.communicate(b"\n", timeout=30)
    again = RunFolder(folder.path)
    again.lock()
    again.unlock()


def test_a_lock_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write results"):
        RunFolder(tmp_path / "nowhere").lock()


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
record = next(folder.records())
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
    Writer(three, 1, 0).append(record_of(error="four"), None)
    assert errors_in(three) == ["one", "two", "three", "four"]
