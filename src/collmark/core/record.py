"""What is kept of a measurement: one record per case and launch, and one description per launch and run.

Times are seconds, sizes bytes. Bandwidth is computed when a record is read (:mod:`collmark.core.metrics`).
Every field carries its unit and meaning; :func:`field_table` turns them into the table of results/README.md.
A change here raises SCHEMA_VERSION and adds one step to :mod:`collmark.core.store`, in the same commit.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Annotated

import msgspec

from collmark.core.bounds import Count, NotNegative, Ordinal, Share
from collmark.core.case import Case
from collmark.core.doctor.finding import Diagnosis
from collmark.core.host_noise import HostNoise
from collmark.core.marker import Marker, marker_of
from collmark.core.operation import Estimand
from collmark.core.placement import Fabric, Tier
from collmark.core.plan import Plan
from collmark.core.start_up import StartUp
from collmark.core.stored import B, S, meaning

SCHEMA_VERSION = 1


class Status(StrEnum):
    """How the measurement of a case ended."""

    CONVERGED = "converged"
    """The interval of the median was within the precision twice in a row."""
    BUDGET = "budget"
    """The time for the case ended first, or rank 0's room for the stamps of all ranks."""
    UNSTABLE = "unstable"
    """Over 5 % of repetitions lie above 3 x or below a third of the median (the lower of the two middle ones, where
    there are two), or the warm-up cut exceeds a third of them."""
    WRONG = "wrong"
    """The operation gave a wrong result: no bandwidth."""
    FAILED = "failed"
    """The backend refused or broke off; the reason stands in `error`."""
    IMPORTED = "imported"
    """Another tool measured, by its own rule."""


SEVERITY = (Status.CONVERGED, Status.BUDGET, Status.IMPORTED, Status.UNSTABLE, Status.FAILED, Status.WRONG)
"""The statuses from best to worst: a case over several launches has the worst of theirs."""

ENTERS = (Status.CONVERGED, Status.BUDGET, Status.IMPORTED)
"""The statuses whose times enter estimates over launches, fits and claims."""


class Clock(StrEnum):
    """Which clocks the time stamps come from."""

    SHARED = "shared"
    """One monotonic clock: all ranks on one host."""
    MODELLED = "modelled"
    """One clock per host, mapped onto rank 0's by a model whose bound is below 5 % of T."""
    LOCAL = "local"
    """One clock per host, and no model good enough to compare them."""
    VIRTUAL = "virtual"
    """The simulated backend's."""


class Sentinel(StrEnum):
    """Where in a launch a repeat of the sentinel case stood; its change is the launch's drift."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


Level = Annotated[float, msgspec.Meta(ge=0.5, lt=1)]
Tau = Annotated[float, msgspec.Meta(ge=1)]
FileName = Annotated[str, msgspec.Meta(pattern=r"^[^/\\]+$")]


class _Stored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything that is stored."""


def _check_order(struct: msgspec.Struct, *names: str) -> None:
    """Raise ValueError unless the fields rise; what is absent is passed over."""
    found = [(name, value) for name in names if (value := getattr(struct, name)) is not None]
    for (low_name, low), (high_name, high) in pairwise(found):
        if low > high:
            raise ValueError(f"{low_name} ({low:g}) must not be above {high_name} ({high:g})")


BINS_PER_OCTAVE = 48
"""Of a histogram: a bin is 1.5 % wide, so that modes that lie 5 % apart are told apart."""


class Histogram(_Stored, frozen=True, kw_only=True):
    """How T is distributed over the repetitions that were not cut, in bins of 1/48 octave."""

    bins: Annotated[list[int], meaning("index of each bin that holds repetitions, rising: floor(48 log2(T / 1 s))")]
    counts: Annotated[list[Ordinal], meaning("repetitions in it; clock readings are spread over their tick")]

    def __post_init__(self) -> None:
        """Check what must hold between fields, also after decoding."""
        if len(self.bins) != len(self.counts) or any(low >= high for low, high in pairwise(self.bins)):
            raise ValueError("bins must rise, and have one count each")


