"""The tree of the control channel: what it costs up to 16,384 ranks, and that words reach everybody through it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.test_control import SECRET, Room, hello

from collmark.bench.handshake import TurnedAwayError, join
from collmark.bench.relay import COMMANDS
from collmark.bench.tree import FANOUT, Tree, merged, starts_frame, starts_in, taken_apart
from collmark.core.errors import CollmarkError, MeasurementError, UsageError

MANY = 40  # ranks: three levels
pytestmark = pytest.mark.timeout(60)


@given(st.integers(1, 3000), st.integers(1, 20))
def test_everybody_has_one_parent_and_is_reached_once(ranks: int, fanout: int) -> None:
    tree = Tree(ranks, fanout)
    assert sorted(tree.below(0)) == list(range(ranks))
    assert [rank for rank in range(ranks) for _child in tree.children(rank)] == [
        tree.parent(rank) for rank in range(1, ranks)
    ]
    assert list(tree.inner()) == [rank for rank in range(1, ranks) if tree.children(rank)]


def collected(tree: Tree, reply: Callable[[int], bytes]) -> tuple[dict[int, bytes], list[int], int]:
    """Return the replies as rank 0 has them, how many messages each rank sent and received, and bytes at rank 0."""
    frames: dict[int, dict[int, bytes]] = {rank: {} for rank in range(tree.ranks)}
    messages, nbytes = [0] * tree.ranks, 0
    for rank in range(tree.ranks - 1, 0, -1):  # children come after their parents
        frame = merged(reply(rank), frames.pop(rank), rank, tree)
        parent = tree.parent(rank)
        frames[parent][rank] = frame
        for end in (rank, parent):
            messages[end] += 2  # the command, and the reply
        nbytes += len(frame) if parent == 0 else 0
    found = {one: data for rank, frame in frames[0].items() for one, data in taken_apart(frame, rank, tree).items()}
    return found, messages, nbytes


@pytest.mark.parametrize("ranks", [2, FANOUT + 1, 64, 1024, 16384])
def test_messages_for_a_command_do_not_grow_with_the_ranks_and_levels_as_their_logarithm(ranks: int) -> None:
    tree = Tree(ranks)
    found, messages, nbytes = collected(tree, lambda _rank: b"+")
    assert found == dict.fromkeys(range(1, ranks), b"+")
    assert max(messages) <= 2 * (FANOUT + 1)
    assert messages[0] == 2 * min(FANOUT, ranks - 1)
    assert nbytes <= 8 * FANOUT, "equal replies are told once"
    deepest = max(map(tree.depth, range(ranks)))
    assert deepest <= max(1, math.ceil(math.log(ranks, FANOUT)))


@settings(max_examples=30)
@given(st.integers(2, 400), st.integers(1, 5), st.randoms(use_true_random=False))
def test_replies_come_through_whole_however_they_differ(ranks: int, fanout: int, random: object) -> None:
    replies = [bytes(random.choices(b"ab", k=random.randrange(3))) for _rank in range(ranks)]  # type: ignore[attr-defined]
    found, _messages, _nbytes = collected(Tree(ranks, fanout), replies.__getitem__)
    assert found == dict(enumerate(replies[1:], 1))


@given(st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=60))
def test_starts_come_through_whole(readings: list[int]) -> None:
    ranks = list(range(len(readings)))
    assert starts_in(starts_frame(readings, ranks), ranks) == dict(enumerate(readings))
    assert len(starts_frame([readings[0]] * 1000, list(range(1000)))) <= 10, "one clock, one number"


@pytest.fixture
def crowd() -> Iterator[Room]:
    """Return a hub with so many ranks, each a thread."""
    room = Room(MANY)
    for rank in range(MANY - 1, 0, -1):
        room.join_from(rank, MANY)
    room.hub.gather_ranks(20)
    deadline = time.monotonic() + 20
    while len(room.spokes) < MANY - 1:
        assert time.monotonic() < deadline, room.refusals
        time.sleep(0.01)
    yield room
    room.close()


def everywhere(crowd: Room, act: Callable[[int], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=act, args=(rank,)) for rank in crowd.spokes]
    for thread in threads:
        thread.start()
    return threads


def test_commands_replies_and_starts_go_through_relays(crowd: Room) -> None:
    starts: dict[int, int] = {}

    def be_rank(rank: int) -> None:
        spoke = crowd.spokes[rank]
        spoke.send(spoke.receive() + str(rank % 3).encode())
        starts[rank] = spoke.ready()

    threads = everywhere(crowd, be_rank)
    before = crowd.hub.messages
    crowd.hub.broadcast(b"do")
    assert list(crowd.hub.gather()) == [(rank, f"do{rank % 3}".encode()) for rank in range(1, MANY)]
    crowd.hub.await_ready()
    crowd.hub.send_starts([1000 + rank for rank in range(MANY)])
    for thread in threads:
        thread.join(20)
    assert starts == {rank: 1000 + rank for rank in range(1, MANY)}
    assert crowd.hub.messages - before == 4 * FANOUT
    watched = {rank: [name for _connection, name in spoke.watched] for rank, spoke in crowd.spokes.items()}
    assert watched[2] == ["rank 0", *(f"rank {rank} (here)" for rank in range(33, MANY))]
    assert watched[MANY - 1] == ["rank 2 (here)"]


def test_a_rank_far_down_is_asked_for_the_time_directly(crowd: Room) -> None:
    spoke = crowd.spokes[MANY - 1]

    def be_rank() -> None:
        assert spoke.receive() == b"time"
        spoke.tell_time(2, lambda: 7)

    thread = threading.Thread(target=be_rank)
    thread.start()
    exchanges_E3 = crowd.hub.ask_time(MANY - 1, 2, b"time", lambda: 5)
    thread.join(10)
    np.testing.assert_array_equal(exchanges_E3, [[5, 7, 5]] * 2)


@pytest.mark.parametrize("lost", [2, MANY - 1])
def test_a_rank_that_has_gone_is_named_by_who_heard_it(crowd: Room, lost: int) -> None:
    errors: list[str] = []

    def be_rank(rank: int) -> None:
        spoke = crowd.spokes[rank]
        if rank == lost:
            spoke.close()
            return
        try:
            spoke.send(b"+")
            spoke.receive()
        except CollmarkError as error:
            errors.append(str(error))
            spoke.close()  # as a process that ends

    threads = everywhere(crowd, be_rank)
    with pytest.raises(MeasurementError, match=r"rank 2 \(here\) is gone"):
        list(crowd.hub.gather())
    crowd.hub.close()
    for thread in threads:
        thread.join(20)
    assert f"rank {lost} (here) is gone" in errors


def test_ranks_far_down_hear_why_there_is_no_launch() -> None:
    room = Room(MANY)
    turned_away: list[int] = []

    def be_rank(rank: int) -> None:
        own = hello(rank, MANY)
        try:
            if rank == 1:
                own = type(own)(
                    **{name: getattr(own, name) for name in own.__struct_fields__} | {"fault": "no", "status": 2}
                )
                join([room.address], SECRET, own, COMMANDS, 10.0)
            else:
                room.join_from(rank, MANY)
        except TurnedAwayError as error:
            turned_away.append(error.status)

    for rank in range(MANY - 1, 0, -1):
        threading.Thread(target=be_rank, args=(rank,)).start()
    with pytest.raises(UsageError, match=r"rank 1 \(here\): no"):
        room.hub.gather_ranks(20)
    room.close()
    assert turned_away == [2]
    # Of the hub's own children those without children of their own hear it from the watchdog, as in a star.
    heard = [text for text in room.refusals if "rank 1 (here): no" in text]
    assert len(heard) >= MANY - 1 - FANOUT + len(Tree(MANY).inner()) - 1
