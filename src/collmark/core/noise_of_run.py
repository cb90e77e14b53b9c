"""What the short watch at the start of every launch says of a run: a sentence for each thing that is bad."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.core import noise_limits as limits
from collmark.core.host_noise import HostNoise
from collmark.core.noise_judgement import UNTHROTTLED, percent, quantile_hit, remedy, share_hit
from collmark.core.record import Host, Launch, Run
from collmark.core.units import GIGA, format_duration, format_microseconds

FIFO = "fifo"


def noise_sentences(run: Run) -> list[str]:
    """Return one sentence for each way in which a host disturbed its ranks just before the cases.

    All launches are taken together. What was seen in fractions of a second is told as such: it has no interval, and
    what does not show was not ruled out.
    """
    hosts: dict[str, list[tuple[Launch, Host, HostNoise]]] = {}
    for launch in run.launches:
        for host in launch.hosts:
            if host.noise is not None:
                hosts.setdefault(host.name, []).append((launch, host, host.noise))
    return [
        *(sentence for told in hosts.values() for rule in _RULES for sentence in rule(told)),
        *_slow_clock(run.launches),
    ]


_Told = list[tuple[Launch, Host, HostNoise]]


def _gaps(told: _Told) -> Iterator[str]:
    noises = [noise for _launch, _host, noise in told]
    watched, lost = (sum(sum(getattr(noise, name)) for noise in noises) for name in ("watched", "lost"))
    largest = max(max(noise.largest, default=0.0) for noise in noises)
    # Without the largest, since one slice of a scheduler is 1 % of so short a watch already.
    if not watched or (lost - largest) / watched < limits.LOST.value:
        return
    launch, host, _noise = told[0]
    preempted = [sum(noise.preempted) for noise in noises if noise.preempted is not None]
    long_gaps = sum(sum(noise.long) for noise in noises)
    struck = share_hit([(long_gaps / watched, lost / watched)] * len(host.ranks))
    theirs = f": {quantile_hit(struck)} of small operations may be the machine's" if long_gaps else ""
    mend = remedy(
        preempted=sum(preempted) if preempted else None,
        long_gaps=long_gaps,
        stolen=_steal(noises) >= limits.STEAL.value,
        throttled=any(noise.throttled for noise in noises),
        fifo="--scheduling fifo is in use" if launch.scheduling == FIFO else "",
    )
    yield (
        f"{host.name} took {percent(lost / watched)} of its ranks' time just before the cases (gaps up to "
        f"{format_duration(largest)}, {format_duration(watched)} watched){theirs}; to mend: {mend}"
    )


def _steal(noises: list[HostNoise]) -> float:
    shares = [noise.steal for noise in noises if noise.steal is not None]
    return sum(shares) / len(shares) if shares else 0.0


def _stolen(told: _Told) -> Iterator[str]:
    share = _steal([noise for _launch, _host, noise in told])
    if share >= limits.STEAL.value:
        name = told[0][1].name
        yield f"a hypervisor took {percent(share)} of {name}'s time just before the cases: ask for cores of your own"


def _throttled(told: _Told) -> Iterator[str]:
    seconds = sum(noise.throttled or 0.0 for _launch, _host, noise in told)
    if seconds > 0:
        yield (
            f"a CPU quota stopped the ranks on {told[0][1].name} for {format_duration(seconds)} just before the cases: "
            f"{UNTHROTTLED}"
        )


def _frequency(told: _Told) -> Iterator[str]:
    hertz = [value for _launch, _host, noise in told for value in noise.frequency or ()]
    if hertz and min(hertz) < limits.FREQUENCY_RATIO.value * max(hertz):
        yield (
            f"cores of {told[0][1].name} ran at {min(hertz) / GIGA:.3g} to {max(hertz) / GIGA:.3g} GHz just before the "
            "cases: ranks and launches differ by that; cpupower frequency-set -g performance may steady them"
        )


_RULES = (_gaps, _stolen, _throttled, _frequency)


def _slow_clock(launches: list[Launch]) -> Iterator[str]:
    for launch in launches:
        limit = limits.READ if launch.timer.loop == "native" else limits.PYTHON_READ
        if launch.timer.cost > limit.value:
            least = limits.TIMED.value * launch.timer.cost
            yield (
                f"a read of the clock costs {format_microseconds(launch.timer.cost)} us: times below "
                f"{format_microseconds(least)} us are mostly reads; choose a clock source that is read in user space"
            )
            return
