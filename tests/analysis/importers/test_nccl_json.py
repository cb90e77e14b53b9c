"""JSON of nccl-tests: what the corpus does not show."""

import json
from typing import Any

from tests.analysis.importers import corpus

from collmark.analysis.importers.row import RanksFrom


def _json(**changes: object) -> dict[str, Any]:
    data = (corpus.ROOT / "nccl" / "all_reduce-json.json").read_text()
    return {**json.loads(data), **changes}


def test_json_without_a_program_or_devices() -> None:
    whole = corpus.read(json.dumps(_json()).encode())
    assert {(row.ranks, row.nodes, row.version) for row in whole.rows} == {(16, 2, "NCCL 2.29.7")}
    bare = corpus.read(json.dumps(_json(args=[], config={})).encode())
    assert {row.operation for row in bare.rows} == {"all_reduce"}
    assert {(row.ranks, row.ranks_from, row.nodes) for row in bare.rows} == {(16, RanksFrom.FACTOR, None)}


def test_json_that_does_not_tell_its_operation() -> None:
    data = json.loads((corpus.ROOT / "nccl" / "all_to_all-json-pretty.json").read_text())
    told = corpus.read(json.dumps(data).encode()).rows
    bare = corpus.read(json.dumps({**data, "args": []}).encode()).rows
    moves = ("all_to_all", "all_to_all_v")  # of one result the half in place is no number: it would tell all_gather
    assert {row.candidates for row in bare} == {moves, ("all_gather", *moves)}
    assert {(row.seconds, row.nbytes, row.ranks) for row in bare} == {
        (row.seconds, row.nbytes, row.ranks) for row in told
    }


def test_json_with_strings_for_numbers() -> None:
    data = _json()
    for one in data["results"]:
        one["size"] = str(one["size"])
        for half in ("out_of_place", "in_place"):
            one[half] = {name: str(value) for name, value in one[half].items()}
    found, usual = corpus.read(json.dumps(data).encode()), corpus.read(json.dumps(_json()).encode())
    assert [row.seconds for row in found.rows] == [row.seconds for row in usual.rows]


def test_json_keeps_nothing_of_the_environment() -> None:
    found = corpus.read(json.dumps(_json(env=["TOKEN=secret-4711"])).encode())
    assert "secret-4711" not in repr(found)


def test_json_of_others_is_left_alone() -> None:
    others: list[dict[str, object]] = [{"results": [1]}, {"results": []}, {"results": {}, "config": {}}, {"config": {}}]
    for other in others:
        assert corpus.read(json.dumps(other).encode()).rows == ()
    odd = _json(results=["x", None, {}, {"size": 8}, {"size": -8, "count": 2, "type": "float", "in_place": {}}])
    found = corpus.read(json.dumps(odd).encode())
    assert found.rows == ()
    assert len(found.skipped) == 3
