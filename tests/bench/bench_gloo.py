"""Compare gloo through collmark with a hand-written torch loop, in the same processes; keep the figures.

Run by ``make bench``. A launch is two fresh processes that join, start and time as collmark's ranks do, and let
three loops take turns: collmark's and, twice, one written by hand (see gloo_contest.py).
"""

from __future__ import annotations

import argparse
import os
import platform
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from tests.bench.gloo_contest import TIMEOUT, Compared, Idle, Result, Terms  # noqa: E402
from tests.bench.gloo_rank import Task  # noqa: E402

from collmark import __version__  # noqa: E402
from collmark.bench import environment, scheduling  # noqa: E402
from collmark.bench.job import Seat  # noqa: E402
from collmark.core.case import Binding, Scheduling  # noqa: E402
from collmark.core.estimate import Estimate  # noqa: E402
from collmark.core.statistics import log_t_interval  # noqa: E402
from collmark.core.units import format_nbytes  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "bench-gloo.md"
RANKS = 2
LAUNCHES = 30
LEVEL = 0.9
WIDEST = 0.03  # half-width of the loop against itself
TOLERATED = (0.95, 1.05)
MOST_IDLE = 1.5
WIDEST_IDLE = 0.1
LEAST_DECIDED = 2
ROUNDS = {4: 12, 4096: 12, 1 << 20: 6}  # by size in bytes
REPETITIONS = 50
IDLE_ROUNDS, IDLE_REPETITIONS = 20, 1000

TEXT = """\
# gloo through collmark against a hand-written loop

Written by `make bench` (tests/bench/bench_gloo.py).

{verdict}

| size | hand loop, us | collmark / hand | 90 % interval | hand / itself | 90 % interval | half-width, % | verdict |
| ---: | ---: | ---: | :---: | ---: | :---: | ---: | --- |
{sizes}

| timed region around an empty call | collmark, ns | hand loop, ns | ratio | 90 % interval | verdict |
| --- | ---: | ---: | ---: | :---: | --- |
{idle}

- {launches} launches of {ranks} fresh processes; {machine}.
- {setting}.
- Load average {load} while it ran, the ranks' own two included.
- all_reduce of float32, sum, in place. In every launch collmark's loop and, twice, a loop written by hand take turns
  in blocks of {repetitions} repetitions ({rounds} blocks of each), on the same tensor,
  with the same agreed start before every repetition; the order of the three goes through all six.
- T is L, last exit minus last entry, from both ranks' stamps. A ratio is one of medians within a launch; the interval
  over launches is Student's t on logarithms. The hand loop stands for both of its arms together, "hand / itself" for
  one over the other.
- A size passes where the half-width of hand / itself is at most 3 % and the interval of collmark / hand lies within
  [0.95, 1.05]; where the loop cannot even be told from itself it is undecided. Two of three must be decided.
- Empty call: gloo's function replaced by one that does nothing, {idle_repetitions} repetitions of each loop and rank
  in each launch, starts not agreed. What collmark adds is the call of the bound case. A ratio is at most 1.5;
  wider than 10 % it is undecided (one scheduler slice of 4 ms adds 200 ns to a mean), which the median must not be.

{versions}.
"""


def run_launch(terms: Terms) -> Result:
    """Start both ranks, wait for them, and return what rank 0 has written."""
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        secret = secrets.token_bytes(32)
        result = Path(folder, "result.json")
        ranks = []
        for rank in range(RANKS):
            address = listener.getsockname()[:2]
            seat = Seat(rank=rank, ranks=RANKS, local_rank=rank, addresses=(address,), secret=secret, patience=20.0)
            task = Task(seat=seat, terms=terms, listener=listener.fileno(), result=str(result))
            ranks.append(_start(task, Path(folder, f"rank-{rank}.json")))
        try:
            _await(ranks)
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        return msgspec.json.decode(result.read_bytes(), type=Result)


def _start(task: Task, path: Path) -> subprocess.Popen[bytes]:
    path.write_bytes(msgspec.json.encode(task))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench.gloo_rank", str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,  # the lifeline: ranks end with this process
        pass_fds=(task.listener,) if task.seat.rank == 0 else (),
    )


