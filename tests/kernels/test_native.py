"""The native loop: programs, stamps, faults, and the agreement on starts between processes."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from collmark.bench.start_page import BlockTimer, make_page, open_page
from collmark.kernels import native
from collmark.kernels.native import MOST_ARGUMENTS, NativeLoop, Place, Program, Step, load_loop

Function = Callable[..., int | None]


@pytest.fixture(scope="module")
def loop() -> NativeLoop:
    found = load_loop()
    if found is None:
        pytest.skip("the native loop was not built (install a C compiler, then pip install -e .)")
    return found


def step(function: Function, *arguments: int) -> tuple[Step, object]:
    """Return a step that calls a Python function, and what keeps it alive."""

    def call(*words: int) -> int:
        return function(*words) or 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_ssize_t] * len(arguments))(call)
    return Step(ctypes.cast(callback, ctypes.c_void_p).value or 0, arguments), callback


def timer_of(loop: NativeLoop) -> BlockTimer:
    made = make_page(loop.page_nbytes(1))
    assert made is not None
    return BlockTimer(loop, made[0], rank=0, ranks=1, crowded=False)


def block(
    timer: BlockTimer, program: Program, count: int, batch: int = 1
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return timer.block(program, count, arm=lambda: None, await_start=lambda: None, batch=batch)


@pytest.mark.parametrize("count", range(MOST_ARGUMENTS + 1))
def test_every_argument_arrives_in_its_place(loop: NativeLoop, count: int) -> None:
    seen: list[tuple[int, ...]] = []
    words = [(-1) ** index * (index + 2**40) for index in range(count)]
    made, keep = step(lambda *arguments: seen.append(arguments), *words)
    program = Program([made], [keep])
    block(timer_of(loop), program, 1)
    program.call()
    # A function that takes fewer than the loop passes ignores the rest.
    assert seen == [tuple(words)] * 2


def test_calls_are_made_in_order_and_between_the_stamps(loop: NativeLoop) -> None:
    seen: list[tuple[str, int]] = []

    def called(name: str) -> Function:
        return lambda: seen.append((name, time.monotonic_ns()))

    steps = [step(called(name)) for name in "ab"]
    program = Program([made for made, _keep in steps], [keep for _made, keep in steps])
    starts, enters, leaves = block(timer_of(loop), program, 3, batch=2)
    assert [name for name, _when in seen] == list("abab") * 3
    for repetition in range(3):
        inside = [when for _name, when in seen[4 * repetition : 4 * repetition + 4]]
        assert starts[repetition] <= enters[repetition] <= inside[0]
        assert inside[-1] <= leaves[repetition]


@pytest.mark.parametrize(("cycle", "batch", "first", "turns"), [
    (1, 1, 0, ["a"] * 5), (3, 1, 0, ["a", "b", "c", "a", "b"]), (3, 1, 2, ["c", "a", "b", "c", "a"]),
    (4, 2, 0, ["ab", "cd", "ab", "cd", "ab"]), (4, 2, 1, ["cd", "ab", "cd", "ab", "cd"]), (1, 3, 0, ["aaa"] * 5),
])  # fmt: skip
@pytest.mark.parametrize("agrees", [True, False])
def test_programs_are_taken_in_turn(
    loop: NativeLoop, cycle: int, batch: int, first: int, turns: list[str], *, agrees: bool
) -> None:
    seen: list[str] = []

    def noting(name: str) -> Function:
        return lambda: seen.append(name)

    parts = [[step(noting(name)), step(noting("."))] for name in "abcdef"[:cycle]]
    program = Program.in_turn([Program([made for made, _ in part], part) for part in parts])
    timer = timer_of(loop) if agrees else BlockTimer(loop, None, rank=0, ranks=1, crowded=False)
    stamps = timer.block(program, 5, arm=lambda: None, await_start=lambda: seen.append("|"), batch=batch, first=first)
    assert stamps.shape == (3, 5)
    made = "".join(name for name in seen if name not in ".|")
    assert made == "".join(turns)
    assert seen.count(".") == 5 * batch


def test_turns_go_on_over_blocks_of_python(loop: NativeLoop) -> None:
    seen: list[str] = []

    def noting(name: str) -> Function:
        def call() -> None:
            seen.append(name)
            time.sleep(0.03)

        return call

    parts = [step(noting(name)) for name in "abcde"]
    program = Program.in_turn([Program([made], [keep]) for made, keep in parts])
    block(timer_of(loop), program, 12)  # 12 x 30 ms are more than three blocks of 100 ms
    assert "".join(seen) == "abcdeabcdeab"


def test_a_call_that_fails_ends_the_block_with_its_words(loop: NativeLoop) -> None:
    made, keep = step(lambda: 19)
    program = Program([made], [keep])
    timer = BlockTimer(loop, None, rank=0, ranks=1, crowded=False, words_of=lambda fault: f"fault {fault}")
    with pytest.raises(RuntimeError, match="fault 19"):
        block(timer, program, 5)
    with pytest.raises(RuntimeError, match="returned 19"):
        program.call()


def test_a_block_gives_python_its_turn(loop: NativeLoop) -> None:
    armed: list[float] = []
    made, keep = step(lambda: time.sleep(0.03))
    timer_of(loop).block(
        Program([made], [keep]), 12, arm=lambda: armed.append(time.monotonic()), await_start=lambda: None
    )
    # 12 x 30 ms are more than three blocks of 100 ms.
    assert len(armed) >= 3


def test_without_a_page_each_start_is_awaited(loop: NativeLoop) -> None:
    starts: list[int] = []
    timer = BlockTimer(loop, None, rank=0, ranks=2, crowded=False)
    stamps = timer.block(
        loop.empty_program(1), 4, arm=lambda: None, await_start=lambda: starts.append(time.monotonic_ns())
    )
    assert not timer.agrees
    assert len(starts) == 4
    assert all(before <= enter <= leave for before, (_zero, enter, leave) in zip(starts, stamps.T, strict=True))


@pytest.fixture
def children() -> Iterator[list[int]]:
    pids: list[int] = []
    yield pids
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, 0)


def follow(loop: NativeLoop, ticket: bytes, rank: int, ranks: int, count: int, report: int) -> None:
    """Be another rank in a process of its own, and write what it saw."""
    page = open_page(ticket, loop.page_nbytes(ranks))
    assert page is not None
    timer = BlockTimer(loop, page, rank=rank, ranks=ranks, crowded=True)
    os.write(report, block(timer, loop.empty_program(1), count).tobytes())


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_agree_on_every_start(loop: NativeLoop, ranks: int, children: list[int]) -> None:
    count = 300
    made = make_page(loop.page_nbytes(ranks))
    assert made is not None
    page, ticket = made
    pipes = [os.pipe() for _ in range(1, ranks)]
    for rank, (_read, write) in enumerate(pipes, 1):
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            follow(loop, ticket, rank, ranks, count, write)
            os._exit(0)
        children.append(pid)
        os.close(write)
    own = block(BlockTimer(loop, page, rank=0, ranks=ranks, crowded=True), loop.empty_program(1), count)
    for pid, (read, _write) in zip(children, pipes, strict=True):
        data = b""
        while part := os.read(read, 1 << 16):
            data += part
        os.close(read)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        other = np.frombuffer(data, dtype=np.int64).reshape(3, count)
        assert (other[0] == own[0]).all()
        assert (other[1] >= other[0]).all()
    assert (np.diff(own[0]) > 0).all()


def test_the_page_has_no_name_and_goes_with_its_processes(loop: NativeLoop) -> None:
    before = set(Path("/dev/shm").iterdir())
    made = make_page(loop.page_nbytes(2))
    assert made is not None
    assert set(Path("/dev/shm").iterdir()) == before


@pytest.mark.parametrize("ticket", [b"", b"1 999 elsewhere", f"{os.getpid()} 0 other clock".encode()])
def test_a_page_that_cannot_be_opened_is_none(ticket: bytes) -> None:
    assert open_page(ticket, 4096) is None


def test_another_file_is_no_page(tmp_path: Path) -> None:
    from collmark.bench import environment

    with (tmp_path / "file").open("w+b") as file:
        ticket = f"{os.getpid()} {file.fileno()} {environment.clock_id()}".encode()
        assert open_page(ticket, 4096) is None


def test_calibration_is_of_this_loop(loop: NativeLoop) -> None:
    found = timer_of(loop).calibrate()
    assert (found.loop, found.name) == ("native", "clock_gettime(CLOCK_MONOTONIC)")
    assert found.tick > 0
    assert 0 < found.cost <= found.cost_p99


def test_a_loop_that_was_not_built_or_is_another_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def spec_of(origin: str) -> Callable[[str], object]:
        return lambda _name: type("Spec", (), {"origin": origin})()

    monkeypatch.setattr(native.importlib.util, "find_spec", lambda _name: None)  # type: ignore[attr-defined]
    assert load_loop() is None
    (tmp_path / "text.so").write_text("no library")
    for origin in (str(tmp_path / "text.so"), "libc.so.6"):
        monkeypatch.setattr(native.importlib.util, "find_spec", spec_of(origin))  # type: ignore[attr-defined]
        assert load_loop() is None


def test_a_place_is_what_the_loop_takes_it_for() -> None:
    # page, rank, ranks, crowded, sequence, late: six words of 8 bytes.
    assert ctypes.sizeof(Place) == 48
