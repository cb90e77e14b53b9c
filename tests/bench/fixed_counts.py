"""A rank whose launch also makes fixed numbers of repetitions of every case, as well-known suites do.

``python -m tests.bench.fixed_counts FILE SECONDS ...`` stands in for ``python -m collmark.bench.process``: after the
runner has measured a case, the same ranks call it 10,000 and 1,000 times, each time after as many more as those suites
discard, and rank 0 writes to FILE how long that took and which interval it gave.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from collmark.bench import lead, process
from collmark.bench.stamps import repetition_times
from collmark.bench.stopping import judge
from collmark.bench.team import Team
from collmark.core.case import Case

COUNTS = {10_000: 100, 1_000: 100}
"""Repetitions, and those discarded before: OSU micro-benchmarks 7 at small sizes, point to point and collectives."""
PATIENCE = 60.0  # s for a repetition


class Fixed(msgspec.Struct, frozen=True, kw_only=True):
    """What a fixed number of repetitions took and gave.

    Attributes
    ----------
    case : str
        Its key.
    repetitions : int
        Fixed beforehand.
    seconds : float
        Wall time in s, discarded ones included.
    half_width : float or None
        Of the 95 % interval of the median within the launch, autocorrelation allowed for; None where there is none.
    """

    case: str
    repetitions: int
    seconds: float
    half_width: float | None


def measure_fixed(team: Team, case: Case, tick: float) -> list[Fixed]:
    """Call a case in every fixed number."""
    found = []
    team.bind([case], 0)
    for count, discarded in COUNTS.items():
        began = team.now()
        team.block(discarded, PATIENCE)
        stamps = team.block(count, PATIENCE)
        seconds = team.now() - began
        judgement = judge(repetition_times(stamps, case.estimand, case.messages), tick)
        width = judgement.half_width
        fixed = Fixed(case=case.key, repetitions=count, seconds=seconds, half_width=width if width < 1e9 else None)
        found.append(fixed)
    team.release()
    return found


def main() -> int:
    """Be a rank, whose launch makes the fixed numbers at its end."""
    target = Path(sys.argv.pop(1))
    measure_all = lead.measure_all

    def measure_both(team: Team, job: Any, *words: Any, **named: Any) -> Any:  # noqa: ANN401 - passed on
        outcome = measure_all(team, job, *words, **named)
        launch = words[1]
        fixed = [one for case in job.cases for one in measure_fixed(team, case, launch.timer.tick)]
        target.write_bytes(msgspec.json.encode(fixed))
        return outcome

    lead.measure_all = measure_both
    return process.main()


if __name__ == "__main__":
    os._exit(main())  # as a rank does
