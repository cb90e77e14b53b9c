"""Signals become a flag; the second one an exception."""

import os
import signal
import threading

import pytest

from collmark.workflow.interruption import HEARD, StopSignals


@pytest.mark.parametrize("number", HEARD)
def test_the_first_signal_is_noted_and_answered(number: signal.Signals) -> None:
    answered: list[int] = []
    with StopSignals(answered.append) as signals:
        assert not signals.is_stopping()
        os.kill(os.getpid(), number)
        assert signals.is_stopping()
        assert (signals.received, answered) == (number, [number])


def test_the_second_signal_stops_at_once() -> None:
    with StopSignals(lambda _number: None) as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert signals.received == signal.SIGTERM


@pytest.mark.parametrize("first", HEARD)
def test_a_terminal_that_is_closed_says_so_twice_without_insisting(first: signal.Signals) -> None:
    with StopSignals(lambda _number: None) as signals:
        os.kill(os.getpid(), first)
        os.kill(os.getpid(), signal.SIGHUP)
        assert signals.received == first


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in HEARD]
    with StopSignals(lambda _number: None):
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in HEARD] == before


def test_in_a_thread_it_hears_nothing_and_harms_nothing() -> None:
    heard: list[bool] = []

    def use() -> None:
        with StopSignals(lambda _number: None) as signals:
            heard.append(signals.is_stopping())

    thread = threading.Thread(target=use)
    thread.start()
    thread.join(5)
    assert heard == [False]
