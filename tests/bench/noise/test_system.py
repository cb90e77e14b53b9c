"""What a system tells, planted; what it does not tell is None and never a zero."""

from __future__ import annotations

from pathlib import Path

import pytest

from collmark.bench.noise import system
from collmark.bench.noise.system import CpuTimes

STAT = "cpu  {user} 0 0 600 0 0 0 {steal} 50 0\ncpu0 {user} 0 0 600 0 0 0 {steal} 0 0\nintr 5\nctxt {switches}\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in which everything lies that a system tells."""
    for name in ("STAT", "CPUS", "CLOCK_SOURCE", "GROUPS", "GROUP_ROOT"):
        monkeypatch.setattr(system, name, tmp_path / name)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_nothing_is_told(files: Path) -> None:
    del files
    assert CpuTimes().steal_since(CpuTimes()) is None
    assert (system.switches(), system.frequency(0), system.frequency(None)) == (None, None, None)
    assert (system.throttled(), system.quota(), system.memory_left()) == (None, None, None)
    assert (system.clock_source(), system.caches()) == ("", (None, None))


@pytest.mark.parametrize("core", [None, 0])
def test_steal_is_a_share_of_what_has_passed(files: Path, core: int | None) -> None:
    write(files / "STAT", STAT.format(user=100, steal=10, switches=1000))
    before, switched = CpuTimes(core), system.switches()
    write(files / "STAT", STAT.format(user=160, steal=30, switches=1500))
    # Guests' time (50) is part of user's; 60 + 20 ticks have passed.
    assert CpuTimes(core).steal_since(before) == pytest.approx(20 / 80)
    assert (switched, system.switches()) == (1000, 1500)
    assert CpuTimes(core).steal_since(CpuTimes(core)) is None  # no tick has passed
    assert CpuTimes(1).steal_since(CpuTimes(1)) is None


def test_a_kernel_without_steal_does_not_tell_it(files: Path) -> None:
    write(files / "STAT", "cpu  1 2 3 4\n")
    before = CpuTimes()
    write(files / "STAT", "cpu  2 3 4 5\n")
    assert CpuTimes().steal_since(before) is None


def test_frequency_in_hertz(files: Path) -> None:
    write(files / "CPUS" / "cpu3" / "cpufreq" / "scaling_cur_freq", "2400000\n")
    assert system.frequency(3) == 2.4e9
    write(files / "CPUS" / "cpu4" / "cpufreq" / "scaling_cur_freq", "<unsupported>\n")
    assert system.frequency(4) is None


def test_quotas_of_version_2_and_those_around_them(files: Path) -> None:
    write(files / "GROUPS", "0::/outer/inner\n")
    write(files / "GROUP_ROOT" / "outer/inner" / "cpu.max", "300000 100000\n")
    write(files / "GROUP_ROOT" / "outer/inner" / "cpu.stat", "usage_usec 7\nnr_throttled 1\nthrottled_usec 500000\n")
    write(files / "GROUP_ROOT" / "outer" / "cpu.max", "150000 100000\n")
    write(files / "GROUP_ROOT" / "outer" / "cpu.stat", "throttled_usec 250000\n")
    assert system.quota() == 1.5
    assert system.throttled() == pytest.approx(0.75)
    write(files / "GROUP_ROOT" / "outer" / "cpu.max", "max 100000\n")
    assert system.quota() == 3.0


def test_quotas_of_version_1(files: Path) -> None:
    write(files / "GROUPS", "4:memory:/box\n3:cpuset:/other\n2:cpu,cpuacct:/box\n1:name=systemd:/\n")
    box = files / "GROUP_ROOT" / "cpu" / "box"
    write(box / "cpu.cfs_quota_us", "50000\n")
    write(box / "cpu.cfs_period_us", "100000\n")
    write(box / "cpu.stat", "nr_periods 9\nthrottled_time 2000000000\n")
    write(files / "GROUP_ROOT" / "memory" / "box" / "memory.limit_in_bytes", "1000\n")
    write(files / "GROUP_ROOT" / "memory" / "box" / "memory.usage_in_bytes", "400\n")
    assert system.quota() == 0.5
    assert system.throttled() == pytest.approx(2.0)
    assert system.memory_left() == 600
    write(box / "cpu.cfs_quota_us", "-1\n")
    assert system.quota() is None


def test_caches_that_cores_share_count_once(files: Path) -> None:
    for core in range(4):
        for index, (level, kind, size, shared) in enumerate(
            [
                ("1", "Data", "32K", f"{core}"),
                ("2", "Unified", "1M", f"{core}"),
                ("3", "Unified", "16384K", "0-1" if core < 2 else "2-3"),
            ]
        ):
            folder = files / "CPUS" / f"cpu{core}" / "cache" / f"index{index}"
            for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
                write(folder / name, text + "\n")
    assert system.caches() == (1 << 20, 32 << 20)
