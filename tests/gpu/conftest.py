"""Programs under test, as those of several processes are."""

from tests.multiprocess.conftest import start

__all__ = ["start"]
