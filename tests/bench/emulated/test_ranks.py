"""Programs on emulated hosts: told who they are, ended together, and faults told in one line."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from collmark.bench.emulated.hosts import Hosts
from collmark.bench.emulated.ranks import run_gloo
from collmark.core.errors import MeasurementError

pytestmark = pytest.mark.root


def script(text: str) -> list[str]:
    return ["sh", "-c", text]


def test_every_rank_is_told_who_it_is(hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "7")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth9")
    monkeypatch.chdir(tmp_path)
    text = 'echo "$(hostname) $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR [$SLURM_PROCID$GLOO_SOCKET_IFNAME]" >of-$RANK'
    run_gloo(hosts, "slow", script(text), tmp_path / "log", 20)
    said = [(tmp_path / f"of-{rank}").read_text(encoding="utf-8").strip() for rank in range(2)]
    assert said == [f"emulated{rank} 2 1 {hosts.address('slow', 0)} []" for rank in range(2)]


def test_a_rank_that_fails_ends_the_others_and_is_named(hosts: Hosts, tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(MeasurementError, match=r"program 1 on emulated hosts ended with 3: no luck$"):
        run_gloo(
            hosts, "fast", script('test $RANK = 0 && exec sleep 1000; echo "no luck"; exit 3'), tmp_path / "log", 60
        )
    assert time.monotonic() - began < 50


def test_a_launch_that_does_not_end_is_given_up_with_all_that_it_started(hosts: Hosts, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    text = f"while :; do touch {shlex.quote(str(lives))}; sleep 0.05; done & wait"
    with pytest.raises(MeasurementError, match="were not over after 1 s"):
        run_gloo(hosts, "fast", script(text), tmp_path / "log", 1)
    lives.unlink()
    time.sleep(0.3)
    assert not lives.exists()
