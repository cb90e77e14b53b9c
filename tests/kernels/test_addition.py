"""Additions are carried out, counted and timed."""

from __future__ import annotations

import time

import numpy as np

from collmark.kernels.addition import additions


def test_additions_arrive_and_are_counted() -> None:
    source = np.random.default_rng(1).integers(0, 8, 10_007).astype(np.float32)
    to = np.zeros_like(source)
    began = time.monotonic_ns()
    count, took = additions(to, source, 2_000_000)
    assert 2_000_000 <= took <= time.monotonic_ns() - began
    assert count >= 1
    # Whole numbers, exact in float32 as long as they stay below 2^24.
    assert count * 8 < 1 << 24
    assert np.array_equal(to, source * np.float32(count))
