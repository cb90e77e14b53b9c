"""What one figure of a log says, in the canonical quantities, and what could not be read."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from collmark.core.case import Cadence, Device, Form


class RanksFrom(StrEnum):
    """Where the number of ranks comes from."""

    TEXT = "text"
    FACTOR = "factor"
    """Bus bandwidth over algorithm bandwidth."""
    OPTION = "option"


class SizeIs(StrEnum):
    """What the size that a tool prints is (conventions differ by tool and operation)."""

    CANONICAL = "canonical"
    """S as collmark and nccl-tests mean it."""
    BLOCK = "block"
    """One rank's share, or what goes to one destination: S is as many times as there are ranks."""


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One figure of a log.

    Attributes
    ----------
    tool, version : str
        Who printed it.
    operation, dtype, reduction : str
        In collmark's names, where it has one (copies between host and device have none, and are never stored); empty
        where they are not told and do not follow from the tool.
    candidates : tuple of str
        What the operation may be, where it is not told.
    ranks, ranks_from, nodes : int, RanksFrom, int or None
        None where the log does not tell.
    nbytes : int or None
        Effective size S in bytes; None where it takes the number of ranks, which is not known.
    nbytes_printed : int or None
        Size in bytes as printed, once its unit is applied; None where none is printed.
    size_is : SizeIs
        What the printed size means.
    seconds : float or None
        T as collmark means it for the operation, in s.
    statistic : str
        What was done to many times to get one, over iterations and over ranks.
    algorithm_bandwidth, bus_bandwidth : float or None
        In B/s: as printed where the tool's convention is the canonical one, otherwise computed from S and T.
    wrong : int or None
        Wrong elements; None where nothing was checked.
    in_place : bool or None
        None where it has no meaning or is not told.
    group : int
        Which run inside the file, from 1.
    file : str
    line : int
        From 1; `lines` from there on hold the figures.
    lines : int
    printed : dict of str to str
        Figures exactly as they stand on those lines, by column.
    backend : str
        Software that moved the bytes.
    device : Device or None
        Where the buffers lie; None where the log does not tell.
    cadence : Cadence
    form : Form
    directions, messages : int
        As in a case.
    repetitions : int or None
        Iterations behind the figure.
    percentiles : dict of str to float
        Further statistics of T in s, such as "min", "p99", "max".
    settings : str
        What else tells runs of one file apart: queue pairs, algorithm, window.
    """

    tool: str
    operation: str
    nbytes_printed: int | None
    seconds: float | None
    statistic: str
    file: str
    line: int
    printed: dict[str, str]
    backend: str
    version: str = ""
    candidates: tuple[str, ...] = ()
    dtype: str = ""
    reduction: str = ""
    ranks: int | None = None
    ranks_from: RanksFrom | None = None
    nodes: int | None = None
    nbytes: int | None = None
    size_is: SizeIs = SizeIs.CANONICAL
    algorithm_bandwidth: float | None = None
    bus_bandwidth: float | None = None
    wrong: int | None = None
    in_place: bool | None = None
    group: int = 1
    lines: int = 1
    device: Device | None = Device.CPU
    cadence: Cadence = Cadence.STREAMING
    form: Form = Form.BLOCKING
    directions: int = 1
    messages: int = 1
    repetitions: int | None = None
    percentiles: dict[str, float] = {}
    settings: str = ""

    @property
    def possible(self) -> tuple[str, ...]:
        """All operations that it may be of."""
        return self.candidates or (self.operation,)


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was not read, and why."""

    file: str
    line: int
    text: str
    reason: str


class Warned(msgspec.Struct, frozen=True, kw_only=True):
    """What is odd about figures that were read: they disagree with each other or with the text around them."""

    file: str
    line: int
    text: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the user says about the logs; None where nothing is said."""

    ranks: int | None = None
    nodes: int | None = None
    operation: str | None = None
    dtype: str | None = None
    device: Device | None = None
    backend: str | None = None
