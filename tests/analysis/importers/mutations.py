"""Changes to a log, as launchers, terminals, editors and full disks make them; all by a seeded generator.

Two of them can leave what is itself a log, of a run that prints other facts, and no reader can know that it is not:

- A cut inside the last word of a command line that leaves the name of another collective, as ``all_to_all`` of PARAM's
  ``--collective all_to_allv``. Its tables of 2020 name no collective, and both have the same columns and factor. This
  cut is not made.
- A row that is cut before its last number, and goes on with the beginning of a line that stood further down, so that
  it is exactly as long as it was and has as many numbers: the number of samples of gloo's last row, which follows from
  no other figure, is then the beginning of the next size. What such a line ends in is not held against a reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

from collmark.analysis.importers.param_row import COLLECTIVES

NOISE = (
    "",
    "node77:4711:4802 [3] NCCL INFO Channel 00/02 : 3[90020] -> 4[a0010] [send] via NET/IB/0/GDRDMA",
    "node77:4711:4711 [0] NCCL INFO comm 0x55ba65abd9d0 rank 0 nranks 4 cudaDev 0 busId a4000 - Destroy COMPLETE",
    "node77:4711:4901 [1] NCCL WARN NET/IB : Got async event : port error",
    "NCCL version 2.21.5+cuda12.5",
    "WARNING: Open MPI will create a shared memory backing file in a directory that appears to be mounted.",
    "--------------------------------------------------------------------------",
    "srun: Job 4711 step creation temporarily disabled, retrying (Requested nodes are busy)",
    "user@login01:~$ ls",
    "$ cat results.txt",
    "/usr/lib/python3.11/site-packages/torch/cuda/__init__.py:128: UserWarning: CUDA initialization",
    "slurmstepd: error: *** STEP 4711.0 ON node77 CANCELLED AT 2026-04-01T10:00:00 ***",
    "libibverbs: Warning: couldn't load driver 'libefa-rdmav34.so'",
    "real\t1m2.345s",
    "+ export FI_PROVIDER=efa",
    "# this line is a remark",
    "%%%% \u00fc \u2026 ~~~",
)
"""Lines that are no tool's."""
LABELS = (
    "[1,0]<stdout>:", "0: ", " 3: ", "2026-05-04T11:22:33.123456789Z ", "[0] ", "\x1b[32m", "node77 | ",
    "node77: ", "> ",
)  # fmt: skip
_ASKED = re.compile(r"--collectives?[ =](\w+)")

Lines = list[str]


def _some(random: Random, lines: Sequence[str]) -> int:
    return random.randrange(len(lines))


def delete_lines(random: Random, lines: Lines) -> Lines:
    """Leave out a few lines."""
    gone = {_some(random, lines) for _ in range(random.randint(1, 4))}
    return [line for index, line in enumerate(lines) if index not in gone]


def delete_block(random: Random, lines: Lines) -> Lines:
    """Leave out lines that follow each other."""
    start, end = sorted((_some(random, lines), _some(random, lines)))
    return lines[:start] + lines[end + 1 :]


def keep_block(random: Random, lines: Lines) -> Lines:
    """Keep one part of a file that was split."""
    start, end = sorted((_some(random, lines), _some(random, lines)))
    return random.choice((lines[:end], lines[start:], lines[start : end + 1]))


def cut_line(random: Random, lines: Lines) -> Lines:
    """Cut a line short; the next one may follow in the same line."""
    index = _some(random, lines)
    left = lines[index][: random.randrange(len(lines[index]) + 1)]
    while _asks_for_another(lines[index], left):
        left = left[:-1]
    return [*lines[:index], left + random.choice(("", "\n")), *lines[index + 1 :]]


def _asks_for_another(line: str, left: str) -> bool:
    """Return whether what is left of a command line ends in the name of another collective than was asked for."""
    whole, cut = _ASKED.search(line), _ASKED.search(left)
    if whole is None or cut is None:
        return False
    return cut.end() == len(left) and cut[1] != whole[1] and cut[1] in COLLECTIVES


def cut_end(random: Random, lines: Lines) -> Lines:
    """Cut the file off inside a line, which nothing ends."""
    index = _some(random, lines)
    last = lines[index].rstrip("\n")
    return [*lines[:index], last[: random.randrange(len(last) + 1)]]


def insert_noise(random: Random, lines: Lines) -> Lines:
    """Put lines of nobody's between."""
    found = list(lines)
    for _ in range(random.randint(1, 5)):
        found.insert(random.randint(0, len(found)), random.choice(NOISE) + "\n")
    return found


def label_all(random: Random, lines: Lines) -> Lines:
    """Put a launcher's label before every line."""
    label = random.choice(LABELS)
    return [label + line for line in lines]


def label_some(random: Random, lines: Lines) -> Lines:
    """Put labels before some lines."""
    return [random.choice(LABELS) + line if random.random() < 0.2 else line for line in lines]


LINE_LEVEL: tuple[Callable[[Random, Lines], Lines], ...] = (
    delete_lines,
    delete_block,
    keep_block,
    cut_line,
    cut_end,
    insert_noise,
    label_all,
    label_some,
)


def mutate_lines(random: Random, text: str) -> tuple[str, list[str]]:
    """Return a text after one to three changes to its lines, and what these were."""
    lines = text.splitlines(keepends=True) if "\r" not in text else [f"{one}\n" for one in text.split("\n")]
    names = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if lines:
            change = random.choice(LINE_LEVEL)
            names.append(change.__name__)
            lines = change(random, lines)
    return "".join(lines), names


def forged(lines: Sequence[str], original: Iterable[str]) -> list[int]:
    """Return the numbers, from 1, of lines that are as long as one of the original's and differ in the last word."""
    known = frozenset(original)
    shapes = {_shape(line) for line in known}
    return [number for number, line in enumerate(lines, 1) if line not in known and _shape(line) in shapes]


def _shape(line: str) -> tuple[int, tuple[str, ...]]:
    return len(line.rstrip()), tuple(line.split()[:-1])


def mutate_bytes(random: Random, data: bytes) -> bytes:
    """Return bytes after one to eight changes of single bytes or of spans."""
    found = bytearray(data)
    for _ in range(random.randint(1, 8)):
        at = random.randrange(len(found) + 1)
        kind = random.randrange(7)
        if kind == 0:
            found[at : at + 1] = bytes([random.randrange(256)])
        elif kind == 1:
            found[at:at] = bytes([random.choice(_LIKELY)])
        elif kind == 2:
            del found[at : at + random.choice((1, 1, 2, 8, 64))]
        elif kind == 3:
            found[at : at + 1] = bytes([random.choice(_LIKELY)])
        elif kind == 4:
            start = random.randrange(len(found) + 1)
            found[at:at] = found[start : start + random.randint(1, 80)]
        elif kind == 5:
            found[at:at] = random.choice(_HUGE)
        else:
            del found[at + random.randrange(200) :]
    return bytes(found)


_LIKELY = b"0123456789.-+eE#,:;()[]{}\"'/\\ \t\r\n\x00\x1bnaif"
_HUGE = (b"9" * 400, b"1e999", b"-1", b"nan", b"inf", b"0" * 50, b" " * 3000, b"[" * 300, b'{"a":' * 100, b"\xff\xfe")
