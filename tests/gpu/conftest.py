"""Programs under test, as those of several processes are; and, after all tests of GPUs, what they ran on."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.gpus import PAIR
from tests.multiprocess.conftest import start

from collmark.bench.backends.cuda_driver import find_driver
from collmark.bench.backends.gpu_seat import VARIABLE

__all__ = ["pytest_terminal_summary", "start"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which GPUs there are, where it was their tests that were asked for."""
    if config.getoption("markexpr") != "gpu":
        return
    driver = find_driver()
    names = Counter(gpu.name for gpu in driver.gpus) if driver else Counter()
    words = ", ".join(f"{count} x {name}" for name, count in names.items()) or "none"
    if names.total() == 1:
        words += f"; {PAIR} ranks share it ({VARIABLE}=1), to test and not to measure"
    terminalreporter.write_line(f"GPUs: {words}")
