"""Raw TCP over a link: a plain program of sockets, the truth that a backend's figures are held against.

``raw_tcp.py receive ADDRESS`` on one host, then ``raw_tcp.py send ADDRESS NBYTES:COUNT ...`` on another. The receiver
times one-way streams of so many messages of each size, and prints their median rate. Only the standard library is
loaded.
"""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collmark.bench.emulated.hosts import Hosts

PORT = 7000
HEADER = struct.Struct("<qq")
SKIPPED = 0.1  # of a stream, before the clock starts: the head start of a full bucket, TCP's slow start
LEAST_MESSAGES = 2
STREAMS = 5
START_SECONDS = 30.0


def measure_raw(hosts: Hosts, network: str, sizes: Sequence[int], seconds: float) -> dict[int, float]:
    """Return the rate of payload in B/s of one-way streams from host 0 to host 1, their median, by message size in B.

    Parameters
    ----------
    hosts : Hosts
        At least two.
    network : str
        One of theirs.
    sizes : sequence of int
        Bytes a message.
    seconds : float
        That all streams of a size should take.
    """
    from collmark.bench.emulated.ranks import run_together

    own = [sys.executable, "-I", "-S", __file__]
    address = hosts.address(network, 1)
    due = hosts.networks[network].link.rate * seconds / STREAMS
    counts = [f"{nbytes}:{max(LEAST_MESSAGES, round(due / nbytes))}" for nbytes in sizes] * STREAMS
    with tempfile.TemporaryDirectory(prefix="collmark-raw-") as folder:
        log = Path(folder, "raw.log")
        receiver = [*hosts.words(1), *own, "receive", address]
        sender = [*hosts.words(0), *own, "send", address, *counts]
        run_together([receiver, sender], [{}, {}], log, START_SECONDS + 10 * len(sizes) * seconds)
        lines = log.read_text(encoding="utf-8").splitlines()
    return {int(nbytes): float(rate) for nbytes, rate in (line.split() for line in lines)}


def receive(address: str) -> Mapping[int, float]:
    """Serve one sender, and return the median rate of payload in B/s by message size in B."""
    with socket.create_server((address, PORT)) as server:
        connection, _peer = server.accept()
    rates: dict[int, list[float]] = {}
    with connection:
        while header := connection.recv(HEADER.size, socket.MSG_WAITALL):
            nbytes, count = HEADER.unpack(header)
            rates.setdefault(nbytes, []).append(_rate(connection, nbytes * count))
            connection.sendall(b"+")
    return {nbytes: statistics.median(found) for nbytes, found in rates.items()}


def _rate(connection: socket.socket, total: int) -> float:
    room = memoryview(bytearray(1 << 20))
    came = since = 0
    began = 0.0
    while came < total:
        came += connection.recv_into(room[: total - came])
        if not since and came >= SKIPPED * total:
            since, began = came, time.monotonic()
    return (came - since) / (time.monotonic() - began)


def send(address: str, streams: Sequence[tuple[int, int]]) -> None:
    """Send streams of `count` messages of `nbytes`, each behind the receipt of the one before."""
    with _connected(address) as connection:
        for nbytes, count in streams:
            message = bytes(nbytes)
            connection.sendall(HEADER.pack(nbytes, count))
            for _message in range(count):
                connection.sendall(message)
            connection.recv(1, socket.MSG_WAITALL)


def _connected(address: str) -> socket.socket:
    """Return a connection, as soon as somebody listens."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return socket.create_connection((address, PORT), timeout=START_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def main() -> None:
    """Be one end, before whatever else wants the processor, as ranks at SCHED_FIFO are."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    if sys.argv[1] == "receive":
        for nbytes, rate in receive(sys.argv[2]).items():
            sys.stdout.write(f"{nbytes} {rate!r}\n")
    else:
        streams = [tuple(map(int, word.split(":"))) for word in sys.argv[3:]]
        send(sys.argv[2], [(nbytes, count) for nbytes, count in streams])


if __name__ == "__main__":
    main()
