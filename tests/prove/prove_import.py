"""Prove that 1,000 logs of 50 MiB together are imported in under 10 s; keep the figures.

Run by ``make prove``. The logs are those of tests/data/logs, each repeated until it is as long as the others.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from collmark import __version__

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "tests" / "data" / "logs"
KEPT = ROOT / "docs" / "proof" / "import-speed.md"
COUNT, NBYTES = 1000, 50 * 2**20
MOST_SECONDS = 10.0
WRONG = 1  # some of the logs hold wrong elements, as their tools say
NO_LOG = (".rows.json", ".skipped.json")

TEXT = """\
# Speed of an import

Written by `make prove` (tests/prove/prove_import.py).

**{verdict}**: {count:,} logs of {mib:.1f} MiB together must be imported in under {most:.0f} s.

| step | seconds | processor, s |
| --- | ---: | ---: |
| `import --json`, {rows:,} rows and {skipped:,} lines that cannot be read | {json[0]:.2f} | {json[1]:.2f} |
| `import --ranks 8 --nodes 2 ...`, {records:,} records in {runs:,} runs | {store[0]:.2f} | {store[1]:.2f} |

- The logs are the {kinds} of tests/data/logs, of every tool and peculiarity, each repeated up to {each:.0f} KiB: nearly
  every line is a figure, where logs as found hold many that are none.
- Fresh processes, imports included, on {cpus} cores that others may share. The first step is judged.

collmark {collmark}, Python {python}.
"""


class Rows(msgspec.Struct):
    """What ``--json`` prints, as far as it is counted here."""

    rows: list[msgspec.Raw]
    skipped: list[msgspec.Raw]


def make(folder: Path) -> tuple[list[str], int, int]:
    """Write the logs; return their names, how many kinds there are, and their size in bytes."""
    kinds = [path for path in sorted(LOGS.glob("*/*")) if not path.name.endswith(NO_LOG)]
    texts = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in kinds]
    names, written = [], 0
    for number in range(COUNT):
        text = texts[number % len(texts)]
        path = folder / f"log{number:04d}"
        written += path.write_bytes((text.rstrip(b"\n") + b"\n") * -(-NBYTES // COUNT // len(text)))
        names.append(str(path))
    return names, len(kinds), written


def timed(*words: str) -> tuple[bytes, tuple[float, float]]:
    """Run collmark; return what it wrote, and wall and processor time in s. What is odd in the logs is no failure."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "collmark", "import", *words], capture_output=True, check=False)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, WRONG):
        raise SystemExit(done.stderr.decode()[-2000:])
    return done.stdout, (seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> int:
    """Make the logs, import them twice, and return 1 where it takes too long."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as name:
        (folder := Path(name, "logs")).mkdir()
        names, kinds, written = make(folder)
        text, as_json = timed("--json", *names)
        found = msgspec.json.decode(text, type=Rows)
        facts = ["--ranks", "8", "--nodes", "2", "--dtype", "float32", "--device", "cpu", "--backend", "mpi"]
        _text, as_runs = timed(*facts, "--output", str(Path(name, "runs")), *names)
        runs = list(Path(name, "runs").iterdir())
        records = sum((run / "records.jsonl").read_bytes().count(b"\n") for run in runs)
    is_fast = as_json[0] < MOST_SECONDS
    report = TEXT.format(
        verdict="PASS" if is_fast else "FAIL", count=COUNT, mib=written / 2**20, most=MOST_SECONDS, json=as_json,
        rows=len(found.rows), skipped=len(found.skipped), store=as_runs, runs=len(runs), records=records, kinds=kinds,
        each=NBYTES / COUNT / 1024, cpus=os.cpu_count(), collmark=__version__, python=platform.python_version(),
    )  # fmt: skip
    print(report)
    KEPT.write_text(report, encoding="utf-8")
    return 0 if is_fast else 1


if __name__ == "__main__":
    sys.exit(main())
