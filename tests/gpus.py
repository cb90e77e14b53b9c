"""The GPUs of the machine that the tests run on, and how many ranks they take."""

from __future__ import annotations

import pytest

from collmark.bench.backends.gpu_seat import VARIABLE
from collmark.bench.backends.index import BACKENDS

PAIR = 2  # ranks, the most that share a GPU


def sharing(ranks: int) -> dict[str, str]:
    """Return the variables under which so many ranks run here: none where each has a GPU of its own.

    Skips the test, with the reason, where they could not.
    """
    row = BACKENDS["nccl"]
    if missing := row.missing():
        pytest.skip(missing)
    there = len(row.devices())
    if ranks <= there:
        return {}
    if ranks > PAIR:
        pytest.skip(f"{ranks} ranks need {ranks} GPUs: {there} here")
    return {VARIABLE: "1"}
