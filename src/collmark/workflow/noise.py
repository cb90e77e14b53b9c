"""The noise of this machine: what to measure, and what the figures mean."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from collmark.bench.noise.machine import measure_machine
from collmark.bench.noise.pinned import can_pin, own_cores
from collmark.core.errors import UsageError, excerpt
from collmark.core.noise import MachineNoise
from collmark.core.noise_judgement import Finding, judge
from collmark.core.numeral import spans
from collmark.core.units import Seconds, parse_seconds

DURATION: Seconds = 5.0
LEAST, MOST = 0.1, 600.0  # s: windows of 10 ms; that many gaps fit into memory
RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """The noise of a machine, measured and judged.

    Attributes
    ----------
    measured : MachineNoise
        The figures.
    findings : tuple of Finding
        What they mean.
    """

    measured: MachineNoise
    findings: tuple[Finding, ...]


def noise_here(duration: str | None, cores: str | None, tell: Callable[[str], None]) -> Noise:
    """Measure and judge this machine.

    Parameters
    ----------
    duration, cores : str or None
        As the user wrote them: how long gaps are watched for, and on which cores.
    tell : callable
        Receives a line before each part.

    Raises
    ------
    UsageError
        If they make no sense.
    """
    seconds = read_duration(duration)
    measured = measure_machine(read_cores(cores), seconds, tell)
    return Noise(measured=measured, findings=judge(measured))


def read_duration(text: str | None) -> Seconds:
    """Return a duration; UsageError where it is none, too short or too long."""
    if text is None:
        return DURATION
    try:
        seconds = parse_seconds(text)
    except UsageError as error:
        raise UsageError(f"--duration {excerpt(text)}: {error}") from error
    if not LEAST <= seconds <= MOST:
        raise UsageError(f"--duration {excerpt(text)}: must be a time from 100 ms to 10 min")
    return seconds


def read_cores(text: str | None) -> tuple[int, ...]:
    """Return the cores of a list such as ``0,2-3``, all where there is none.

    Raises
    ------
    UsageError
        If it is no list, or names a core that this process may not run on.
    """
    own = own_cores()
    if text is None:
        return own
    if not can_pin():
        raise UsageError(f"--cores {excerpt(text)}: this system does not let a thread choose its core; leave it away")
    found: dict[int, None] = {}
    for part in text.split(","):
        match = RANGE.fullmatch(part.strip())
        if not match or int(match[1]) > int(match[2] or match[1]):
            raise UsageError(f"--cores {excerpt(text)}: must be a list of cores, as 0,2-3")
        found |= dict.fromkeys(range(int(match[1]), int(match[2] or match[1]) + 1))
    missing = [core for core in found if core not in own]
    if missing:
        raise UsageError(
            f"--cores {excerpt(text)}: this process may not run on core {missing[0]}; it may on {spans(own)}"
        )
    return tuple(sorted(found))
