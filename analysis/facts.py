"""What was recorded of where runs were made: facts of launches and hosts, each with its place."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collmark.core.record import Run
from collmark.core.units import GIB


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was so in one place.

    Attributes
    ----------
    kind : str
        launch or host: the kind of the place.
    launch : int
        Id of the launch.
    host : str
        Name of the host; empty for a fact of the launch.
    name, value : str
        What, and its value; a variable's name starts with $.
    """

    kind: str
    launch: int
    host: str = ""
    name: str
    value: str


def facts_of(run: Run) -> Iterator[Fact]:
    """Yield what was recorded of the launches of a run and of their hosts."""
    for launch in run.launches:
        of_launch = {
            **launch.libraries,
            "scheduling class": launch.scheduling,
            "timing loop": launch.timer.loop,
            **{f"${name}": value for name, value in launch.environment.items()},
        }
        for name, value in of_launch.items():
            yield Fact(kind="launch", launch=launch.id, name=name, value=value)
        for host in launch.hosts:
            of_host = {
                "processor": host.cpu,
                "system": host.system,
                "cores for a rank": f"{host.cores}",
                "memory": f"{host.memory / GIB:.1f} GiB" if host.memory else "unknown",
                "governor": host.governor or "unknown",
            }
            for name, value in of_host.items():
                yield Fact(kind="host", launch=launch.id, host=host.name, name=name, value=value)
