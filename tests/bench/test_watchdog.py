"""The watchdog ends its process, so that each case here has a process of its own."""

import subprocess
import sys
import textwrap
import time

import pytest

from collmark.bench.watchdog import start_patience

PROLOGUE = """
import os, signal, socket, sys, threading, time
from collmark.bench.watchdog import Watchdog

def on_loss(loss):
    print(loss.text, loss.told, flush=True)

def hang(seconds=20):
    time.sleep(seconds)
    print("still there", flush=True)

dog = Watchdog(TIMEOUT, on_loss)
one, other = socket.socketpair()
read_end, write_end = os.pipe()
"""
pytestmark = pytest.mark.timeout(60)


def outcome(body: str, timeout: float = 2.0) -> tuple[int, str, float]:
    """Return exit status, output and seconds of a process that has a watchdog."""
    source = PROLOGUE.replace("TIMEOUT", str(timeout)) + textwrap.dedent(body)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=40, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.strip(), time.monotonic() - began


def test_a_launcher_that_is_gone_ends_the_process_at_once() -> None:
    status, said, seconds = outcome(
        """
        dog.watch_lifeline(read_end)
        dog.start()
        os.close(write_end)
        hang()
        """
    )
    assert (status, said) == (4, "the launcher is gone False")
    assert seconds < 5


def test_a_silent_launcher_ends_the_process_within_the_timeout() -> None:
    status, said, seconds = outcome(
        """
        dog.watch_lifeline(read_end)
        dog.start()
        hang()
        """
    )
    assert (status, said) == (4, "the launcher silent for 2 s False")
    assert seconds < 8


def test_beats_of_the_launcher_keep_it_alive_and_its_stop_is_heard() -> None:
    status, said, _ = outcome(
        """
        dog.watch_lifeline(read_end)
        dog.start()
        for _ in range(8):
            os.write(write_end, b".")
            time.sleep(0.5)
        assert not dog.stop_requested.is_set()
        os.write(write_end, b".s.")
        assert dog.stop_requested.wait(5)
        dog.end()
        print("alive")
        """
    )
    assert (status, said) == (0, "alive")


def test_a_peer_that_is_gone_ends_the_process_within_a_second() -> None:
    status, said, _ = outcome(
        """
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        dog.arm(10, "all_reduce 8 B")
        other.close()
        began = time.monotonic()
        hang(1)
        """
    )
    assert (status, said) == (4, "rank 1 (here) is gone in all_reduce 8 B False")


def test_a_silent_peer_ends_the_process_after_the_timeout_once_all_have_started() -> None:
    status, said, seconds = outcome(
        """
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        dog.started()
        hang()
        """
    )
    assert (status, said) == (4, "rank 1 (here) silent for 2 s False")
    assert seconds < 8


def test_a_peer_that_starts_has_longer() -> None:
    status, said, _ = outcome(
        """
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        hang(5)
        """
    )
    assert (status, said) == (0, "still there")
    assert start_patience(2.0) == 20
    assert start_patience(30.0) == 120


def test_a_call_that_does_not_come_back_names_the_ranks_that_are_silent() -> None:
    status, said, _ = outcome(
        """
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        dog.arm(3.5, "barrier")
        hang()
        """
    )
    assert (status, said) == (4, "rank 1 (here) silent for 3.5 s in barrier False")


def test_a_call_that_does_not_come_back_though_all_live_says_so() -> None:
    status, said, _ = outcome(
        """
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        dog.arm(1, "barrier")
        for _ in range(10):
            other.send(b".")
            time.sleep(0.3)
        """
    )
    assert (status, said) == (4, "every rank is alive, but none came back for 1 s in barrier False")


def test_it_works_while_the_main_thread_never_lets_go_of_the_processor() -> None:
    status, said, seconds = outcome(
        """
        dog.start()
        dog.arm(1, "a call")
        began = time.monotonic()
        while time.monotonic() < began + 15:
            pass
        """
    )
    assert status == 4
    assert said.startswith("every rank is alive")
    assert seconds < 8


