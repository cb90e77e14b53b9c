"""Whatever is wrong is answered by one line and the documented status, before anything is started or written."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collmark.bench.launchers import seating
from collmark.core.store import RECORDS_FILE, RUN_FILE

USAGE, MISSING = 2, 3
SIM = ("run", "--backend", "simulated", "--ranks", "2")
LONG, DIGITS = "a" * 5000, "9" * 5000
RAW = "a\x1b[2J\udcff"  # moves a cursor, and is no text
TORCHRUN = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}

# words, what the line must say; status 2 unless a third item says otherwise
CASES: dict[str, tuple[Any, ...]] = {
    "unknown command": (("rnu",), "did you mean 'run'?"),
    "unknown option": (("run", "--sizse", "8B"), "did you mean '--sizes'?"),
    "unknown option of the program": (("--vers",), "--version"),
    "option without value": (("run", "--sizes"), "--sizes"),
    "too many arguments": (("list", "one", "two"), "two"),
    "unknown colour": (("--color", "pink", "list"), "always"),
    "factor 0": ((*SIM, "--sizes", "8B:1GB:x0"), "--sizes 8B:1GB:x0: the factor must be above 1"),
    "factor 1": ((*SIM, "--sizes", "8B:1GB:x1"), "above 1"),
    "negative size": ((*SIM, "--sizes", "-8B"), "--sizes"),
    "step 0": ((*SIM, "--sizes", "8:64:+0"), "--sizes"),
    "last below first": ((*SIM, "--sizes", "1KiB:8B:x2"), "--sizes"),
    "size twice": ((*SIM, "--sizes", "8B,8B"), "--sizes"),
    "bits": ((*SIM, "--sizes", "8Mb"), "bits"),
    "empty sizes": ((*SIM, "--sizes", ""), "--sizes"),
    "half a byte": ((*SIM, "--sizes", "0.5B"), "whole number"),
    "unit": ((*SIM, "--sizes", "8XB"), "unknown unit"),
    "no last": ((*SIM, "--sizes", "8B:"), "missing"),
    "all below one element": ((*SIM, "--sizes", "1B,2B"), "one element"),
    "unknown operation": (("run", "--operation", "al_reduce"), "did you mean 'all_reduce'?"),
    "empty operation": ((*SIM, "--operation", ""), "at least one"),
    "operation twice": ((*SIM, "--operation", "barrier,barrier"), "twice"),
    "unknown backend": (("run", "--backend", "glo"), "did you mean 'gloo'?"),
    "unknown dtype": ((*SIM, "--dtype", "float23"), "did you mean 'float32'?"),
    "unknown reduction": ((*SIM, "--reduction", "summ"), "did you mean 'sum'?"),
    "unknown traffic": ((*SIM, "--traffic", "unifrom"), "did you mean 'uniform'?"),
    "zipf without number": ((*SIM, "--traffic", "zipf:x"), "zipf"),
    "traffic twice": ((*SIM, "--traffic", "uniform,uniform"), "--traffic names uniform twice"),
    "empty traffic": ((*SIM, "--traffic", ""), "--traffic needs at least one name"),
    "experts without choice": (
        (*SIM, "--traffic", "moe:8"),
        "moe:8: it takes two to five numbers; write moe:",
    ),
    "more choices than experts": (
        (*SIM, "--traffic", "moe:8:9"),
        "moe:8:9: 9 experts per token: must be 1 to 8",
    ),
    "experts that do not divide": (
        (*SIM, "--operation", "all_to_all_v", "--traffic", "moe:9:2"),
        "moe:9:2: 9 experts do not lie evenly on 2 ranks",
    ),
    "token of half an element": (
        (*SIM, "--operation", "all_to_all_v", "--traffic", "moe:8:2:0:0:6B"),
        "moe:8:2:0:0:6B: a token of 6 B holds no whole number of elements of 4 B",
    ),
    "no matrix": ((*SIM, "--traffic", "file:nowhere.csv"), "--traffic nowhere.csv: No such file or directory"),
    "matrix without name": ((*SIM, "--traffic", "file:"), "--traffic file:: the file is missing"),
    "matrix is a folder": ((*SIM, "--traffic", "file:folder"), "--traffic folder: is no file"),
    "matrix of words": (
        (*SIM, "--traffic", "file:file"),
        "file:1: column 1: must be a whole number of bytes",
    ),
    "matrix of other ranks": (
        (*SIM, "--operation", "all_to_all_v", "--traffic", "file:three.csv"),
        "a matrix of 3 ranks, and there are 2",
    ),
    "matrix below zero": ((*SIM, "--traffic", "file:below.csv"), "below.csv:2: column 1: must not be negative: '-8'"),
    "matrix with a hole": ((*SIM, "--traffic", "file:hole.csv"), "hole.csv:1: column 2: is empty"),
    "matrix that is not square": (
        (*SIM, "--traffic", "file:wide.csv"),
        "wide.csv: 3 columns and 2 rows",
    ),
    "binary matrix": ((*SIM, "--traffic", "file:binary.toml"), "--traffic binary.toml:1: is no text"),
    "empty matrix": ((*SIM, "--traffic", "file:empty.csv"), "empty.csv: is empty"),
    "matrix of a plan": (("run", "traced.toml"), "plan traced.toml: traffic: nowhere.csv: No such file or directory"),
    "avg of integers": (("run", "--operation", "all_reduce", "--dtype", "int8", "--reduction", "avg"), "avg"),
    "no plan file": (("run", "nowhere.toml"), "No such file"),
    "plan is a folder": (("run", "folder"), "folder"),
    "binary plan": (("run", "binary.toml"), "binary.toml"),
    "bad TOML": (("run", "broken.toml"), "broken.toml"),
    "misspelt key": (("run", "misspelt.toml"), "did you mean 'sizes'?"),
    "unknown key": (("run", "unknown.toml"), "unknown key"),
    "wrong type": (("run", "type.toml"), "precision"),
    "empty axis": (("run", "empty.toml"), "empty.toml: operations: needs at least one name"),
    "axis twice": (("run", "twice.toml"), "twice"),
    "placement of zero": (("run", "placement.toml"), "ranks_per_node"),
    "placement twice": (("run", "doubled.toml"), "stands there twice"),
    "label that writes on the screen": (("run", "escape.toml"), "label"),
    "faults without simulation": (("run", "faults.toml"), "--backend simulated"),
    "placements and ranks": (("run", "placed.toml", "--ranks", "2"), "leave one of them away"),
    "precision 0": ((*SIM, "--precision", "0"), "precision"),
    "precision 80 %": ((*SIM, "--precision", "80%"), "precision"),
    "precision in words": ((*SIM, "--precision", "good"), "--precision good"),
    "case budget 0": ((*SIM, "--case-budget", "0"), "--case-budget"),
    "case budget of weeks": (
        (*SIM, "--case-budget", "1000h"),
        "--case-budget 1000h: must be a time from 20 ms to one day",
    ),
    "budget negative": ((*SIM, "--budget", "-5"), "--budget"),
    "budget unit": ((*SIM, "--budget", "5 weeks"), "--budget"),
    "timeout too short": ((*SIM, "--timeout", "1ms"), "timeout"),
    "launches 0": ((*SIM, "--launches", "0"), "launches"),
    "launches -1": ((*SIM, "--launches", "-1"), "launches"),
    "launches abc": ((*SIM, "--launches", "abc"), "--launches abc"),
    "ranks 0": (("run", "--ranks", "0"), "--ranks 0"),
    "ranks -1": (("run", "--ranks", "-1"), "--ranks -1"),
    "ranks 1000": (("run", "--ranks", "1000"), "--oversubscribe"),
    "ranks many": (("run", "--ranks", "many"), "--ranks many"),
    "one rank": ((*SIM[:-1], "1", "--operation", "ping_pong"), "ping_pong"),
    "scheduling": ((*SIM, "--scheduling", "fif"), "did you mean 'fifo'?"),
    "binding": ((*SIM, "--bind", "core"), "did you mean 'cores'?"),
    "messages 0": ((*SIM, "--messages", "0"), "messages"),
    "seed": ((*SIM, "--seed", "x"), "--seed x"),
    "samples": ((*SIM, "--samples", "lots"), "--samples"),
    "label with slash": ((*SIM, "--label", "a/b"), "label"),
    "output under a file": ((*SIM, "--output", "file/below"), "--output"),
    "simulate without value": ((*SIM, "--simulate", "alpha"), "KEY=VALUE"),
    "simulate unknown key": ((*SIM, "--simulate", "alhpa=1"), "did you mean 'alpha'?"),
    "simulate no number": ((*SIM, "--simulate", "alpha=fast"), "--simulate"),
    "simulate below zero": ((*SIM, "--simulate", "alpha=-1.0"), "alpha"),
    "simulate what is measured": (("run", "--simulate", "alpha=1.0"), "--backend simulated"),
    "resume nothing": (("run", "--resume", "nothing"), "nothing"),
    "resume no run": (("run", "--resume", "folder"), "is not a run"),
    "resume newer schema": (("run", "--resume", "newer"), "upgrade collmark"),
    "resume with options": (("run", "--resume", "RUN", "--sizes", "8B"), "leave away --sizes"),
    "resume with a plan": (("run", "placed.toml", "--resume", "RUN"), "leave away PLAN.toml"),
    "resume misspelt": (("run", "--resume", "smal"), "did you mean 'small'?"),
    "into another plan": ((*SIM, "--sizes", "8B", "--into", "RUN"), "another plan"),
    "fault on a rank that is not there": ((*SIM, "--simulate", "dead_rank=99"), "there are ranks 0 to 1"),
    "factors the wrong way round": ((*SIM, "--simulate", "contamination=[4,1]"), "smaller factor first"),
    "spread without bound": ((*SIM, "--simulate", "within_cv=1e9"), "within_cv"),
    "seed below zero": ((*SIM, "--simulate", "seed=-1"), "seed"),
    "label that is a word of ours": ((*SIM, "--label", "latest"), "newest run"),
    "ranks without bound": (("run", "--ranks", "1025", "--oversubscribe"), "at most 1024"),
    "simulated ranks without bound": (("run", "--backend", "simulated", "--ranks", "65537"), "at most 65536"),
    "into and label": ((*SIM, "--into", "RUN", "--label", "x"), "leave --output and --label away"),
    "launches under torchrun": (("run", "--launches", "5"), "--into RUN", USAGE, TORCHRUN),
    "resume under torchrun": (("run", "--resume", "RUN"), "use --into", USAGE, TORCHRUN),
    "ranks under torchrun": (("run", "--ranks", "3"), "leave --ranks away", USAGE, TORCHRUN),
    "contradictory launcher": (("run",), "rank 5 of 2", MISSING, {**TORCHRUN, "RANK": "5"}),
    "host that is no name": (("run",), r"'a\x1b[2J\udcff' is no host name", MISSING, {**TORCHRUN, "MASTER_ADDR": RAW}),
    "host without end": (("run",), "is no host name", MISSING, {**TORCHRUN, "MASTER_ADDR": LONG}),
    "launcher's words": (("run",), "unset them", MISSING, {**TORCHRUN, "WORLD_SIZE": "two"}),
    "export nothing": (("export", "nothing"), "nothing"),
    "export without run": (("export",), "RUN"),
    "export unknown format": (("export", "RUN", "--format", "xlsx"), "parquet"),
    "export over a file": (("export", "RUN", "-o", "file"), "--force"),
    "export into a folder": (("export", "RUN", "-o", "folder"), "folder"),
    "export to nowhere": (("export", "RUN", "-o", "nowhere/x.csv"), "nowhere/x.csv"),
    "parquet to stdout": (("export", "RUN", "--format", "parquet"), "-o run.parquet"),
    "parquet to -": (("export", "RUN", "--format", "parquet", "-o", "-"), "-o run.parquet"),
    "export of a damaged run": (("export", "damaged"), f"{RECORDS_FILE}:2"),
    "list a damaged run": (("list", "damaged"), f"{RECORDS_FILE}:2"),
    "list nothing": (("list", "nothing"), "nothing"),
    "list torn run.json": (("list", "torn"), RUN_FILE),
    "init over a file": (("plan", "--init", "file"), "--force"),
    "init with options": (("plan", "--init", "--sizes", "8B"), "leave away --sizes"),
    "plan of nothing": (("plan", "nowhere.toml"), "No such file"),
    "plan ranks": (("plan", "--ranks", "0"), "--ranks 0"),
    "demo launches": (("demo", "--launches", "0"), "launches"),
    "demo budget": (("demo", "--budget", "soon"), "--budget 'soon'"),
    # nothing where a name should stand, which pathlib takes for the current folder
    "run without a name": (("run", ""), "PLAN.toml: the name is empty"),
    "plan without a name": (("plan", ""), "PLAN.toml: the name is empty"),
    "resume without a name": (("run", "--resume", ""), "the name of a run is empty"),
    "into without a name": ((*SIM, "--into", ""), "--into: the name is empty"),
    "output without a name": ((*SIM, "--output", " "), "--output: the name is empty"),
    "label without a name": ((*SIM, "--label", ""), "--label: the name is empty"),
    "list without a name": (("list", ""), "the name of a run is empty"),
    "export without a name": (("export", ""), "the name of a run is empty"),
    "export to no name": (("export", "RUN", "-o", ""), "--file: the name is empty"),
    # names and numbers without end
    "output without end": ((*SIM, "--output", LONG), "File name too long"),
    "label without end": ((*SIM, "--label", LONG), "at most 64 letters"),
    "into without end": ((*SIM, "--into", LONG), "File name too long"),
    "resume without end": (("run", "--resume", LONG), "File name too long"),
    "plan without end": (("run", LONG), "File name too long"),
    "init without end": (("plan", "--init", LONG), "File name too long"),
    "list without end": (("list", LONG), "File name too long"),
    "list where without end": (("list", "--output", LONG), "File name too long"),
    "results without end": (("list",), "File name too long", USAGE, {"COLLMARK_RESULTS": LONG}),
    "export to without end": (("export", "RUN", "-o", LONG), "File name too long"),
    "command without end": ((LONG,), "unknown command"),
    "option without end": (("run", f"--{LONG}"), "unknown option"),
    "arguments without end": (("list", "one", LONG), "extra argument"),
    "operation without end": ((*SIM, "--operation", LONG), "unknown operation"),
    "ranks without end": (("run", "--ranks", DIGITS), "must be a whole number"),
    "launches without end": ((*SIM, "--launches", DIGITS), "must be a whole number"),
    "seed without end": ((*SIM, "--seed", DIGITS), "must be a whole number"),
    "seed that cannot be stored": ((*SIM, "--seed", "9" * 30), "whole number in 0 to 9223372036854775807"),
    "sizes without end": ((*SIM, "--sizes", DIGITS), "over 40 digits"),
    "factor without end": ((*SIM, "--sizes", f"8:64:x{DIGITS}"), "neither xFACTOR"),
    "samples without end": ((*SIM, "--samples", DIGITS), "over 40 digits"),
    "precision without end": ((*SIM, "--precision", DIGITS), "must be a share"),
    "precision that is none": ((*SIM, "--precision", "nan"), "must be a share"),
    "timeout without end": ((*SIM, "--timeout", "1e400"), "--timeout '1e400' is not a time"),
    "traffic without end": ((*SIM, "--traffic", f"zipf:1:{DIGITS}"), "must be a whole number"),
    "simulate without end": ((*SIM, "--simulate", f"seed={DIGITS}"), "the value is no number"),
    "simulate infinity": ((*SIM, "--simulate", "alpha=1e400"), "the value is no number"),
    "plan of digits": (("plan", "digits.toml"), "digits.toml: a number has thousands of digits"),
    "plan of a long number": (("plan", "long.toml"), "long.toml: timeout: 9999"),
    "plan of brackets": (("plan", "brackets.toml"), "brackets.toml: tables or lists nested too deeply"),
    "more pairs than memory": (
        ("run", "--backend", "simulated", "--ranks", "60000", "--operation", "all_to_all_v"),
        "2048",
    ),
    # numbers that only Python reads
    "ranks with a dash": (("run", "--ranks", "1_0"), "--ranks 1_0: must be a whole number"),
    "ranks in other digits": (("run", "--ranks", "\u0663"), "must be a whole number"),
    "launches in other digits": ((*SIM, "--launches", "\u0663"), "must be a whole number"),
    "precision in other digits": ((*SIM, "--precision", "\u0663%"), "must be a share"),
    "seed with a dash": ((*SIM, "--seed", "1_0"), "--seed 1_0: must be a whole number"),
    "messages with a dash": ((*SIM, "--messages", "1_0"), "must be a whole number in 1 to 1024"),
    "traffic with a dash": ((*SIM, "--traffic", "zipf:1_0"), "1_0: must be a number"),
    "simulate with a dash": ((*SIM, "--simulate", "seed=1_0"), "the value is no number"),
    # bytes that are no text, and escape sequences
    "sizes in colour": ((*SIM, "--sizes", RAW[:-1]), r"--sizes a\x1b[2J"),
    "output in colour": ((*SIM, "--output", "file/" + RAW[:-1]), r"\x1b[2J"),
    "plan in colour": (("run", RAW[:-1]), r"a\x1b[2J"),
    "command in colour": ((RAW[:-1],), r"unknown command 'a\x1b[2J'"),
    "results in raw bytes": (("list", "x"), r"a\x1b[2J\udcff", USAGE, {"COLLMARK_RESULTS": RAW}),
    # the rest
    "argument that is no text": (("list", "\udcff"), "must be UTF-8 text"),
    "export misspelt format": (("export", "RUN", "--format", "cvs"), "did you mean 'csv'? allowed: csv, parquet"),
    "results are a file": (("list",), "file is no folder of runs", USAGE, {"COLLMARK_RESULTS": "file"}),
    "results of a name are a file": (("list", "latest"), "no folder of runs", USAGE, {"COLLMARK_RESULTS": "file"}),
    "export where a file is": (("export", "latest", "--output", "file"), "file is no folder of runs"),
    "fault beyond the buffer": (
        (
            *SIM,
            "--sizes",
            "64B",
            "--operation",
            "all_reduce",
            "--simulate",
            "wrong_rank=1",
            "--simulate",
            "wrong_element=16",
        ),
        "wrong_element = 16: all_reduce 64 B float32 gives rank 1 elements 0 to 15",
    ),
    "fault beyond the buffer, in a preview": (
        ("plan", *SIM[1:], "--sizes", "64B", "--simulate", "wrong_rank=1", "--simulate", "wrong_element=16"),
        "wrong_element = 16: ",
    ),
    "fault on a rank that is not there, in a preview": (
        ("plan", *SIM[1:], "--simulate", "dead_rank=99"),
        "there are ranks 0 to 1",
    ),
    "misspelt backend in a plan": (("plan", "backend.toml"), "plan backend.toml: backends: unknown backend 'glo'"),
    "misspelt operation in a plan": (("plan", "operation.toml"), "plan operation.toml: operations: unknown operation"),
    "misspelt key of a simulation": (("plan", "planted.toml"), "plan planted.toml: simulation: unknown key 'alhpa'"),
    "list an impossible run": (("list", "impossible"), f"{RECORDS_FILE}:1: timing.median: -1.0: must be a number"),
    "resume an impossible run": (("run", "--resume", "impossible"), f"{RECORDS_FILE}:1: timing.median: -1.0"),
}

PLANS = {
    "broken.toml": "sizes = [",
    "misspelt.toml": 'size = "8B"',
    "unknown.toml": "zzz = 1",
    "type.toml": 'precision = "high"',
    "empty.toml": "operations = []",
    "twice.toml": 'dtypes = ["int8", "int8"]',
    "placement.toml": "[[placements]]\nranks_per_node = 0",
    "doubled.toml": "[[placements]]\nranks_per_node = 2\n[[placements]]\nranks_per_node = 2\nlabel = 'again'\n",
    "faults.toml": "backends = ['gloo']\n[simulation]\nalpha = 1e-6\n",
    "escape.toml": '[[placements]]\nlabel = "a\\u001b[31mb"\n',
    "digits.toml": f"seed = {DIGITS}",
    "long.toml": f"timeout = {'9' * 400}",
    "brackets.toml": f"sizes = {'[' * 5000}{']' * 5000}",
    "backend.toml": 'backends = ["glo"]',
    "operation.toml": 'operations = ["al_reduce"]',
    "planted.toml": 'backends = ["simulated"]\nsimulation.alhpa = 1',
    "placed.toml": "[[placements]]\nranks_per_node = 2",
    "traced.toml": 'traffic = "file:nowhere.csv"',
    "three.csv": "0 8 8\n8 0 8\n8 8 0\n",
    "below.csv": "0 8\n-8 0\n",
    "hole.csv": "0,,8\n",
    "wide.csv": "0,8,8\n8,8,0\n",
    "empty.csv": "# nothing yet\n",
}


def impossible(line: bytes) -> bytes:
    record = json.loads(line)
    record["timing"]["median"] = -1.0
    return json.dumps(record).encode() + b"\n"


@pytest.fixture
def place(measured: str, workplace: Path) -> str:
    """Fill the folder with everything that can be wrong; return the path of a good run."""
    for name, text in PLANS.items():
        (workplace / name).write_text(text, encoding="utf-8")
    (workplace / "binary.toml").write_bytes(b"\xff\xfe\x00\x80")
    (workplace / "file").write_text("precious", encoding="utf-8")
    (workplace / "folder").mkdir()
    run = json.loads((workplace / measured / RUN_FILE).read_text(encoding="utf-8"))
    lines = (workplace / measured / RECORDS_FILE).read_bytes().splitlines(keepends=True)
    for name, header, records in (
        ("newer", json.dumps(run | {"schema_version": 99}), []),
        ("damaged", json.dumps(run), [lines[0], b"{ torn\n", *lines[2:]]),
        ("torn", json.dumps(run)[:100], []),
        ("impossible", json.dumps(run), [impossible(lines[0]), *lines[1:]]),
    ):
        (workplace / name).mkdir()
        (workplace / name / RUN_FILE).write_text(header, encoding="utf-8")
        (workplace / name / RECORDS_FILE).write_bytes(b"".join(records))
    return measured


@pytest.fixture(autouse=True)
def nothing_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test here start a process or simulate a launch, once the good run is there."""

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(seating, "TURN_AWAY_SECONDS", 0.0)  # no other rank will come


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b""


@pytest.mark.manner(2)
@pytest.mark.manner(13)
@pytest.mark.manner(14)
@pytest.mark.parametrize("name", CASES)
def test_wrong_use_is_one_line(name: str, cli: Callable[..., Any], place: str, workplace: Path) -> None:
    words, wanted, *rest = CASES[name]
    status, env = rest or (USAGE, {})
    before = dict(contents(workplace))
    result = cli(*(place if word == "RUN" else word for word in words), env=env)
    line, *more = result.err.splitlines()
    assert line.isprintable()
    assert line.startswith("error: "), line
    assert len(line) < 700
    assert wanted in line
    assert not more
    assert not result.out
    assert result.status == status
    assert dict(contents(workplace)) == before


def test_there_are_enough_kinds() -> None:
    assert len(CASES) >= 40
