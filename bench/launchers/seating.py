"""Be one rank of a launch that torchrun, mpiexec or srun has started, once all ranks have seen each other."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket
from collections.abc import Callable

import msgspec

from collmark.bench import environment
from collmark.bench.control import TURN_AWAY_SECONDS
from collmark.bench.event import PipedEvent
from collmark.bench.group import hello_of
from collmark.bench.handshake import Reception, TurnedAwayError, join
from collmark.bench.job import Job, Seat
from collmark.bench.launchers.joined import LOOPBACK, Joined
from collmark.bench.lead import follow, lead
from collmark.bench.relay import COMMANDS, PULSES
from collmark.bench.stops import Stops
from collmark.bench.watchdog import (
    LOST_STATUS,
    MISSING_STATUS,
    PERIOD,
    STOP_SECONDS,
    USAGE_STATUS,
    Loss,
    Watchdog,
    is_about_hub,
)
from collmark.core.errors import (
    CollmarkError,
    InterruptedRunError,
    MeasurementError,
    UnavailableError,
    UsageError,
    excerpt,
)

FIRST_PORT, PORTS, TRIES = 20000, 9000, 8
GREETING_SECONDS = 4 * PERIOD  # for a rank 0 that measures already to answer, from its watchdog
JOIN_FACTOR = 4  # time-outs to find each other: a launcher may start some ranks long after others
LONGEST_FAULT = 1000  # letters of what a rank says of itself: it must fit into a hello


def seat_of(joined: Joined, patience: float) -> Seat:
    """Return this rank's place: port and secret follow from the job, the same on every rank.

    The secret keeps launches apart; it hides nothing from other users of the machine, unless COLLMARK_SECRET does.

    Parameters
    ----------
    joined : Joined
        What the environment says.
    patience : float
        Seconds for the ranks to find each other.
    """
    local = environment.boot_id() if joined.host == LOOPBACK else ""
    words = f"{joined.job}/{os.getuid()}/{local}/{os.environ.get('COLLMARK_SECRET', '')}"
    digest = hashlib.sha256(os.fsencode(words)).digest()  # variables may hold any bytes
    first = FIRST_PORT + int.from_bytes(digest[:4], "little") % PORTS
    return Seat(
        rank=joined.rank,
        ranks=joined.ranks,
        local_rank=joined.local_rank,
        addresses=tuple((joined.host, first + offset) for offset in range(TRIES)),
        secret=digest,
        patience=patience,
    )


def open_listener(seat: Seat, nodes: int) -> socket.socket:
    """Listen at the first free of rank 0's addresses.

    Raises
    ------
    UnavailableError
        If another rank 0 of the same job is there already, or no port is free.
    """
    for host, port in seat.addresses:
        try:
            return _listen(host, port, nodes, 2 * seat.ranks)
        except socket.gaierror as error:
            raise UnavailableError(f"rank 0's host {host} has no address: {error.strerror}") from error
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                _greet(seat, (host, port))
    host, port = seat.addresses[0]
    raise UnavailableError(
        f"rank 0 cannot listen on {host}, ports {port} to {port + TRIES - 1}: is {host} an address of this host?"
    )


def _greet(seat: Seat, address: tuple[str, int]) -> None:
    """Raise UnavailableError where a port is taken by a hub that knows our secret: it says that we are one too many."""
    with contextlib.suppress(MeasurementError):  # a stranger's
        join([address], seat.secret, hello_of(seat), PULSES, GREETING_SECONDS).close()


def _listen(host: str, port: int, nodes: int, backlog: int) -> socket.socket:
    family, _type, _protocol, _name, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    if nodes > 1 and str(address[0]).startswith(("127.", "::1")):
        # Many systems give the own host name a loopback address, which no other host reaches.
        address = ("::" if family == socket.AF_INET6 else "", port)
    return socket.create_server(address[:2], family=family, backlog=backlog)


def turn_away(joined: Joined, error: CollmarkError) -> None:
    """Tell the other ranks that rank 0 cannot begin, so that they do not wait for it and end with its status."""
    _send_home(joined, f"rank 0 cannot begin: {error}", status_of(error), TURN_AWAY_SECONDS)


def send_home(joined: Joined, words: str, timeout: float) -> None:
    """Tell the other ranks, as they come, that there is nothing to do; time-outs as in a launch."""
    _send_home(joined, words, 0, JOIN_FACTOR * timeout)


def _send_home(joined: Joined, words: str, status: int, seconds: float) -> None:
    seat = seat_of(joined, seconds)
    with contextlib.suppress(UnavailableError, OSError):
        reception = Reception(open_listener(seat, joined.nodes), seat.secret)
        reception.refuse_all(words, seconds, joined.ranks - 1, status)
        reception.close()


def own_up(joined: Joined, error: CollmarkError) -> int:
    """Tell rank 0 why this rank, another one, cannot begin, so that it does not wait.

    Returns
    -------
    int
        The status with which all ranks end, rank 0 having told the user why; 0 where rank 0 did not hear it.
    """
    seat = seat_of(joined, TURN_AWAY_SECONDS)
    fault = excerpt(str(error), LONGEST_FAULT)
    hello = msgspec.structs.replace(hello_of(seat), fault=fault, status=status_of(error))
    try:
        join(list(seat.addresses), seat.secret, hello, COMMANDS, seat.patience).close()
    except TurnedAwayError as answer:
        return answer.status
    except CollmarkError:
        pass
    return 0


def be_rank(
    joined: Joined,
    job: Job,
    emit: Callable[[PipedEvent], None],
    signalled: Callable[[], int],
    on_fault: Callable[[str], None],
    is_ending: Callable[[], bool] = lambda: False,
) -> None:
    """Be one rank of a joined launch; only rank 0 emits events.

    Parameters
    ----------
    joined, job
        Which rank, and what to do; ranks but 0 need no cases.
    emit : callable
        Receives what happens, on rank 0.
    signalled : callable
        Number of the signal that asks this process to stop; 0 while there is none.
    on_fault : callable
        Receives one line before the watchdog ends this process.
    is_ending : callable
        Whether no further case is to be measured.

    Raises
    ------
    UnavailableError, MeasurementError, InterruptedRunError
        As :func:`collmark.bench.lead.lead`.
    """
    seat = seat_of(joined, JOIN_FACTOR * job.plan.timeout)
    leads = seat.rank == 0

    def on_loss(loss: Loss) -> None:
        # Whatever else happens rank 0 hears of, and tells the user.
        if leads or (not loss.told and is_about_hub(loss.text) and joined.speaks_up):
            on_fault(loss.text)

    watchdog = Watchdog(job.plan.timeout, on_loss)
    watchdog.watch_signals(signalled, STOP_SECONDS if leads else STOP_SECONDS + 1)
    try:
        if leads:
            listener = open_listener(seat, joined.nodes)
            watchdog.start()
            stops = Stops(now=lambda: signalled() != 0, after_case=is_ending)
            lead(job, seat, listener, watchdog, emit, stops)
        else:
            watchdog.start()
            follow(job, seat, watchdog)
    except CollmarkError as error:
        watchdog.last_words(str(error), status_of(error, signalled()))
        raise
    finally:
        watchdog.end()


def status_of(error: CollmarkError, signal_number: int = 0) -> int:
    """Return the status with which all ranks of a launch end that one of them ends with an error."""
    if isinstance(error, InterruptedRunError):
        return 128 + (signal_number or error.signal_number)
    if isinstance(error, UsageError):
        return USAGE_STATUS
    return MISSING_STATUS if isinstance(error, UnavailableError) else LOST_STATUS
