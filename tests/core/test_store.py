"""The folder of a run: what was finished stays readable, whatever happens while writing."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.stored import CASE, RUN, errors_in, launch_of, lines_of, record_of

from collmark.core import schema
from collmark.core.errors import MeasurementError, ParseError, SchemaError, UsageError
from collmark.core.plan import Plan
from collmark.core.record import (
    SCHEMA_VERSION,
    Outcome,
    Record,
    Run,
)
from collmark.core.store import RECORDS_FILE, RUN_FILE, RunFolder

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


def test_a_folder_is_no_run_before_the_records_that_it_is_made_of_are_there(tmp_path: Path) -> None:
    def struck() -> Iterator[Record]:
        yield record_of()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RunFolder.create(tmp_path / "run", RUN, struck())
    with pytest.raises(UsageError, match="is not a run"):
        RunFolder(tmp_path / "run").read_run()


@pytest.mark.parametrize(("records", "waits"), [(None, 1), ([], 0)])
def test_the_disk_is_waited_for_where_records_will_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: list[Record] | None, waits: int
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    RunFolder.create(tmp_path / "run", RUN, records)
    assert len(synced) == waits


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
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(
        schema,
        "UPGRADES",
        {
            1: lambda raw: raw | {"schema_version": 2, "error": raw.get("error", "") + "+1"},
            2: lambda raw: raw | {"schema_version": 3, "error": raw["error"] + "+2"},
        },
    )
    assert errors_in(three) == ["one+1+2", "two+1+2", "three+1+2"]


def test_there_is_one_step_for_every_version_before_this() -> None:
    assert set(schema.UPGRADES) == set(range(1, SCHEMA_VERSION))


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


def test_a_file_system_without_locks_is_named_as_such(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(UsageError, match=r"cannot be locked \(No locks available\)"):
        folder.lock()


def test_a_lock_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write results"):
        RunFolder(tmp_path / "nowhere").lock()
