"""Files edited by hand: what cannot be is refused by line and field, and what stands twice counts once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collmark.core.errors import ParseError
from collmark.core.record import Record, Run
from collmark.core.store import RECORDS_FILE, RUN_FILE, RepeatedRecordWarning, RunFolder, read_samples

REFERENCE = next((Path(__file__).parents[2] / "results" / "reference").iterdir())
HUGE = "9" * 5000
Edit = Callable[..., None]

# place in a record, value, what is said of it
IMPOSSIBLE: dict[str, tuple[str, Any, str]] = {
    "negative median": ("timing.median", -1e-6, "timing.median: -1e-06: must be a number, at least 0"),
    "negative nbytes": ("case.nbytes", -8, "case.nbytes: -8: must be a whole number, at least 0"),
    "negative size asked for": ("case.requested_nbytes", -8, "case.requested_nbytes"),
    "no repetitions": ("timing.repetitions", 0, "timing.repetitions: 0: must be a whole number, at least 1"),
    "no launch": ("launch", 0, "launch: 0: must be a whole number, at least 1"),
    "no cores": ("cores", 0, "cores: 0: must be a whole number, at least 1"),
    "no nodes": ("case.placement.nodes", 0, "case.placement.nodes: 0: must be a whole number, at least 1"),
    "nodes without end": ("case.placement.nodes", 10**12, "case.placement.nodes"),
    "lower above upper": ("timing.lower", 1e6, "timing: lower (1e+06) must not be above median"),
    "upper below the median": ("timing.upper", 1e-12, "must not be above upper (1e-12)"),
    "quartile above the median": ("timing.p25", 1e6, "timing: p25 (1e+06) must not be above median"),
    "smallest above all": ("timing.minimum", 1e6, "timing: minimum (1e+06) must not be above p25"),
    "cut above all": ("timing.cut", 10**6, "timing: cut (1e+06) must not be above repetitions"),
    "level of nothing": ("timing.level", 1e-300, "timing.level"),
    "tau of nothing": ("timing.tau", 0.0, "timing.tau: 0.0: must be a number, at least 1"),
    "share above one": ("timing.second_mode", 1.5, "timing.second_mode: 1.5: must be a number, at most 1"),
    "lists of other lengths": ("ranks.lateness", [], "ranks: last_in, last_out and lateness must be of equal length"),
    "negative count in a list": ("ranks.last_in.0", -1, "ranks.last_in[0]: -1: must be a whole number"),
    "negative errors": ("check.wrong", -1, "check.wrong: -1: must be a whole number, at least 0"),
    "text for a number": ("timing.median", "fast", "timing.median: fast: must be a number"),
    "number for a text": ("error", 3, "error: 3: must be text"),
    "list for a record": ("case", [], "case: []: must be a table"),
    "nothing for a number": ("wall", None, "wall: None: must be a number"),
    "NaN": ("timing.median", float("nan"), "JSON is malformed"),
    "infinity": ("timing.median", float("inf"), "JSON is malformed"),
    "unknown operation": ("case.operation", "all_redcue", "case: unknown operation 'all_redcue'; did you mean"),
    "unknown dtype": ("case.dtype", "float23", "case: unknown dtype 'float23'; did you mean 'float32'?"),
    "unknown reduction": ("case.reduction", "summ", "case: unknown reduction 'summ'; did you mean 'sum'?"),
    "unknown status": ("status", "convergd", "status: unknown status 'convergd'; did you mean 'converged'?"),
    "unknown key": ("timing.medain", 1.0, "timing: unknown key 'medain'; did you mean 'median'?"),
    "one rank for two": ("case.operation", "ping_pong", "case: ping_pong needs at least 2 ranks, not 1"),
}


@pytest.fixture
def lines(folder: RunFolder) -> list[bytes]:
    """Return three real lines."""
    del folder
    return (REFERENCE / RECORDS_FILE).read_bytes().splitlines()[:3]


def edited(line: bytes, place: str, value: object) -> bytes:
    raw: dict[str, Any] = json.loads(line)
    if value == "ping_pong":
        raw["case"]["placement"] = {"nodes": 1}
    thing: Any = raw
    *way, last = place.split(".")
    for step in way:
        thing = thing[step]
    thing[int(last) if isinstance(thing, list) else last] = value
    return json.dumps(raw).encode()


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_impossible_value_is_refused_by_line_and_field(folder: RunFolder, lines: list[bytes], name: str) -> None:
    place, value, words = IMPOSSIBLE[name]
    path = folder.path / RECORDS_FILE
    path.write_bytes(b"\n".join([lines[0], edited(lines[1], place, value), lines[2], b""]))
    with pytest.raises(ParseError) as caught:
        list(folder.records())
    assert str(caught.value).startswith(f"{path}:2: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "`" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, HUGE.encode(), b'{"launch": ' + HUGE.encode() + b"}", b'"\xff"', b"1e999"]
)
def test_what_is_hardly_json_is_refused_by_line(folder: RunFolder, lines: list[bytes], text: bytes) -> None:
    path = folder.path / RECORDS_FILE
    path.write_bytes(b"\n".join([lines[0], text, lines[2], b""]))
    with pytest.raises(ParseError, match=rf"{RECORDS_FILE}:2: ") as caught:
        list(folder.records())
    assert len(str(caught.value)) < len(str(path)) + 200


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("cases.0.nbytes", -1, "cases[0].nbytes: -1: must be a whole number, at least 0"),
        ("launches.0.id", 0, "launches[0].id: 0: must be a whole number, at least 1"),
        ("launches.0.timer.tick", -1.0, "launches[0].timer.tick: -1.0: must be a number, at least 0"),
        ("plan.launches", -3, "plan.launches: -3: must be a whole number, at least 1"),
        ("plan.samples", -1, "plan.samples: -1: must be a whole number, at least 0"),
        ("plan.precision", float("nan"), "JSON is malformed"),
        ("plan.scheduling", "fif", "plan.scheduling: unknown scheduling 'fif'; did you mean 'fifo'?"),
        ("cases", 3, "cases: 3: must be a list"),
    ],
)
def test_an_impossible_value_in_run_json_is_refused_by_field(
    folder: RunFolder, place: str, value: object, words: str
) -> None:
    raw: Any = json.loads((REFERENCE / RUN_FILE).read_bytes())
    thing = raw
    *way, last = place.split(".")
    for step in way:
        thing = thing[int(step) if isinstance(thing, list) else step]
    thing[int(last) if isinstance(thing, list) else last] = value
    path = folder.path / RUN_FILE
    path.write_text(json.dumps(raw))
    with pytest.raises(ParseError) as caught:
        folder.read_run()
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_the_reference_run_is_possible() -> None:
    folder = RunFolder(REFERENCE)
    assert isinstance(folder.read_run(), Run)
    assert all(isinstance(record, Record) for record in folder.records())


def test_a_line_that_stands_twice_counts_once_with_one_warning(folder: RunFolder, lines: list[bytes]) -> None:
    path = folder.path / RECORDS_FILE
    # The first copy differs: it is the same case in the same launch all the same.
    copies = [edited(lines[1], "wall", 77.0), lines[0], lines[0]]
    path.write_bytes(b"\n".join([*lines, *copies, b""]))
    with pytest.warns(RepeatedRecordWarning) as caught:
        records = list(folder.records())
    (warning,) = caught
    assert str(warning.message) == (
        f"{path}:4: the case and launch of line 2 once more: left out, as 2 later lines repeating others"
    )
    assert len(records) == 3
    assert 77.0 not in [record.wall for record in records]


def test_repeats_of_the_sentinel_and_other_launches_are_no_copies(folder: RunFolder, lines: list[bytes]) -> None:
    plain = edited(lines[0], "sentinel", None)
    others = [edited(plain, "sentinel", mark) for mark in ("start", "middle", "end")]
    path = folder.path / RECORDS_FILE
    path.write_bytes(b"\n".join([plain, *others, edited(plain, "launch", 99), b""]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(folder.records())) == 5


def test_samples_that_cannot_be_there_are_refused(folder: RunFolder, lines: list[bytes]) -> None:
    line = edited(
        lines[0], "samples", {"file": "samples-0001.i64", "offset": 0, "shape": [2, 2**40, 2**40], "crc32": 0}
    )
    (folder.path / RECORDS_FILE).write_bytes(line + b"\n")
    (folder.path / "samples-0001.i64").write_bytes(b"12345678")
    (record,) = folder.records()
    assert record.samples is not None
    with pytest.raises(ParseError, match="do not match"):
        read_samples(folder, record.samples)
    (folder.path / RECORDS_FILE).write_bytes(edited(line, "samples.file", "../../secret") + b"\n")
    with pytest.raises(ParseError, match=r"samples\.file"):
        list(folder.records())
