"""Signals become a flag; the second one an exception."""

import os
import signal
import threading

import pytest

from collmark.workflow.interruption import AFTER_CASE, HEARD, StopSignals


@pytest.mark.parametrize("number", HEARD)
def test_the_first_signal_is_noted_and_answered(number: signal.Signals) -> None:
    answered: list[int] = []
    with StopSignals(answered.append) as signals:
        assert not signals.is_stopping()
        os.kill(os.getpid(), number)
        assert signals.is_stopping()
        assert (signals.received, answered) == (number, [number])


def test_a_signal_for_an_end_after_the_case_is_no_stop_at_once() -> None:
    answered: list[int] = []
    with StopSignals(answered.append) as signals:
        for _again in range(2):
            os.kill(os.getpid(), signal.SIGUSR1)
        assert (signals.is_stopping(), signals.is_ending(), signals.number) == (False, True, signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGTERM)
        assert (signals.is_stopping(), signals.number) == (True, signal.SIGTERM)
    assert answered == [signal.SIGUSR1, signal.SIGTERM]


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
    before = [signal.getsignal(number) for number in (*HEARD, AFTER_CASE)]
    with StopSignals(lambda _number: None):
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (*HEARD, AFTER_CASE)] == before


def test_in_a_thread_it_hears_nothing_and_harms_nothing() -> None:
    heard: list[bool] = []

    def use() -> None:
        with StopSignals(lambda _number: None) as signals:
            heard.append(signals.is_stopping())

    thread = threading.Thread(target=use)
    thread.start()
    thread.join(5)
    assert heard == [False]