def _await(ranks: Sequence[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while any(process.poll() is None for process in ranks):
        if time.monotonic() > deadline or any(process.poll() for process in ranks):
            break
        time.sleep(0.05)
    failed = [f"rank {rank}: {process.poll()}" for rank, process in enumerate(ranks) if process.poll() != 0]
    if failed:
        raise SystemExit(f"a launch was lost; exit status of {', '.join(failed)} (None: it hung)")


def over_launches(results: Sequence[Result], figure: Callable[[Result], float]) -> Estimate:
    """Return a figure of every launch with its interval over them."""
    estimate = log_t_interval([figure(result) for result in results], LEVEL)
    assert estimate is not None, "two launches are the least that the command line takes"
    return estimate


def size_row(results: Sequence[Result], nbytes: int) -> tuple[str, str]:
    """Return the verdict of a size and its row of the table."""

    def over(ratio: Callable[[Compared], float]) -> Estimate:
        return over_launches(results, lambda result: ratio(result.sizes[nbytes]))

    seconds = over(lambda compared: compared.hand)
    against_hand = over(lambda compared: compared.collmark / compared.hand)
    against_itself = over(lambda compared: compared.hand_1 / compared.hand_2)
    verdict = verdict_of(against_hand, against_itself)
    cells = [
        format_nbytes(nbytes),
        f"{seconds.value * 1e6:.1f}",
        *_with_interval(against_hand),
        *_with_interval(against_itself),
        f"{against_itself.relative_half_width * 100:.2f}",
        verdict,
    ]
    return verdict, _row(cells)


def verdict_of(against_hand: Estimate, against_itself: Estimate) -> str:
    """Return pass, FAIL or undecided for one size."""
    if against_itself.relative_half_width > WIDEST:
        return "undecided"
    return "pass" if TOLERATED[0] <= against_hand.lower and against_hand.upper <= TOLERATED[1] else "FAIL"


def idle_row(
    results: Sequence[Result], name: str, collmark: Callable[[Idle], float], hand: Callable[[Idle], float]
) -> tuple[str, str]:
    """Return the verdict of the empty call and its row of the table."""
    ratio = over_launches(results, lambda result: collmark(result.idle) / hand(result.idle))
    ours = over_launches(results, lambda result: collmark(result.idle))
    theirs = over_launches(results, lambda result: hand(result.idle))
    verdict = "pass" if ratio.value <= MOST_IDLE else "FAIL"
    if ratio.relative_half_width > WIDEST_IDLE:
        verdict = "undecided"
    cells = [name, f"{ours.value * 1e9:.0f}", f"{theirs.value * 1e9:.0f}", *_with_interval(ratio), verdict]
    return verdict, _row(cells)


def _with_interval(ratio: Estimate) -> tuple[str, str]:
    return f"{ratio.value:.4f}", f"{ratio.lower:.4f} to {ratio.upper:.4f}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def judge(results: Sequence[Result], terms: Terms, loads: Sequence[float]) -> tuple[bool, str]:
    """Return whether collmark keeps what it claims, and the text that says so."""
    sizes = [size_row(results, nbytes) for nbytes in ROUNDS]
    idle = [
        idle_row(results, "median", lambda idle: idle.collmark_median, lambda idle: idle.hand_median),
        idle_row(results, "mean", lambda idle: idle.collmark_mean, lambda idle: idle.hand_mean),
    ]
    verdicts = [verdict for verdict, _row in (*sizes, *idle)]
    decided = sum(verdict != "undecided" for verdict, _row in sizes)
    is_kept = "FAIL" not in verdicts and decided >= LEAST_DECIDED and idle[0][0] == "pass"
    word = "PASS" if is_kept else "FAIL" if "FAIL" in verdicts else "UNDECIDED, repeat on a quieter machine"
    text = TEXT.format(
        verdict=f"**{word}**: {decided} of {len(sizes)} sizes decided, {LEAST_DECIDED} must be.",
        sizes="\n".join(row for _verdict, row in sizes),
        idle="\n".join(row for _verdict, row in idle),
        launches=len(results),
        ranks=RANKS,
        machine=describe_machine(),
        setting=describe_setting(terms),
        load=f"{min(loads):.1f} to {max(loads):.1f}",
        repetitions=REPETITIONS,
        rounds=", ".join(f"{format_nbytes(nbytes)}: {rounds}" for nbytes, rounds in ROUNDS.items()),
        idle_repetitions=f"{IDLE_ROUNDS * IDLE_REPETITIONS:,}",
        versions=f"collmark {__version__}, torch {results[0].facts['torch']}, Python {platform.python_version()}",
    )
    return is_kept, text


def describe_machine() -> str:
    """Return cores, processor and kernel in words."""
    host = environment.describe_host(list(range(RANKS)))
    return f"{host.cores} cores, {host.cpu}, {host.system}"


def describe_setting(terms: Terms) -> str:
    """Return scheduling and binding in words."""
    if terms.scheduling is Scheduling.FIFO:
        scheduled = f"Ranks at SCHED_FIFO {scheduling.FIFO_PRIORITY}"
    else:
        scheduled = f"Ranks at the system's default scheduling ({scheduling.refusal() or 'as asked for'})"
    bound = "an equal share of the cores for each" if terms.binding is Binding.CORES else "bound to no cores"
    return f"{scheduled}, {bound}"


def terms_for(launch: int, *, fifo: bool) -> Terms:
    """Return what a launch measures, with the scheduling that collmark's demo takes where it may."""
    return Terms(
        launch=launch,
        rounds=ROUNDS,
        repetitions=REPETITIONS,
        idle_rounds=IDLE_ROUNDS,
        idle_repetitions=IDLE_REPETITIONS,
        scheduling=Scheduling.FIFO if fifo and not scheduling.refusal() else Scheduling.OTHER,
        binding=Binding.CORES if environment.usable_cores() >= RANKS else Binding.NONE,
    )


def main() -> int:
    """Make the launches, print the tables, and return 1 where a claim is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=LAUNCHES, help=f"the figures are kept from {LAUNCHES} on")
    parser.add_argument("--scheduling", choices=("fifo", "other"), default="fifo", help="fifo only where permitted")
    options = parser.parse_args()
    if options.launches < 2:
        parser.error("--launches: an interval takes two or more")
    results, loads = [], []
    began = time.monotonic()
    for launch in range(options.launches):
        terms = terms_for(launch, fifo=options.scheduling == "fifo")
        results.append(run_launch(terms))
        loads.append(os.getloadavg()[0])
        line = f"launch {launch + 1} of {options.launches}, {time.monotonic() - began:.0f} s, load {loads[-1]:.1f}"
        print(line, file=sys.stderr, flush=True)
    is_kept, text = judge(results, terms_for(0, fifo=options.scheduling == "fifo"), loads)
    print(text)
    if options.launches >= LAUNCHES and options.scheduling == "fifo":
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
