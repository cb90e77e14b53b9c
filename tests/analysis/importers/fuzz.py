"""Mutations of the corpus, and what must hold for what is read from them.

Lines left out, cut, labelled or put between lose rows, or facts of rows, and never change one: the rows are a part of
the original's. Whatever happens to bytes, every figure of a row stands as it is on the line that the row cites; nothing
crashes, and nothing takes longer than a second.

    python -m tests.analysis.importers.fuzz --inputs 1000000 --write
"""

from __future__ import annotations

import argparse
import contextlib
import math
import operator
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from tests.analysis.importers import corpus
from tests.analysis.importers.mutations import forged, mutate_bytes, mutate_lines

from collmark import __version__
from collmark.analysis.importers.line import read_lines
from collmark.analysis.importers.read import read_log
from collmark.analysis.importers.row import Facts, Row
from collmark.core.case import Cadence
from collmark.core.errors import UsageError

MOST_SECONDS = 1.0
JOINED = 0.15
"""Share of the changes to lines after which another tool's log stands in the same file."""
FACTS = tuple(
    name
    for name in Row.__struct_fields__
    if name not in {"operation", "candidates", "file", "line", "lines", "group", "printed", "ranks_from"}
)
"""Fields that may be lost and not changed. Where a number of ranks comes from may change, not the number."""
LOST: tuple[Any, ...] = (None, "", {})
FALLS_TO = {
    ("nccl-tests", "tool"): "nccl-tests",
    ("nccl-tests", "backend"): "nccl",
    ("nccl-tests", "cadence"): Cadence.STREAMING,
    ("nccl-tests", "statistic"): "one loop, mean of processes",
}
"""What a field without a word for "not known" is where the head of a log is gone, which alone tells another."""
KEPT = Path(__file__).resolve().parents[3] / "docs" / "proof" / "import-fuzz.md"
TEXT = """\
# Broken logs through the importers

Written by `make fuzz` (tests/analysis/importers/fuzz.py).

**{verdict}**: whatever happens to a log, no figure is made up.

| inputs | seed | findings | seconds |
| ---: | ---: | ---: | ---: |
| {inputs:,} | {seed} | {findings} | {seconds:.0f} |

- An input is one of the {logs} logs of tests/data/logs after changes by a seeded generator, which makes it again. Six
  of ten are changes to lines: left out, cut, labelled, put between, split, another tool's log before or after. Their
  rows must be a part of the original's, each with the same facts or fewer. The others are changes to bytes: every
  figure must stand on the line that its row cites. No input may end in an error, or take over {most:.0f} s.
- Two outcomes that no reader can know from a log are left out: tests/analysis/importers/mutations.py says which.

collmark {collmark}, Python {python}.
"""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An input for which something does not hold.

    Attributes
    ----------
    index : int
        Of the input: it makes it again, with the seed.
    log : str
    how : str
    fault : str
    data : bytes
    """

    index: int
    log: str
    how: str
    fault: str
    data: bytes


@lru_cache(maxsize=1024)
def _original(path: Path) -> tuple[bytes, str, dict[object, list[Row]]]:
    """Return a log's bytes, its text, and its rows by what identifies them."""
    data = path.read_bytes()
    lines = read_lines(data, path.name)
    text = "".join(line.raw + ("\n" if line.ended else "") for line in lines)
    rows: dict[object, list[Row]] = defaultdict(list)
    for row in read_log(text.encode(), path.name, Facts()).rows:
        rows[_identity(row)].append(row)
    return data, text, rows


def _identity(row: Row) -> object:
    return row.nbytes_printed, row.seconds


def is_weaker(row: Row, other: Row) -> bool:
    """Return whether a row says nothing that another does not."""
    for name in FACTS:
        mine, theirs = getattr(row, name), getattr(other, name)
        if mine != theirs and mine not in LOST and FALLS_TO.get((row.tool, name)) != mine:
            return False
    if not set(other.possible) <= set(row.possible):
        return False
    return all(other.printed.get(name, "").startswith(token) for name, token in row.printed.items())


def more_than(rows: Sequence[Row], originals: dict[object, list[Row]]) -> str:
    """Return which row is not among the original's, each of which may be there once; nothing where all are."""
    buckets: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        buckets[_identity(row)].append(row)
    for identity, own in buckets.items():
        unmatched = _unmatched(own, originals.get(identity, []))
        if unmatched is not None:
            return f"line {unmatched.line} gives a row that the whole log does not: {unmatched}"
    return ""


def _unmatched(rows: list[Row], originals: list[Row]) -> Row | None:
    """Return a row for which no original is left, however they are matched."""
    taken: dict[int, int] = {}

    def place(index: int, seen: set[int]) -> bool:
        for at, original in enumerate(originals):
            if at in seen or not is_weaker(rows[index], original):
                continue
            seen.add(at)
            if at not in taken or place(taken[at], seen):
                taken[at] = index
                return True
        return False

    return next((row for index, row in enumerate(rows) if not place(index, set())), None)


