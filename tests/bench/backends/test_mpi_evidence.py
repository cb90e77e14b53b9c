"""MPI's tier between hosts is tcp only where its settings leave it nothing else, whichever of its ways out it takes."""

from __future__ import annotations

import pytest

from collmark.bench.backends.mpi import tcp_settings


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({"UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"}, "UCX_TLS=tcp,self, FI_PROVIDER=tcp"),
        ({"UCX_TLS": "tcp", "FI_PROVIDER": "tcp"}, "UCX_TLS=tcp, FI_PROVIDER=tcp"),
        # The library in use may be built over either.
        ({"UCX_TLS": "tcp"}, ""),
        ({"FI_PROVIDER": "tcp"}, ""),
        # More than TCP may be used, or all but it.
        ({"UCX_TLS": "tcp,sm", "FI_PROVIDER": "tcp"}, ""),
        ({"UCX_TLS": "^rc", "FI_PROVIDER": "tcp"}, ""),
        ({"UCX_TLS": "self", "FI_PROVIDER": "tcp"}, ""),
        ({"UCX_TLS": "tcp", "FI_PROVIDER": "^tcp"}, ""),
        ({}, ""),
    ],
)
def test_settings_that_leave_nothing_but_tcp(environ: dict[str, str], found: str) -> None:
    assert tcp_settings(environ) == found
