"""How a host disturbed the ranks of a launch, as it is stored."""

from __future__ import annotations

from typing import Annotated

import msgspec

from collmark.core.bounds import Count, NotNegative, Share
from collmark.core.stored import S, meaning


class HostNoise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a host disturbed its ranks just before the first case, when each only read the clock, where and as it then
    ran; lists are in the order of the host's `ranks`.
    """

    loop: Annotated[str, meaning("loop that read the clock")]
    threshold: Annotated[NotNegative, meaning("shortest step between two reads that is a gap", S)]
    watched: Annotated[list[NotNegative], meaning("time that each rank watched", S)]
    lost: Annotated[list[NotNegative], meaning("time of it that lay in gaps", S)]
    long: Annotated[list[Count], meaning("gaps of 1 ms and more")]
    largest: Annotated[list[NotNegative], meaning("largest gap; 0 where there was none", S)]
    preempted: Annotated[
        list[Count] | None, meaning("times that another thread took the core; absent where it is not told")
    ] = None
    frequency: Annotated[
        list[NotNegative] | None, meaning("of the cores that the ranks ended on; absent where it is not told", "Hz")
    ] = None
    steal: Annotated[Share | None, meaning("share of the host's time that a hypervisor took")] = None
    throttled: Annotated[
        NotNegative | None, meaning("time for which a CPU quota stopped the ranks' control group", S)
    ] = None
    switches: Annotated[NotNegative | None, meaning("context switches of the whole host", "1/s")] = None
    summed: Annotated[list[NotNegative] | None, meaning("float32 that each rank adds locally: 1/gamma", "B/s")] = None

    def __post_init__(self) -> None:
        """Check what must hold between fields, also after decoding."""
        if not len(self.watched) == len(self.lost) == len(self.long) == len(self.largest):
            raise ValueError("watched, lost, long and largest must be of equal length, one entry a rank")
