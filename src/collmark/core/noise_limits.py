"""From where on noise is a warning: every threshold, with its reason."""

from __future__ import annotations

import msgspec


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A threshold.

    Attributes
    ----------
    value : float
        In SI units.
    unit : str
        Empty for shares and ratios.
    reason : str
        Why there, and where that is from.
    """

    value: float
    unit: str = ""
    reason: str


READ = Limit(
    value=100e-9,
    unit="s",
    reason="a read in user space takes 20 to 60 ns; above 100 ns it is a system call, or a device behind a bus (clock "
    "sources hpet, acpi_pm)",
)
PYTHON_READ = Limit(value=500e-9, unit="s", reason="as for native reads, with a call of the interpreter around each")
TIMED = Limit(
    value=20,
    reason="what is timed must last 20 reads of its clock, so that they are under 5 % of it (Hoefler & Belli, SC15, "
    "doi 10.1145/2807591.2807644)",
)
LOST = Limit(
    value=0.01,
    reason="1 % is a strict precision of a run; 2.5 % of noise slowed an application on 10,000 nodes down by a factor "
    "of 20 or not at all, by the length of its gaps (Ferreira, Bridges & Brightwell, SC08, doi "
    "10.1109/SC.2008.5219920)",
)
SMALL = Limit(
    value=100e-6,
    unit="s",
    reason="length of the operations that gaps are counted against: a few bytes over gloo on one host, the smallest "
    "collective of most users",
)
STRUCK = Limit(
    value=1e-3,
    reason="with 1 of 1,000 small operations hit by a long gap, every case of some thousand repetitions has a few, and "
    "its tail beyond the 99.9 % quantile is the machine's",
)
STEAL = Limit(value=0.01, reason="as for time lost in gaps: it is lost to the hypervisor")
LATENCY = Limit(
    value=500e-9,
    unit="s",
    reason="published medians lie between 17 and 145 ns inside a socket (tables of nviennot/core-to-core-latency); "
    "beyond 500 ns the cores do not run at the same time",
)
LATENCY_RATIO = Limit(
    value=2.0, reason="above it, where ranks happen to lie decides over small operations more than the algorithm does"
)
FREQUENCY_RATIO = Limit(
    value=0.9,
    reason="cores that spin alike and run 10 % apart make ranks differ by more than the default precision, 5 %",
)
COPY_WIDTH = Limit(
    value=0.1, reason="half-width of the interval of a copy over windows: twice the default precision of a case, 5 %"
)
