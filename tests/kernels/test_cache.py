"""What drives buffers out of the caches touches every line of its memory."""

from __future__ import annotations

import pytest

from collmark.kernels.cache import LINE, Eviction


@pytest.mark.parametrize("nbytes", [0, 1, LINE, 10 * LINE + 3, 2**20])
def test_every_line_is_read_once(nbytes: int) -> None:
    evict = Eviction(nbytes)
    evict()
    lines = evict._lines
    assert lines.size == max(1, nbytes // LINE)
    assert lines.strides == (LINE,)
    assert int(lines.sum()) == lines.size  # memory that was never written would not be there
