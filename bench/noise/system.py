"""What Linux tells of disturbances: steal, frequency, context switches, quotas. Other systems tell none of it.

Every function returns None, or nothing, where the system does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from collmark.core.units import NBytes, Seconds

STAT = Path("/proc/stat")
CPUS = Path("/sys/devices/system/cpu")
CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
GROUPS = Path("/proc/self/cgroup")
GROUP_ROOT = Path("/sys/fs/cgroup")
STEAL = 7  # user, nice, system, idle, iowait, irq, softirq, steal; guests' time is part of user and nice
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class CpuTimes:
    """Time that a core, or the whole host, spent since the machine started.

    Parameters
    ----------
    core : int or None
        The core; the whole host for None.
    """

    def __init__(self, core: int | None = None) -> None:
        name = "cpu" if core is None else f"cpu{core}"
        found = re.search(rf"^{name} +(.*)$", _text(STAT), re.MULTILINE)
        self._ticks = [int(number) for number in found[1].split()] if found else []

    def steal_since(self, before: CpuTimes) -> float | None:
        """Return the share of the time since then that a hypervisor took; None also where no tick has passed."""
        if min(len(self._ticks), len(before._ticks)) <= STEAL:
            return None
        passed = [now - then for now, then in zip(self._ticks[: STEAL + 1], before._ticks, strict=False)]
        return min(1.0, max(0, passed[STEAL]) / sum(passed)) if sum(passed) > 0 else None


def switches() -> int | None:
    """Return the context switches of all cores since the machine started."""
    found = re.search(r"^ctxt (\d+)$", _text(STAT), re.MULTILINE)
    return int(found[1]) if found else None


def frequency(core: int | None) -> float | None:
    """Return the frequency of a core in Hz."""
    text = "" if core is None else _text(CPUS / f"cpu{core}/cpufreq/scaling_cur_freq").strip()
    return int(text) * 1000.0 if text.isdecimal() else None


def clock_source() -> str:
    """Return what the kernel's clock is made of; empty where the system does not tell."""
    return _text(CLOCK_SOURCE).strip()


def throttled() -> Seconds | None:
    """Return for how long quotas have stopped this process's control group, and those around it."""
    found = [
        int(number) * (1e-9 if name == "time" else 1e-6)
        for folder in _control_groups("cpu")
        for name, number in re.findall(r"^throttled_(time|usec) (\d+)$", _text(folder / "cpu.stat"), re.MULTILINE)
    ]
    return sum(found) if found else None


def quota() -> float | None:
    """Return how many cores' worth of time the control groups allow."""
    found = []
    for folder in _control_groups("cpu"):
        period = _text(folder / "cpu.cfs_period_us")
        words = (_text(folder / "cpu.max") or f"{_text(folder / 'cpu.cfs_quota_us')} {period}").split()
        if len(words) == 2 and words[0].isdecimal():
            found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)


def memory_left() -> NBytes | None:
    """Return the bytes that the control groups still allow."""
    found = []
    for folder in _control_groups("memory"):
        for most, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            texts = [_text(folder / name).strip() for name in (most, used)]
            if all(text.isdecimal() for text in texts):  # without a limit it is a word, or more than any memory
                found.append(max(0, int(texts[0]) - int(texts[1])))
    return min(found, default=None)


def _control_groups(controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups that this process is in, of version 2 and of 1, innermost first."""
    for line in _text(GROUPS).splitlines():
        _number, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            inner = PurePosixPath(path)
            for place in (inner, *inner.parents):
                yield GROUP_ROOT / (controller if controllers else "") / str(place).lstrip("/")


def caches() -> tuple[NBytes | None, NBytes | None]:
    """Return the size of one core's L2 cache, and of all last-level caches together, in B."""
    sizes: dict[int, dict[str, NBytes]] = {}  # level to cores that share one to its size
    for folder in CPUS.glob("cpu[0-9]*/cache/index[0-9]*"):
        size = re.fullmatch(r"(\d+)([KMG]?)", _text(folder / "size").strip())
        level = _text(folder / "level").strip()
        if size and level.isdecimal() and _text(folder / "type").strip() != "Instruction":
            shared = _text(folder / "shared_cpu_list").strip() or str(folder)
            sizes.setdefault(int(level), {})[shared] = int(size[1]) * _UNITS[size[2]]
    if not sizes:
        return None, None
    return min(sizes.get(2, {}).values(), default=None), sum(sizes[max(sizes)].values())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
