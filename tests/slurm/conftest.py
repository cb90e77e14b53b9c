"""A Slurm cluster for all tests of this folder; where there can be none, they are skipped with the reason."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.slurm.cluster import Cluster, missing, started


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Four nodes, all idle; a test that crashes one boots it again."""
    if reason := missing():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="collmark-slurm-") as name, started(Path(name)) as made:
        yield made