class Timing(_Stored, frozen=True, kw_only=True):
    """Summary of T over the repetitions of one case in one launch, warm-up cut away."""

    estimand: Annotated[Estimand, meaning("what T is")]
    repetitions: Annotated[Ordinal, meaning("repetitions timed, the cut ones included")]
    cut: Annotated[Count, meaning("leading repetitions cut by MSER-5")]
    median: Annotated[NotNegative, meaning("median of T", S)]
    lower: Annotated[float | None, meaning("lower end of its order-statistic interval, inside this launch", S)]
    upper: Annotated[float | None, meaning("upper end", S)]
    level: Annotated[Level, meaning("level of the interval")]
    tau: Annotated[Tau, meaning("autocorrelation time: the interval is sqrt(tau) times wider", "repetitions")]
    minimum: Annotated[NotNegative, meaning("smallest T", S)]
    p25: Annotated[NotNegative, meaning("lower quartile", S)]
    p75: Annotated[NotNegative, meaning("upper quartile", S)]
    p95: Annotated[NotNegative, meaning("95 % quantile", S)]
    p99: Annotated[NotNegative, meaning("99 % quantile", S)]
    maximum: Annotated[NotNegative, meaning("largest T", S)]
    second_mode: Annotated[Share, meaning("share of repetitions above 3 x or below 1/3 of the lower median")]
    outliers: Annotated[Count, meaning("repetitions beyond Q3 + 3 IQR; none is deleted")]
    tick_limited: Annotated[bool, meaning("the interval is as wide as the clock's tick")]
    histogram: Annotated[
        Histogram | None, meaning("distribution of T; absent where a T is no longer than the clock's tick")
    ] = None

    def __post_init__(self) -> None:
        """Check what must hold between fields, also after decoding."""
        # A clock's tick may widen the interval below zero and beyond the extremes, but never past the median.
        _check_order(self, "lower", "median", "upper")
        _check_order(self, "minimum", "p25", "median", "p75", "p95", "p99", "maximum")
        _check_order(self, "cut", "repetitions")


class Ranks(_Stored, frozen=True, kw_only=True):
    """What differs between ranks, over the repetitions that were not cut; lists are in rank order, and for operations
    of a pair hold ranks 0 and 1, which are not idle.
    """

    shortest: Annotated[NotNegative, meaning("median of D_min, the shortest local duration", S)]
    longest: Annotated[NotNegative, meaning("median of D_max, the longest local duration", S)]
    skew: Annotated[NotNegative | None, meaning("median of last entry - first entry; absent without a common clock", S)]
    skewed: Annotated[Share | None, meaning("share of repetitions with a skew above 10 % of L")]
    late: Annotated[
        Share | None, meaning("share of repetitions that a rank entered over 10 % of T after the agreed start")
    ]
    local: Annotated[list[NotNegative], meaning("median local duration of each rank", S)]
    last_in: Annotated[list[Count], meaning("repetitions in which each rank entered last")]
    last_out: Annotated[list[Count], meaning("repetitions in which each rank left last")]
    lateness: Annotated[list[float], meaning("median of each rank's entry - the earliest other entry", S)]
    slowest: Annotated[Count, meaning("rank that left last in the slowest repetition")]
    overtime: Annotated[list[float], meaning("median of each rank's exit - the latest other exit", S)] = []
    chance_in: Annotated[
        Share | None,
        meaning("p-value of some rank's entering last so often; absent without a common clock or in a short series"),
    ] = None
    chance_out: Annotated[Share | None, meaning("p-value of some rank's leaving last so often")] = None

    def __post_init__(self) -> None:
        """Check what must hold between fields, also after decoding."""
        if not len(self.last_in) == len(self.last_out) == len(self.lateness):
            raise ValueError("last_in, last_out and lateness must be of equal length, one entry a rank")


class Check(_Stored, frozen=True, kw_only=True):
    """Comparison of every element with the expected result, before and after the timed repetitions."""

    checked: Annotated[Count, meaning("elements compared, over ranks and checks; 0 where there is no payload")]
    wrong: Annotated[Count, meaning("elements that differ")]
    first: Annotated[str, meaning("first wrong element: rank, index, expected, found; empty where none")] = ""
    left_out: Annotated[str, meaning("why nothing was compared; empty where it was")] = ""


class Evidence(_Stored, frozen=True, kw_only=True):
    """The link that was used, and how that is known."""

    tier: Annotated[Tier, meaning("class of the slowest link the ranks communicate over")]
    fabric: Annotated[Fabric | None, meaning("RDMA fabric")] = None
    because: Annotated[list[str], meaning("facts that the tier is derived from")] = []
    emulated: Annotated[bool, meaning("it joins namespaces of one machine and stands for another")] = False


