"""What the command line of an OSU micro-benchmark tells that its output does not: ranks, nodes, buffers, window.

Sources: ``c/util/osu_util_options.h`` for the benchmark's own options; the manuals of mpirun (Open MPI, MPICH, Intel),
srun and flux for the launchers'.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from collmark.analysis.importers.osu_titles import Title
from collmark.analysis.importers.section import agreed
from collmark.core.case import Form

_PROGRAM = re.compile(r"(?:^|(?<=[\s/\"']))osu_(?:xccl_|nccl_)?(\w+)(?=$|[\s\"'])")
_LAUNCHER = re.compile(r"(?:^|[\s/])(mpirun|mpiexec|mpiexec\.hydra|mpirun_rsh|orterun|prterun|prun|srun|aprun|flux)\s")
_RANKS = re.compile(r"\s(?:-n|-np|--np|--ntasks)[ =]?(\d{1,7})(?=\s|$)")
_NODES = re.compile(r"\s(?:-N|--nodes)[ =]?(\d{1,7})(?=\s|$)")
_BUFFERS = re.compile(r"\s(D|H|MD|MH|M) (D|H|MD|MH|M)(?=\s|$)")
_WINDOW = re.compile(r"\s(?:-W|--window-size)[ =]?(\d{1,5})(?=\s|$)")
_IN_PLACE = re.compile(r"\s(?:-l|--in-place)(?=\s|$)")


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line tells; None where it does not.

    Attributes
    ----------
    ranks, nodes, window : int or None
    buffers : tuple of str, or None
        Where each rank's lie, in the suite's letters.
    in_place : bool or None
    """

    ranks: int | None = None
    nodes: int | None = None
    window: int | None = None
    buffers: tuple[str, str] | None = None
    in_place: bool | None = None


NOTHING = Command()
SEVERAL = Command(window=0)
"""What is not agreed on; of a window, nothing told is the usual one."""


def read_commands(lines: Iterable[str], title: Title) -> Command:
    """Return what command lines agree on that may have started the run whose title follows them."""
    found = [command for line in lines for command in _read(line, title)]
    return agreed(found, SEVERAL) if found else NOTHING


def _read(line: str, title: Title) -> Iterator[Command]:
    """Read a line: a command for each time that it starts the benchmark, perhaps after others."""
    programs = [] if line.startswith("{") else list(_PROGRAM.finditer(line))
    ends = [0, *(program.end() for program in programs)]
    starts = [*(program.start() for program in programs), len(line)]
    for number, program in enumerate(programs):
        if not _starts(program[1], title):
            continue
        before, after = f" {line[ends[number] : starts[number]]} ", line[ends[number + 1] : starts[number + 1]]
        launcher = _LAUNCHER.search(f" {line[: program.start()]}")
        # One launcher that starts several programs at once (MPMD) has ranks of each.
        counts = launcher is not None and " : " not in line
        found = Command(
            ranks=_only(_RANKS.findall(before)) if counts else None,
            nodes=_only(_NODES.findall(before)) if counts and launcher and launcher[1] in ("srun", "flux") else None,
            window=int(window[1]) if (window := _WINDOW.search(after)) else None,
            buffers=(buffers[1], buffers[2]) if (buffers := _BUFFERS.search(after)) else None,
            in_place=True if _IN_PLACE.search(after) else None,
        )
        if launcher or found != NOTHING:  # what only names a program may be a word of the log
            yield found


def _starts(program: str, title: Title) -> bool:
    if title.benchmark is None:
        return False
    name = program
    if title.form is Form.NONBLOCKING:
        name = name.removeprefix("i")
    elif title.form is Form.PERSISTENT:
        name = name.removesuffix("_persistent")
    return name in title.benchmark.programs and (title.form is Form.BLOCKING or name != program)


def _only(numbers: list[str]) -> int | None:
    """Return the one number that an option has; a line that starts two programs has several."""
    return int(numbers[0]) if len(numbers) == 1 and int(numbers[0]) > 0 else None
