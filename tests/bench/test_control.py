"""The control channel: who is let in, who is not, and what is said of it."""

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
import pytest

from collmark.bench.common_clock import CommonClock
from collmark.bench.control import Hub
from collmark.bench.handshake import Hello, join, proof, receive_exactly, receive_frame, send_frame
from collmark.bench.relay import COMMANDS, PULSES
from collmark.bench.spoke import Spoke
from collmark.bench.team import Starts, spin_until
from collmark.bench.watchdog import Watchdog
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError

SECRET = b"s" * 32
NOTHING = np.zeros((1, 3), dtype=np.int64)
pytestmark = pytest.mark.timeout(30)


def hello(rank: int, ranks: int = 2) -> Hello:
    return Hello(
        rank=rank,
        ranks=ranks,
        host="here",
        clock="c",
        network="n",
        pid=100 + rank,
        cores=(0,),
        purpose="",
        proof=b"",
        nonce=b"",
    )


class Room:
    """A hub and the threads that join it."""

    def __init__(self, ranks: int) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address: tuple[str, int] = self.listener.getsockname()[:2]
        self.hub = Hub(self.listener, SECRET, hello(0, ranks))
        self.spokes: dict[int, Spoke] = {}
        self.refusals: list[str] = []
        self._threads: list[threading.Thread] = []

    def join_from(self, rank: int, ranks: int, secret: bytes = SECRET, timeout: float = 10.0) -> None:
        def be_rank() -> None:
            try:
                self.spokes[rank] = Spoke([self.address], secret, hello(rank, ranks), timeout)
            except (UnavailableError, MeasurementError) as error:
                self.refusals.append(str(error))

        self._threads.append(threading.Thread(target=be_rank))
        self._threads[-1].start()

    def close(self) -> None:
        self.hub.close()
        for thread in self._threads:
            thread.join(15)
        for spoke in self.spokes.values():
            spoke.close()


@pytest.fixture
def room() -> Iterator[Callable[[int], Room]]:
    rooms: list[Room] = []

    def make(ranks: int) -> Room:
        rooms.append(Room(ranks))
        return rooms[-1]

    yield make
    for made in rooms:
        made.close()


@pytest.fixture
def pair(room: Callable[[int], Room]) -> Room:
    """Return a hub with one spoke."""
    made = room(2)
    made.join_from(1, 2)
    made.hub.gather_ranks(10)
    while 1 not in made.spokes:
        time.sleep(0.01)
    return made


def test_all_ranks_join_and_are_listed_in_order(room: Callable[[int], Room]) -> None:
    made = room(4)
    for rank in (3, 1, 2):
        made.join_from(rank, 4)
    pulses: list[str] = []
    made.hub.gather_ranks(10, on_pulse=lambda _connection, name: pulses.append(name))
    assert [h.rank for h in made.hub.hellos] == [0, 1, 2, 3]
    assert sorted(pulses) == ["rank 1 (here)", "rank 2 (here)", "rank 3 (here)"]


def test_frames_reach_everybody_and_come_back_in_rank_order(pair: Room) -> None:
    pair.hub.broadcast(b"x" * 100_000)
    assert pair.spokes[1].receive() == b"x" * 100_000
    pair.spokes[1].send(b"")
    assert list(pair.hub.gather()) == [(1, b"")]


def test_a_start_is_agreed(pair: Room) -> None:
    starts: list[int] = []
    thread = threading.Thread(target=lambda: starts.append(pair.spokes[1].ready()))
    thread.start()
    pair.hub.await_ready()
    pair.hub.send_starts([0, -(2**40)])
    thread.join(5)
    assert starts == [-(2**40)]


class Ahead(CommonClock):
    """A clock by which rank 1 is 5 s ahead."""

    def readings(self, moment: int) -> list[int]:
        return [moment, moment + 5 * 10**9]


def test_a_start_is_told_by_each_ranks_own_clock(pair: Room) -> None:
    starts = Starts(pair.hub, Watchdog(30.0, lambda _loss: None), Ahead(["a", "b"], lambda _rank, _count: NOTHING))
    told: list[int] = []
    thread = threading.Thread(target=lambda: told.append(pair.spokes[1].ready()))
    thread.start()
    starts.await_start(30.0)
    thread.join(5)
    assert time.monotonic_ns() >= starts.agreed[0]
    assert told == [starts.agreed[0] + 5 * 10**9]


