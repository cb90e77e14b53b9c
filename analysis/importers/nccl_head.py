"""The lines around nccl-tests' table: what they say about the run, and the order in which a run prints them.

Sources: nccl-tests src/common.cu and src/util.cu (writeDeviceReport, writeResultHeader, writeResultFooter); rccl-tests
src/common.cu for its version and for cycles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from collmark.analysis.importers.nccl_names import TESTS, operation_of
from collmark.analysis.importers.section import agreed
from collmark.core.case import Cadence

_KINDS = {
    "version": r"nccl-tests version ",
    "starting": r"Collective test starting: ",
    "threads": r"nThread \d",
    "mode": r"(?:Blocking|Parallel Init|Swap Comms) Enabled|Per-Iteration Report:|Bitwise Repeatability:",
    "library": r"rccl-tests: Version ",
    "using": r"Using devices$",
    "rank": r"Rank +\d+ ",
    "limit": r"Reducing maxBytes to \d",
    "title": r"(?:out-of-place|in-place)\b",
    "columns": r"(?:size|bytes)[ ,]+(?:count|N)[ ,]+type\b",
    "units": r"\(B\),? +\(elements\)",
    "cycle": r"Testing \d+ cycle\.",
    "bounds": r"Out of bounds values +:",
    "average": r"Avg bus bandwidth +:",
    "concluded": r"Collective test concluded: ",
}
KIND = re.compile("[#, ]*(?:" + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()) + ")")
ANY = "[#, ]*(?:" + "|".join(_KINDS.values()) + ")"
"""The same without names."""
STAGES = {
    "version": 1, "starting": 2, "threads": 3, "mode": 4, "library": 4, "using": 5, "rank": 6, "limit": 7,
    "title": 8, "columns": 9, "units": 10, "cycle": 11, "bounds": 12, "average": 13, "concluded": 14,
}  # fmt: skip
"""A run prints its lines in this order; rows are at the stage of cycles."""
ROWS = STAGES["cycle"]
REPEATED = frozenset(("mode", "library", "rank", "cycle"))

_VERSION = re.compile(r"nccl-tests version (\d[\w.]*) (?:nccl-|\()")
_THREADS = re.compile(
    r"nThread (\d{1,6}) nGpus (\d{1,6}) minBytes (\d{1,18}) maxBytes (\d{1,18}) step: (\d{1,18})\((factor|bytes)\)"
)
_ITERATIONS = re.compile(r" iters: (\d{1,9}) (?:agg iters: (\d{1,9}) )?validation: \d")
_GRAPH = re.compile(r" graph: (0|[1-9]\d{0,5})(?= |$)")
_RANK = re.compile(r"Rank +(\d{1,7})(?: +Group +(\d+))?(?: +Pid +\d+)? +on +(\S+) +device +\d+ \[([^\]]*)\] *(.*)")
_LIMIT = re.compile(r"to (\d{1,18}) due")
_LIBRARY = re.compile(r"rccl-tests: Version (\S*:[0-9a-f]{7,40})$")
_AMD = re.compile(r"\bAMD\b|\bInstinct\b|\bMI\d{2,3}|\bgfx\d|\bRadeon\b|\bVega\b")
_NVIDIA = re.compile(r"\b(?:NVIDIA|Tesla|GeForce|Quadro|TITAN|GH200|GB\d{3}|[ABHLPV]\d{2,3}[A-Z]?)\b")
_SETTING = re.compile(r"\b(?:NCCL_)?(ALGO|PROTO)=([\w,]+)(?=\s)")
_OPTION = re.compile(
    r" -{1,2}(b|minbytes|e|maxbytes|f|stepfactor|i|stepbytes|a|average)"
    r"(?:(?: +|=)?(\d{1,15}(?:\.\d{1,9})?)([kKmMgG]?)(?=\s|$))?"
)
_SHORT = {"minbytes": "b", "maxbytes": "e", "stepfactor": "f", "stepbytes": "i", "average": "a"}
PROGRAM = re.compile(r"\b\w+_perf(?:_mpi)?\b")
_PROCESSES = re.compile(r" (?:-np|-n|--ntasks)[ =]?(\d{1,7})(?= |$)")
_DEFAULT_SIZE = 32 * 2**20
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_RANK_RULES = {"0": "process 0", "1": "mean of processes", "2": "min of processes", "3": "max of processes"}
USUAL_RULE = _RANK_RULES["1"]
UNKNOWN_RULE = "processes by one of several rules"


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes that are asked for, in bytes.

    Attributes
    ----------
    first, last : int
    step : int
        Factor, or bytes.
    factor : bool
    """

    first: int
    last: int
    step: int
    factor: bool

    def after(self, size: int) -> int | None:
        """Return the size after another; None after the last."""
        found = size * self.step if self.factor else size + self.step
        return found if size < found <= self.last else None


