"""Prove that no kill costs a finished record, and that every run can be resumed; keep the table.

Run by ``make prove``. Every trial is a gloo run of two ranks on this machine that is struck at a random moment: a rank,
all ranks or the launcher, by SIGKILL, SIGTERM or SIGSTOP; then it is resumed (see tests/multiprocess/kills.py).
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.multiprocess.kills import (  # noqa: E402
    KINDS,
    LAUNCHER_KILLED,
    START_PATIENCE,
    TIMEOUT,
    Aftermath,
    Kill,
    complaint,
    draw,
    inflict,
)

from collmark import __version__  # noqa: E402
from collmark.bench.environment import usable_cores  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "kills.md"
KILLS = 200
SEED = 1

HEADINGS = (
    "signal",
    "to",
    "kills",
    "while starting",
    "exit statuses",
    "run over before it struck",
    "longest until all was gone (s)",
    "finished records lost",
    "resumed to the end",
)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A kill and what became of the run."""

    kill: Kill
    aftermath: Aftermath


def main() -> int:
    """Strike, write the table, and return 1 where something was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=KEPT)
    arguments = parser.parse_args()
    began = time.monotonic()
    trials: list[Trial] = []
    complaints: list[str] = []
    for number, kill in enumerate(draw(arguments.seed, arguments.kills), 1):
        with tempfile.TemporaryDirectory() as folder:
            trials.append(Trial(kill=kill, aftermath=inflict(kill, Path(folder))))
        wrong = complaint(kill, trials[-1].aftermath)
        complaints += [wrong] if wrong else []
        sys.stderr.write(f"{number:4d} of {arguments.kills}: {kill}: {wrong or 'good'}\n")
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text("\n".join(page(trials, complaints, arguments.seed, began)) + "\n", encoding="utf-8")
    return 1 if complaints else 0


def page(trials: list[Trial], complaints: list[str], seed: int, began: float) -> Iterator[str]:
    """Yield the lines of the page that is kept."""
    yield "# Kills: is anything lost?"
    yield ""
    yield (
        f"{len(trials)} runs of 6 cases in 2 launches (gloo, 2 ranks, time-out {TIMEOUT:g} s), each struck at a random "
        f"moment from seed {seed} and then resumed. Launcher alive: a killed or hung rank ends the run with status 4, "
        "SIGTERM to the launcher with 143, and a stopped launcher, once it goes on, with 4; a run that was over before "
        f"the signal took effect ends with 0. Launcher killed: every rank is gone within {LAUNCHER_KILLED:g} s. A rank "
        f"that hangs is given up after the time-out, while ranks start after {START_PATIENCE:g} s."
    )
    yield ""
    yield "| " + " | ".join(HEADINGS) + " |"
    yield "|" + "---|" * len(HEADINGS)
    for victim, number in KINDS:
        group = [t for t in trials if (t.kill.victim, t.kill.number) == (victim, number)]
        if group:
            yield "| " + " | ".join([number.name, victim, *row(group)]) + " |"
    yield "| " + " | ".join(["all", "", *row(trials)]) + " |"
    yield ""
    yield f"Not as it should be: {len(complaints)}."
    yield from (f"- {wrong}" for wrong in complaints)
    yield ""
    yield (
        f"Records kept before the resume: {sum(trial.aftermath.kept for trial in trials)}. collmark {__version__}, "
        f"Python {platform.python_version()}, {platform.system()} {platform.release()}, {usable_cores()} cores, "
        f"{(time.monotonic() - began) / 60:.0f} min. Made by tests/prove/prove_kills.py."
    )


def row(trials: list[Trial]) -> list[str]:
    """Return the cells of one kind of kill."""
    after = [trial.aftermath for trial in trials]
    statuses = sorted({a.status for a in after}, key=abs)
    counts = ", ".join(f"{status} ({sum(a.status == status for a in after)})" for status in statuses)
    return [
        str(len(trials)),
        str(sum(trial.kill.records == 0 for trial in trials)),
        counts,
        str(sum(a.was_complete for a in after)),
        f"{max(a.gone for a in after):.1f}",
        str(sum(a.lost for a in after)),
        f"{sum(a.resumed for a in after)} of {len(after)}",
    ]


if __name__ == "__main__":
    sys.exit(main())
