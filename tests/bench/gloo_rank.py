"""One rank of a launch of bench_gloo.py, joined as collmark's own ranks are: ``python -m tests.bench.gloo_rank FILE``.

After each block of repetitions rank 0 receives the others' stamps over the control channel. Legend as in
gloo_contest.py.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from tests.bench.gloo_contest import TIMEOUT, Contest, Layers, Terms

from collmark.bench import scheduling
from collmark.bench.backends.gloo import GlooSession
from collmark.bench.common_clock import one_clock
from collmark.bench.control import Hub
from collmark.bench.group import Group, hello_of
from collmark.bench.job import Seat
from collmark.bench.spoke import Spoke
from collmark.bench.team import Starts, spin_until
from collmark.bench.watchdog import LOST_STATUS, Watchdog
from collmark.core.case import Scheduling


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a rank is told: its place, what to measure, and, on rank 0, where to listen and what file to write."""

    seat: Seat
    terms: Terms
    listener: int
    result: str


def lead(task: Task, watchdog: Watchdog) -> None:
    """Be rank 0."""
    hub = Hub(socket.socket(fileno=task.listener), task.seat.secret, hello_of(task.seat))
    hub.gather_ranks(TIMEOUT, on_pulse=watchdog.watch_peer)

    def share(value: bytes) -> bytes:
        hub.broadcast(value)
        return value

    session = _open(task, watchdog, share)
    starts = Starts(hub, watchdog, one_clock(hub.ranks))

    def exchange(layers_SI: Layers) -> Layers:
        others = [np.frombuffer(reply, dtype=np.int64).reshape(layers_SI.shape) for _rank, reply in hub.gather()]
        return np.stack([layers_SI, *others], axis=1)

    def end_block(enter_RI: Layers) -> None:
        watchdog.disarm()
        starts.end(enter_RI)
        starts.agreed = []

    result = Contest(task.terms, session, starts.await_start, exchange, end_block).run()
    Path(task.result).write_bytes(msgspec.json.encode(result))
    watchdog.end()
    hub.broadcast(b"")
    session.close()


def follow(task: Task, watchdog: Watchdog) -> None:
    """Be any other rank."""
    spoke = Spoke(list(task.seat.addresses), task.seat.secret, hello_of(task.seat), TIMEOUT)
    watchdog.watch_peer(*spoke.watched[0])
    session = _open(task, watchdog, lambda _value: spoke.receive())

    def await_start(timeout: float) -> None:
        watchdog.arm(timeout, "a call")
        spin_until(spoke.ready())

    def exchange(layers_SI: Layers) -> Layers:
        watchdog.disarm()
        spoke.send(layers_SI.tobytes())
        return layers_SI[:, np.newaxis]

    Contest(task.terms, session, await_start, exchange, lambda _enter_RI: None).run()
    watchdog.end()
    spoke.receive()  # rank 0 has written everything
    session.close()


def _open(task: Task, watchdog: Watchdog, share: Callable[[bytes], bytes]) -> GlooSession:
    seat, terms = task.seat, task.terms
    scheduling.bind(terms.binding, seat.local_rank, seat.ranks)
    scheduling.apply(terms.scheduling)
    if terms.scheduling is Scheduling.FIFO:
        watchdog.raise_priority(scheduling.FIFO_PRIORITY)
    host = seat.addresses[0][0]
    group = Group(
        rank=seat.rank,
        ranks=seat.ranks,
        local_rank=seat.local_rank,
        one_host=True,
        host=host,
        address=host,
        timeout=TIMEOUT,
        hand_over=share,
    )
    return GlooSession(group)


def main() -> int:
    """Be the rank that the file named on the command line describes, and return its exit status."""
    task = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Task)
    watchdog = Watchdog(TIMEOUT, lambda loss: print(loss.text, file=sys.stderr, flush=True))
    watchdog.watch_lifeline(sys.stdin.fileno())
    watchdog.start()
    try:
        (follow if task.seat.rank else lead)(task, watchdog)
    except Exception:  # noqa: BLE001 - whatever it is, the launch is lost
        traceback.print_exc()
        return LOST_STATUS
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # As collmark's own ranks end: interpreter shutdown would wait for the library's threads.
    os._exit(code)