def _grid(first: int, last: int, step: int, *, factor: bool) -> Grid | None:
    return Grid(first=first, last=last, step=step, factor=factor) if step > 0 and first <= last else None


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line says.

    Attributes
    ----------
    operation : str or None
    grid : Grid or None
    processes : int or None
    settings : str
        Algorithm and protocol.
    rule : str
        Of processes.
    rccl : bool
    """

    operation: str | None = None
    grid: Grid | None = None
    processes: int | None = None
    settings: str = ""
    rule: str = USUAL_RULE
    rccl: bool = False


def settings_of(text: str) -> str:
    """Return algorithm and protocol that a line sets."""
    return " ".join(f"{name}={value}" for name, value in dict(_SETTING.findall(text)).items())


def read_commands(lines: Iterable[str]) -> Command:
    """Return what command lines agree on that may each have started a table."""
    found = [_read_command(line) for line in lines]
    # What only names a test may be a word of the log.
    told = [one for one in found if one != Command(operation=one.operation)]
    operation = found[0].operation if len({one.operation for one in found}) == 1 else None
    shared = agreed(told, Command(rule=UNKNOWN_RULE)) if told else Command()
    return msgspec.structs.replace(shared, operation=operation)


def _read_command(text: str) -> Command:
    """Return what a command line says; nothing where it names several tests, or another tool's."""
    programs = list(PROGRAM.finditer(text))
    if len({program[0] for program in programs}) != 1 or operation_of(programs[0][0]) not in TESTS:
        return Command()
    found = _options_of(text[programs[0].end() :])
    processes = _PROCESSES.search(text, 0, programs[0].start())
    return Command(
        operation=operation_of(programs[0][0]),
        grid=_grid_of(found),
        processes=None if processes is None or " : " in text else int(processes[1]),  # several programs, ranks of each
        settings=settings_of(text),
        rule=_RANK_RULES.get(found.get("a", ("", ""))[0], USUAL_RULE),
        rccl="rccl-tests" in text,
    )


def rule_of(options: str) -> str:
    """Return the rule over processes that options ask for."""
    return _RANK_RULES.get(_options_of(options).get("a", ("", ""))[0], USUAL_RULE)


def _options_of(text: str) -> dict[str, tuple[str, str]]:
    return {_SHORT.get(name, name): (value, unit) for name, value, unit in _OPTION.findall(text)}


def _grid_of(found: dict[str, tuple[str, str]]) -> Grid | None:
    """Return the sizes that options ask for; None where the line says them in another way, as in variables."""
    if not found or any(not value for value, _ in found.values()):
        return None
    sizes = {name: int(float(value) * _UNITS[unit.upper()]) for name, (value, unit) in found.items()}
    factor = sizes.get("f", 1)
    return _grid(
        sizes.get("b", _DEFAULT_SIZE),
        sizes.get("e", _DEFAULT_SIZE),
        factor if factor > 1 else sizes.get("i", 2**20),
        factor=factor > 1,
    )