def test_nobody_waits_for_a_start_that_is_none() -> None:
    # A clock that was set back by an hour: each repetition would last as long.
    spin_until(time.monotonic_ns() + 3600 * 10**9)
    start = time.monotonic_ns() + 2 * 10**6
    spin_until(start)
    assert time.monotonic_ns() >= start


def test_a_rank_tells_what_its_clock_reads_between_a_question_and_its_answer(pair: Room) -> None:
    ahead, requests = 10**15, []

    def answer() -> None:
        requests.append(pair.spokes[1].receive())
        pair.spokes[1].tell_time(5, lambda: time.monotonic_ns() + ahead)

    thread = threading.Thread(target=answer)
    thread.start()
    rows = pair.hub.ask_time(1, 5, b"tell", time.monotonic_ns)
    thread.join(5)
    assert requests == [b"tell"]
    assert rows.shape == (5, 3)
    flat = (rows - [0, ahead, 0]).ravel()
    assert (flat[1:] >= flat[:-1]).all()


def test_a_rank_that_leaves_while_it_is_asked_is_named(pair: Room) -> None:
    pair.spokes.pop(1).close()
    with pytest.raises(MeasurementError, match=r"rank 1 \(here\) is gone"):
        pair.hub.ask_time(1, 5, b"tell", time.monotonic_ns)


def test_a_rank_that_is_asked_by_nobody_any_more_says_so(pair: Room) -> None:
    pair.hub.close()
    with pytest.raises(MeasurementError, match="rank 0 is gone"):
        pair.spokes[1].tell_time(5, time.monotonic_ns)


def test_the_address_by_which_others_reach_this_rank_is_known(pair: Room) -> None:
    assert pair.hub.own_address() == pair.spokes[1].own_address() == "127.0.0.1"


def test_a_rank_that_left_is_named(pair: Room) -> None:
    pair.spokes.pop(1).close()
    with pytest.raises(MeasurementError, match=r"rank 1 \(here\) is gone"):
        list(pair.hub.gather())
    with pytest.raises(MeasurementError, match="rank 1"):
        pair.hub.await_ready()
    with pytest.raises(MeasurementError, match="rank 1"):  # noqa: PT012 - the first sends may still be buffered
        for _attempt in range(100):
            pair.hub.send_starts([1, 1])
            time.sleep(0.01)


def test_a_hub_that_left_is_an_error_of_one_kind(pair: Room) -> None:
    pair.hub.close()
    with pytest.raises(MeasurementError, match="rank 0 is gone"):
        pair.spokes[1].receive()
    with pytest.raises(MeasurementError, match="rank 0 is gone"):
        pair.spokes[1].ready()
    with pytest.raises(MeasurementError, match="rank 0 is gone"):  # noqa: PT012
        for _attempt in range(100):
            pair.spokes[1].send(b"x")
            time.sleep(0.01)


def test_once_all_are_there_a_second_process_of_a_rank_is_told_so(pair: Room) -> None:
    pair.hub.hear_latecomers()
    pair.join_from(1, 2)
    with pytest.raises(UnavailableError, match=r"two processes are rank 1 \(pid 101 on here, pid 101 on here\)"):  # noqa: PT012
        for _pass in range(200):
            pair.hub.hear_latecomers()
            time.sleep(0.02)
    pair.close()
    assert any("the launcher gave both the same rank" in words for words in pair.refusals)


@pytest.mark.parametrize("stranger", ["garbage", "silence", "half_a_frame", "leaving"])
def test_once_all_are_there_strangers_disturb_nobody(pair: Room, stranger: str) -> None:
    connections = [globals()[stranger](pair.address) for _ in range(3)]
    for _pass in range(20):
        pair.hub.hear_latecomers()
    pair.hub.broadcast(b"x")
    assert pair.spokes[1].receive() == b"x"
    for connection in connections:
        connection.close()


def test_a_closed_hub_hears_nobody(pair: Room) -> None:
    pair.hub.close()
    pair.hub.hear_latecomers()
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset
        receive_exactly(socket.create_connection(pair.address, timeout=2), 1)


def garbage(address: tuple[str, int]) -> socket.socket:
    stranger = socket.create_connection(address)
    stranger.sendall(secrets.token_bytes(50_000))
    return stranger


def silence(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address)


def half_a_frame(address: tuple[str, int]) -> socket.socket:
    stranger = socket.create_connection(address)
    stranger.sendall(b"\x40\x00\x00\x00abc")
    return stranger