class ClockModel(_Stored, frozen=True, kw_only=True):
    """How the clocks of other hosts were mapped onto rank 0's while a case was measured. At a moment t of rank 0's, a
    host's showed t + ahead + drift x (t - at). Lists have an entry for each host but rank 0's.
    """

    error: Annotated[
        NotNegative, meaning("bound of the error between stamps of any two ranks, by looks at the ends", S)
    ]
    age: Annotated[NotNegative, meaning("longest time between two looks at the clocks during the case", S)]
    at: Annotated[float, meaning("moment on rank 0's clock from which the others are told", S)]
    leaders: Annotated[list[Ordinal], meaning("rank that exchanged time stamps for its host")]
    ahead: Annotated[list[float], meaning("by how much the host's clock was ahead then", S)]
    drift: Annotated[list[float], meaning("its rate minus 1")]
    bound: Annotated[list[NotNegative], meaning("bound of its own error", S)]
    looks: Annotated[Ordinal, meaning("looks at a clock that the model was fitted to, the fewest of any host")]
    note: Annotated[str, meaning("what clocks did that no model foresaw; empty where nothing")] = ""

    def __post_init__(self) -> None:
        """Check what must hold between fields, also after decoding."""
        if not len(self.leaders) == len(self.ahead) == len(self.drift) == len(self.bound):
            raise ValueError("leaders, ahead, drift and bound must be of equal length, one entry a host")


class Imported(_Stored, frozen=True, kw_only=True):
    """A figure of another tool's log, in place of a summary of repetitions."""

    tool: Annotated[str, meaning("tool that measured")]
    version: Annotated[str, meaning("its version, or that of the library that it prints; empty where it tells none")]
    file: Annotated[str, meaning("log that the figure stands in")]
    line: Annotated[Ordinal, meaning("its line")]
    group: Annotated[Ordinal, meaning("which run inside the log")]
    printed: Annotated[dict[str, str], meaning("figures as they stand there, by column")]
    seconds: Annotated[NotNegative, meaning("T, worked out of them", S)]
    statistic: Annotated[str, meaning("what was done to many times to get one, over iterations and over ranks")]
    ranks_from: Annotated[str, meaning("what told the number of ranks: text, factor (of bandwidths), option")]
    settings: Annotated[str, meaning("what else the log tells of the run; empty where nothing")] = ""
    repetitions: Annotated[Ordinal | None, meaning("iterations behind the figure; absent where it is not told")] = None
    percentiles: Annotated[dict[str, NotNegative], meaning("other statistics of T, by name", S)] = {}

    @property
    def origin(self) -> str:
        """Tool and statistic: figures of another origin are not like these."""
        return f"{self.tool}: {self.statistic}"


class SampleReference(_Stored, frozen=True, kw_only=True):
    """Where the raw time stamps lie: int64 ns on rank 0's clock, shape (2 or 4, ranks, repetitions), C order."""

    file: Annotated[FileName, meaning("file in the run's folder")]
    offset: Annotated[Count, meaning("first byte", B)]
    shape: Annotated[
        tuple[Ordinal, Ordinal, Ordinal],
        meaning("layers (enter, exit; if asynchronous also queued and the device's interval), ranks, repetitions"),
    ]
    crc32: Annotated[Count, meaning("checksum of the bytes")]


class Record(_Stored, frozen=True, kw_only=True):
    """One case in one launch."""

    schema_version: Annotated[Ordinal, meaning("version of this table")]
    launch: Annotated[Ordinal, meaning("id of the launch")]
    case: Annotated[Case, meaning("what was measured")]
    status: Annotated[Status, meaning("how the measurement ended")]
    simulated: Annotated[bool, meaning("figures come from a simulation and decide no claim")]
    started: Annotated[str, meaning("UTC time of the start")]
    wall: Annotated[NotNegative, meaning("seconds spent on the case, checks included", S)]
    clock: Annotated[Clock, meaning("which clocks the stamps come from")]
    check: Annotated[Check, meaning("correctness")]
    evidence: Annotated[Evidence, meaning("link used")]
    timing: Annotated[Timing | None, meaning("summary of T; absent where wrong or failed")] = None
    ranks: Annotated[Ranks | None, meaning("differences between ranks")] = None
    first_call: Annotated[
        NotNegative | None, meaning("duration of the first call, connection set-up included, on the slowest rank", S)
    ] = None
    warmup_calls: Annotated[Count, meaning("calls before the first timed repetition")] = 0
    enqueue: Annotated[
        NotNegative | None, meaning("median time to enqueue on the slowest rank, asynchronous backends", S)
    ] = None
    device: Annotated[NotNegative | None, meaning("median of the longest device interval", S)] = None
    slots: Annotated[Ordinal, meaning("pairs of buffers that calls went through in turn")] = 1
    overlap: Annotated[
        Share | None, meaning("share of a non-blocking call's time that as long a computation hides")
    ] = None
    busy_threads: Annotated[
        Count | None, meaning("threads that ran during the case, over the ranks of the busiest host")
    ] = None
    cores: Annotated[Ordinal | None, meaning("cores they may run on")] = None
    sentinel: Annotated[Sentinel | None, meaning("a repeat of the sentinel case, kept apart")] = None
    error: Annotated[str, meaning("why it failed")] = ""
    clock_model: Annotated[
        ClockModel | None, meaning("model of the clocks of other hosts; absent where all ranks read one clock")
    ] = None
    samples: Annotated[SampleReference | None, meaning("raw time stamps, while the run's share lasts")] = None
    imported: Annotated[Imported | None, meaning("another tool's figure, where that is what this is")] = None

    @property
    def seconds(self) -> float | None:
        """T in s: the median over repetitions, or what another tool's log says; None where there is none."""
        return self.imported.seconds if self.imported else self.timing.median if self.timing else None

    @property
    def marker(self) -> Marker | None:
        """What is said wherever its figures stand; None where they are a measurement of ours."""
        return marker_of(self)

    @property
    def oversubscribed(self) -> bool:
        """Whether more threads ran than there are cores: the figure is then a scheduler test."""
        return self.busy_threads is not None and self.cores is not None and self.busy_threads > self.cores