class Head:
    """What the lines before a table say; grows while they are read."""

    def __init__(self) -> None:
        self.claimed: str | None = None
        self.version = ""
        self.grid: Grid | None = None
        self.per_process = 0
        self.iterations: int | None = None
        self.cadence = Cadence.STREAMING
        self.amd = False
        self.nvidia = False
        self.modern = False
        """Printed by a version that has all_to_all_v among its tests, or may have."""
        self.ranks: list[tuple[int, str, str]] = []
        """Rank, group and node, as the lines of ranks say."""

    def read(self, kind: str, body: str) -> None:
        """Take a line of a kind that says something about the run."""
        if kind == "version" and (match := _VERSION.match(body)):
            self.version, self.modern = match[1], True
        elif kind == "starting":
            self.claimed, self.modern = operation_of(body), True
        elif kind == "threads":
            self._read_threads(body)
        elif kind == "library":
            match = _LIBRARY.match(body)
            self.version, self.amd = match[1] if match else "", True
        elif kind == "mode" and "barrier after each collective" in body:
            self.cadence = Cadence.ISOLATED
        elif kind == "rank":
            self._read_rank(body)
        elif kind == "limit" and self.grid and (match := _LIMIT.search(body)):
            self.grid = msgspec.structs.replace(self.grid, last=int(match[1]))

    def _read_threads(self, body: str) -> None:
        match = _THREADS.match(body)
        if match is None:
            return
        threads, gpus, first, last, step = (int(one) for one in match.groups()[:5])
        self.per_process = threads * gpus
        self.grid = _grid(first, last, step, factor=match[6] == "factor")
        counts = _ITERATIONS.search(body)
        if counts:
            self.iterations = int(counts[1]) * int(counts[2] or 1)
        graph = _GRAPH.search(body)
        if graph and int(graph[1]) > 0:
            self.cadence = Cadence.GRAPH
        self.modern = self.modern or "unalign:" in body

    def _read_rank(self, body: str) -> None:
        match = _RANK.match(body)
        if match is None:
            self.ranks.append((-1, "", ""))
            return
        self.ranks.append((int(match[1]), match[2] or "", match[3]))
        self.modern = self.modern or ":" in match[4]
        self.amd = self.amd or bool(_AMD.search(match[5]))
        self.nvidia = self.nvidia or bool(_NVIDIA.search(match[5]))

    def shape(self, processes: int | None = None) -> tuple[int | None, int | None]:
        """Return numbers of ranks and of nodes, where the lines of ranks seem to be all there.

        Parameters
        ----------
        processes : int or None
            By the command line.
        """
        if processes is not None and processes * self.per_process != len(self.ranks):
            return None, None
        return complete(self.ranks, self.per_process)


def complete(lines: Sequence[tuple[int, str, str]], per_process: int) -> tuple[int | None, int | None]:
    """Return numbers of ranks and of nodes of the group of rank 0, whose figures are printed.

    A line that is missing at the end cannot be seen as such, unless it leaves nodes uneven, a process without all its
    GPUs, or a number of ranks on one node, or with one rank on a node, that is no power of two.

    Parameters
    ----------
    lines : sequence of (int, str, str)
        Rank, group and node.
    per_process : int
        GPUs of a process; 0 where it is not known.
    """
    everyone = len(lines)
    if everyone < 2 or per_process < 1 or everyone % per_process or {one[0] for one in lines} != set(range(everyone)):
        return None, None
    group = next(group for rank, group, _ in lines if rank == 0)
    each = Counter(host for _, own, host in lines if own == group)
    ranks, nodes = sum(each.values()), len(each)
    if len(set(each.values())) > 1 or ranks < 2:
        return None, None
    even = everyone == per_process or ranks & (ranks - 1) == 0 or 1 < nodes < ranks
    return (ranks, nodes) if even else (None, None)