def test_last_words_of_a_peer_are_passed_on_with_their_status() -> None:
    status, said, _ = outcome(
        """
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        other.send(b"..!003torch is not ")
        time.sleep(0.7)
        other.send(b"installed\\n")
        other.close()
        hang()
        """
    )
    assert (status, said) == (3, "rank 1 (here): torch is not installed True")


def test_what_a_peer_only_passes_on_keeps_the_name_of_who_said_it() -> None:
    for words, said in (
        ("rank 40 (there) is gone", "rank 40 (there) is gone True"),
        ("rank 0 is gone", "rank 1 (here): rank 0 is gone True"),
    ):
        body = f"""
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        other.send(b"!004{words}\\n")
        hang()
        """
        assert outcome(body)[:2] == (4, said)


def test_half_of_last_words_are_taken_when_the_peer_has_gone() -> None:
    status, said, _ = outcome(
        """
        dog.watch_peer(one, "rank 1 (here)")
        dog.start()
        other.send(b"!004no mem")
        other.close()
        hang()
        """
    )
    assert (status, said) == (4, "rank 1 (here): no mem True")


def test_who_vanished_is_named_before_who_died_of_it() -> None:
    status, said, _ = outcome(
        """
        third, fourth = socket.socketpair()
        dog.watch_peer(one, "rank 1")
        dog.watch_peer(third, "rank 2")
        other.send(b"!004the connection was reset\\n")
        fourth.close()
        dog.start()
        hang()
        """
    )
    assert (status, said) == (4, "rank 2 is gone False")


def test_the_other_peers_are_told_why() -> None:
    status, said, _ = outcome(
        """
        third, fourth = socket.socketpair()
        dog.watch_peer(one, "rank 1")
        dog.watch_peer(third, "rank 2")
        pid = os.fork()
        if pid == 0:
            dog.start()
            other.close()
            fourth.close()
            one.shutdown(socket.SHUT_RD)
            hang()
        data = b""
        while b"\\n" not in data:
            data += fourth.recv(100)
        os.waitpid(pid, 0)
        print(data.lstrip(b"."))
        """
    )
    assert status == 0
    assert said.splitlines() == ["rank 1 is gone False", "b'!004rank 1 is gone\\n'"]


def test_peers_may_leave_at_the_end_but_libraries_must_close_in_time() -> None:
    status, said, seconds = outcome(
        """
        dog.watch_peer(one, "rank 1")
        dog.start()
        dog.end_within(2)
        other.close()
        hang()
        """
    )
    assert (status, said) == (0, "the library did not close in time False")
    assert 2 < seconds < 8


def test_a_signal_that_is_not_obeyed_in_time_ends_the_process_with_its_status() -> None:
    status, said, seconds = outcome(
        """
        dog.watch_signals(lambda: signal.SIGTERM, 1.0)
        dog.start()
        dog.arm(30, "a call")
        hang()
        """
    )
    assert (status, said) == (143, "stopped at once in a call False")
    assert seconds < 6


def test_a_fault_of_its_own_ends_the_process_with_a_reason() -> None:
    status, said, _ = outcome(
        """
        dog.beat = lambda: 1 / 0
        dog.start()
        hang()
        """
    )
    assert (status, said) == (4, "the watchdog failed: ZeroDivisionError: division by zero False")


def test_an_error_while_telling_does_not_keep_the_process() -> None:
    status, said, _ = outcome(
        """
        def on_loss(loss):
            raise SystemExit
        dog = Watchdog(1, on_loss)
        dog.start()
        dog.arm(0.5, "a call")
        hang()
        """
    )
    assert (status, said) == (4, "")


def test_once_ended_it_lets_the_process_go_on() -> None:
    status, said, _ = outcome(
        """
        dog.watch_peer(one, "rank 1")
        dog.start()
        dog.end()
        other.close()
        hang(2)
        """
    )
    assert (status, said) == (0, "still there")