def leaving(address: tuple[str, int]) -> socket.socket:
    stranger = socket.create_connection(address)
    stranger.close()
    return stranger


@pytest.mark.parametrize("stranger", [garbage, silence, half_a_frame, leaving])
def test_strangers_delay_nobody(
    room: Callable[[int], Room], stranger: Callable[[tuple[str, int]], socket.socket]
) -> None:
    made = room(3)
    strangers = [stranger(made.address) for _ in range(3)]
    made.join_from(1, 3)
    made.join_from(2, 3)
    began = time.monotonic()
    made.hub.gather_ranks(10)
    assert time.monotonic() - began < 3
    for connection in strangers:
        connection.close()


def test_a_wrong_secret_is_a_stranger_on_both_sides(room: Callable[[int], Room]) -> None:
    made = room(2)
    made.join_from(1, 2, secret=b"other", timeout=1.0)
    with pytest.raises(MeasurementError, match=r"rank 1 of 2 did not join within 1.5 s \(see what was said there"):
        made.hub.gather_ranks(1.5)
    made.close()
    assert ["belongs to something else" in words for words in made.refusals] == [True]


def test_a_hub_without_the_secret_is_not_believed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def impostor() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"n" * 16)
                receive_frame(connection)
                answer = {"proof": proof(b"guess", b"", "hub"), "refused": "go away"}
                send_frame(connection, msgspec.msgpack.encode(answer))

        thread = threading.Thread(target=impostor)
        thread.start()
        with pytest.raises(MeasurementError, match="did not find rank 0"):
            join([listener.getsockname()[:2]], SECRET, hello(1), COMMANDS, 1.0)
        thread.join(5)


def test_a_rank_that_is_there_twice_is_told_so_and_so_are_all_other_copies(room: Callable[[int], Room]) -> None:
    made = room(3)
    for _copy in range(3):
        made.join_from(1, 3)
    with pytest.raises(UnavailableError, match=r"two processes are rank 1 \(pid 101 on here, pid 101 on here\)"):
        made.hub.gather_ranks(10)
    made.close()
    assert any("the launcher gave both the same rank" in words for words in made.refusals)


def test_a_second_rank_0_is_told_so(room: Callable[[int], Room]) -> None:
    made = room(2)
    told: list[str] = []

    def second() -> None:
        try:
            join([made.address], SECRET, hello(0), PULSES, 5.0)
        except UnavailableError as error:
            told.append(str(error))

    threads = [threading.Thread(target=second) for _ in range(3)]
    for thread in threads:
        thread.start()
    with pytest.raises(UnavailableError, match="two processes are rank 0"):
        made.hub.gather_ranks(10)
    for thread in threads:
        thread.join(10)
    assert [words.startswith("two processes are rank 0") for words in told] == [True, True, True]


def test_another_number_of_ranks_means_two_launches(room: Callable[[int], Room]) -> None:
    made = room(2)
    made.join_from(1, 3)
    with pytest.raises(UnavailableError, match="rank 1 counts 3 ranks, rank 0 counts 2"):
        made.hub.gather_ranks(10)


def test_missing_ranks_are_named(room: Callable[[int], Room]) -> None:
    made = room(4)
    made.join_from(2, 4, timeout=2)
    with pytest.raises(MeasurementError, match=r"ranks 1, 3 of 4 did not join within 0\.5 s"):
        made.hub.gather_ranks(0.5)


def test_of_many_missing_ranks_the_first_are_named(room: Callable[[int], Room]) -> None:
    with pytest.raises(MeasurementError, match=r"ranks 1, 2, 3, 4, 5, 6, 7, 8 and 91 more of 100 did not join"):
        room(100).hub.gather_ranks(0.1)


def test_a_rank_that_leaves_between_its_two_connections_is_noticed(room: Callable[[int], Room]) -> None:
    made = room(2)

    def leave() -> None:
        join([made.address], SECRET, hello(1), COMMANDS, 5.0).close()

    thread = threading.Thread(target=leave)
    thread.start()
    with pytest.raises(MeasurementError, match=r"rank 1 \(here\) is gone"):
        made.hub.gather_ranks(10)
    thread.join(5)


def test_a_stop_is_heard_while_ranks_join(room: Callable[[int], Room]) -> None:
    with pytest.raises(InterruptedRunError):
        room(2).hub.gather_ranks(10, is_stopping=lambda: True)


def test_a_frame_of_absurd_length_is_refused() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(ConnectionError, match="no message of ours"):
            receive_frame(other)