def not_there(rows: Sequence[Row], data: bytes) -> str:
    """Return which figure does not stand on the line that its row cites, or is impossible; nothing where all do."""
    text = {line.number: line.text for line in read_lines(data, "log")} if rows else {}
    for row in rows:
        where = text.get(row.line, "")
        if row.lines > 1:
            where = "\n".join(text.get(row.line + index, "") for index in range(row.lines))
        for name, token in row.printed.items():
            if token not in where:
                return f"line {row.line}: {name} {token!r} is not in {where!r}"
        for name in ("nbytes", "nbytes_printed", "seconds", "algorithm_bandwidth", "bus_bandwidth", "wrong", "ranks"):
            value = getattr(row, name)
            if value is not None and (value < 0 or not math.isfinite(value)):
                return f"line {row.line}: {name} is {value}"
    return ""


def try_one(path: Path, index: int, seed: int, others: Sequence[Path] = ()) -> Finding | None:
    """Return what does not hold for one mutation of a log, perhaps in one file with one of others, another tool's."""
    random = Random(f"{seed} {index}")
    data, text, originals = _original(path)
    if random.random() < 0.4:
        mutated, how = mutate_bytes(random, data), "bytes"
        fault = _fault(path, mutated, "", None)
    else:
        whole = text
        text, names = mutate_lines(random, text)
        if random.random() < JOINED and others:
            other = random.choice(others)
            names.append(f"joined with {other.name}")
            whole += _original(other)[1]
            text, originals = _joined(random, text, originals, other)
        mutated, how = text.encode("utf-8", errors="surrogatepass"), ", ".join(names)
        fault = _fault(path, mutated, whole, originals)
    return Finding(index=index, log=path.name, how=how, fault=fault, data=mutated) if fault else None


def _joined(
    random: Random, text: str, originals: dict[object, list[Row]], other: Path
) -> tuple[str, dict[object, list[Row]]]:
    """Return a text before or after another log, and the rows of both."""
    _, more, rows = _original(other)
    both = {identity: [*originals.get(identity, ()), *rows.get(identity, ())] for identity in {*originals, *rows}}
    first, second = (text, more) if random.random() < 0.5 else (more, text)
    return f"{first}\n{second}", both


def _fault(path: Path, data: bytes, whole: str, originals: dict[object, list[Row]] | None) -> str:
    start = time.perf_counter()
    try:
        rows = read_log(data, path.name, Facts()).rows
    except UsageError:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault
        return f"{type(error).__name__}: {error}"
    if time.perf_counter() - start > MOST_SECONDS:
        start = time.process_time()  # again: other work on the machine is no hang
        read_log(data, path.name, Facts())
        taken = time.process_time() - start
        if taken > MOST_SECONDS:
            return f"took {taken:.2f} s"
    fault = not_there(rows, data)
    if fault or originals is None:
        return fault
    fault = more_than(rows, originals)
    if fault:
        lines = data.decode("utf-8", errors="surrogatepass").split("\n")
        numbers = forged(lines, whole.split("\n"))
        fault = more_than([_without_end(row, lines) if row.line in numbers else row for row in rows], originals)
    return fault


def _without_end(row: Row, lines: Sequence[str]) -> Row:
    """Return a row without what the last number of its line tells, if that follows from no other figure."""
    *_, last = lines[row.line - 1].split()
    printed = {name: token for name, token in row.printed.items() if token != last}
    return msgspec.structs.replace(row, printed=printed, repetitions=None, wrong=None)


def run(inputs: Iterator[int] | range, seed: int, only: str = "") -> Iterator[Finding]:
    """Yield what does not hold, for mutations of all logs in turn.

    Parameters
    ----------
    inputs : iterable of int
        Which inputs to make.
    seed : int
    only : str
        Logs whose path has this in it.
    """
    paths = [path for path in corpus.logs() if only in str(path.relative_to(corpus.ROOT))]
    others = {folder: [path for path in paths if path.parent != folder] for folder in corpus.ROOT.iterdir()}
    for index in inputs:
        path = paths[index % len(paths)]
        found = try_one(path, index, seed, others[path.parent])
        if found is not None:
            yield found


def main() -> int:
    """Try inputs, print what does not hold, and keep those inputs."""
    parser = argparse.ArgumentParser(description="Mutate the corpus of logs.")
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=20, help="findings after which to stop")
    parser.add_argument("--keep", type=Path, help="folder for the inputs of findings")
    parser.add_argument("--write", action="store_true", help=f"keep the outcome as {KEPT.name}")
    options = parser.parse_args()
    start, found = time.perf_counter(), 0
    inputs = iter(range(options.first, options.first + options.inputs))
    with contextlib.suppress(KeyboardInterrupt):  # what was tried until then counts
        for finding in run(inputs, options.seed, options.only):
            found += 1
            print(f"{finding.log}, input {finding.index} ({finding.how}): {finding.fault}", flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{finding.index}-{finding.log}").write_bytes(finding.data)
            if found >= options.most:
                break
    seconds = time.perf_counter() - start
    tried = options.inputs - operator.length_hint(inputs)
    print(f"{tried} inputs, {found} findings, {seconds:.0f} s")
    if options.write:
        text = TEXT.format(
            verdict="FAIL" if found else "PASS", inputs=tried, seed=options.seed, findings=found,
            seconds=seconds, logs=len(corpus.logs()), most=MOST_SECONDS, collmark=__version__,
            python=platform.python_version(),
        )  # fmt: skip
        KEPT.write_text(text, encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
