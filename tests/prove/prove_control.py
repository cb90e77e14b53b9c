"""Count what rank 0 sends and receives over the control channel with many local ranks, and keep the table.

Run by ``make prove``. What the tree costs up to 16,384 ranks is simulated in tests/bench/test_tree.py.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.mpi_libraries import PLACES, WHEEL  # noqa: E402
from tests.multiprocess.program import clean_environment, collmark  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402
from collmark.bench.tree import FANOUT, Tree  # noqa: E402
from collmark.core.store import RunFolder  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "control-channel.md"
RANKS = (4, 17, 32, 64)
PLAN = (
    "--operation",
    "all_reduce",
    "--sizes",
    "8B,1KiB",
    "--launches",
    "1",
    "--case-budget",
    "1 s",
    "--timeout",
    "60 s",
)

TEXT = """\
# Messages of the control channel

Written by `make prove` (tests/prove/prove_control.py): runs of MPI (MPICH), all ranks on this machine of {cores} cores.

**{verdict}**: rank 0's messages are a multiple of its neighbours, who are {fanout} at most, and nothing was wrong.

{table}

A command costs a message to and a reply from each neighbour; how many commands there are, and so how many messages to
each, is a matter of how fast repetitions are. Levels: messages behind one another to the rank that is furthest.

All of it took {minutes:.0f} min. collmark {collmark}, Python {python}, Linux {linux}.
"""


def counted(ranks: int, folder: Path) -> tuple[int, int]:
    """Return the messages of rank 0 in a run of so many ranks, and the elements that were wrong."""
    words = ("--backend", "mpi", "--mpi-library", str(PLACES[WHEEL]), "--ranks", str(ranks), "--oversubscribe")
    command = collmark("run", *words, *PLAN, "--into", str(folder))
    subprocess.run(command, env=clean_environment(), capture_output=True, check=True, timeout=600)
    run = RunFolder(folder)
    (launch,) = run.read_run().launches
    return launch.messages or 0, sum(record.check.wrong for record in run.records())


def main() -> int:
    """Make the runs, print the page, and return 1 where the messages are not those of the tree."""
    if not PLACES[WHEEL].exists():
        print("skipped, its page stays as it is: no MPICH wheel", file=sys.stderr)
        return 0
    began, is_proven = time.monotonic(), True
    lines = [
        "| ranks | neighbours | levels | messages of rank 0 | with each | wrong elements |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        for ranks in RANKS:
            messages, wrong = counted(ranks, Path(name, str(ranks)))
            tree = Tree(ranks)
            neighbours = len(tree.children(0))
            is_proven &= messages > 0 and messages % neighbours == 0 and not wrong
            cells = [ranks, neighbours, tree.depth(ranks - 1), messages, f"{messages / neighbours:g}", wrong]
            lines.append(f"| {' | '.join(map(str, cells))} |")
            print(lines[-1], file=sys.stderr, flush=True)
    text = TEXT.format(
        verdict="PASS" if is_proven else "FAIL",
        cores=usable_cores(),
        fanout=FANOUT,
        table="\n".join(lines),
        minutes=(time.monotonic() - began) / 60,
        collmark=__version__,
        python=platform.python_version(),
        linux=platform.release(),
    )
    print(text)
    KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