class Host(_Stored, frozen=True, kw_only=True):
    """One host of a launch."""

    name: Annotated[str, meaning("host name")]
    ranks: Annotated[list[Count], meaning("its ranks")]
    cores: Annotated[Ordinal, meaning("cores that a rank may run on")]
    cpu: Annotated[str, meaning("processor model")]
    system: Annotated[str, meaning("operating system and kernel")]
    memory: Annotated[Count | None, meaning("physical memory", B)] = None
    cache: Annotated[Count | None, meaning("largest cache that a core reaches", B)] = None
    governor: Annotated[str, meaning("CPU frequency governor")] = ""
    noise: Annotated[HostNoise | None, meaning("how it disturbed its ranks; absent in simulations")] = None


class Timer(_Stored, frozen=True, kw_only=True):
    """The clock of rank 0, measured at the start of a launch."""

    name: Annotated[str, meaning("clock read")]
    tick: Annotated[NotNegative, meaning("smallest step seen", S)]
    cost: Annotated[NotNegative, meaning("median of two reads with nothing between", S)]
    cost_p99: Annotated[NotNegative, meaning("99 % quantile of that", S)]
    call_overhead: Annotated[NotNegative, meaning("median time of an empty call between the reads", S)]
    loop: Annotated[str, meaning("timing loop that ran")]


class Outcome(StrEnum):
    """How a launch ended."""

    COMPLETE = "complete"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    LOST = "lost"


class Launch(_Stored, frozen=True, kw_only=True):
    """Fresh processes and fresh communicators: the unit of replication."""

    id: Annotated[Ordinal, meaning("1, 2, ... in the order of starting")]
    backend: Annotated[str, meaning("software that moves the bytes")]
    placement: Annotated[str, meaning("nodes x ranks per node")]
    started: Annotated[str, meaning("UTC time of the start")]
    launcher: Annotated[str, meaning("who started the ranks: collmark, torchrun, mpiexec, srun, none")]
    hosts: Annotated[list[Host], meaning("hosts")]
    libraries: Annotated[dict[str, str], meaning("library versions and settings")]
    environment: Annotated[dict[str, str], meaning("allow-listed variables of rank 0")]
    timer: Annotated[Timer, meaning("calibration of the clock")]
    scheduling: Annotated[str, meaning("scheduling class that the ranks run at")]
    start_seconds: Annotated[NotNegative, meaning("time from the launcher's start to the first case", S)]
    start_up: Annotated[StartUp | None, meaning("what of it each rank took by itself; absent in simulations")] = None
    messages: Annotated[
        Count | None, meaning("that rank 0 sent and received over the control channel, looks at clocks not counted")
    ] = None
    allocation: Annotated[str, meaning("job whose nodes the launch shares with others")] = ""
    outcome: Annotated[
        Outcome | None, meaning("how it ended; absent while it runs or where nobody was left to say")
    ] = None
    reason: Annotated[str, meaning("why it did not complete")] = ""
    doctor: Annotated[
        Diagnosis | None, meaning("what was checked before anything was timed; absent in simulations")
    ] = None
    restarts: Annotated[list[str], meaning("how earlier processes of this launch ended, whose records are kept")] = []


class Run(_Stored, frozen=True, kw_only=True):
    """One plan carried out: the run.json of its folder."""

    schema_version: Annotated[Ordinal, meaning("version of this table")]
    label: Annotated[str, meaning("name given by the user")]
    created: Annotated[str, meaning("UTC time")]
    version: Annotated[str, meaning("version of collmark")]
    command: Annotated[list[str], meaning("command line")]
    plan: Annotated[Plan, meaning("what was asked for")]
    cases: Annotated[list[Case], meaning("the plan's cases, in its order")]
    notices: Annotated[list[str], meaning("what was left out or rounded, and other warnings")]
    launches: Annotated[list[Launch], meaning("launches so far")] = []
