"""``collmark pairs``: from a sweep over its repeats to a name, with plans for launchers in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SIMULATED = (
    "pairs",
    "--backend",
    "simulated",
    "--ranks",
    "8",
    "--sizes",
    "4KiB",
    "--case-budget",
    "20ms",
    "--simulate",
    "within_cv=0.02",
)
SLOW_RANK = ("--simulate", "slow_rank=3", "--simulate", "slow_factor=1.2")


def test_a_slow_rank_is_named_with_its_excess(cli: Callable[..., Any]) -> None:
    result = cli(*SIMULATED, *SLOW_RANK)
    assert result.status == 0
    head, *words = result.out.splitlines()
    assert head.startswith("SIMULATED, not measured: simulated stream 4 KiB: all 28 pairs of 1 node x 8 ranks, which")
    said = " ".join(" ".join(words).split())
    assert " rank 3 (simulated) takes " in said
    assert "% longer than usual inside its node (again in 5 of 5 launches, p < 1e-06; 95 % over 5 launches)" in said
    (again,) = json.loads(cli("pairs", "pairs", "pairs-again", "--json").out)["pairs"]
    (finding,) = again["findings"]
    assert (finding["kind"], finding["ranks"], finding["launches"]) == ("rank", [3], 5)
    assert finding["lower"] < finding["factor"] < finding["upper"]
    assert finding["factor"] == pytest.approx(1.2, abs=0.05)


def test_a_slow_pair_is_named_and_its_ranks_are_not(cli: Callable[..., Any]) -> None:
    result = cli(*SIMULATED, "--simulate", "slow_rank=3", "--simulate", "slow_other=6", "--simulate", "slow_factor=1.3")
    assert "  pair 3-6 (simulated) takes " in result.out
    assert "  rank " not in result.out


def test_nobody_is_named_where_nothing_is_slow(cli: Callable[..., Any]) -> None:
    result = cli(*SIMULATED)
    assert result.status == 0
    assert "nothing is named (" in result.out
    assert "nine times in ten a pair would be suspected from " in " ".join(result.out.split())


def test_a_sweep_alone_names_nobody_and_says_what_comes_next(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *SLOW_RANK)
    result = cli("pairs", "pairs")
    assert "not measured again yet: nobody is named" in result.out
    assert result.err.splitlines()[-1] == "next: collmark pairs pairs --write-plan again.json"
    assert cli("pairs", "pairs", "--write-plan", "again.json").status == 0
    plan = json.loads(Path("again.json").read_text(encoding="utf-8"))
    assert plan["launches"] == 5
    assert any("3-" in name or "-3" in name for name in plan["groups"])
    whole = [name for name in plan["groups"] if "-" not in name]
    assert len(whole) == 4, "two rounds that nobody suspects, there and back, by their numbers"
    assert cli("plan", "again.json").status == 0


def test_a_plan_for_many_nodes_has_few_rounds(cli: Callable[..., Any]) -> None:
    words = ("pairs", "--backend", "gloo", "--placement")
    assert cli(*words, "4x2", "--write-plan", "sweep.json").status == 0
    plan = json.loads(Path("sweep.json").read_text(encoding="utf-8"))
    assert plan["groups"][:4] == ["pairs:0", "pairs:0:back", "pairs:1", "pairs:1:back"]
    assert len(plan["groups"]) == 2 * 7
    assert plan["placements"] == [{"nodes": 4, "ranks_per_node": 2}]
    large = json.loads(cli(*words, "512x8", "--write-plan", "-").out)
    assert len(large["groups"]) == 2 * (7 + 48)  # 4 for each of 12 doublings
    assert cli(*words, "4x2", "--write-plan", "sweep.json").status == 2
    assert cli(*words, "4x2", "--write-plan", "sweep.json", "--force").status == 0


@pytest.mark.parametrize(("words", "said"), [
    (("pairs", "--backend", "simulated", "--ranks", "2"), "2 ranks make one pair"),
    (("pairs", "--backend", "simulated", "--ranks", "4", "--operation", "all_reduce"), "for operations between two"),
    (("pairs", "--placement", "4"), "--placement belongs to --write-plan"),
    (("pairs", "--placement", "4x", "--write-plan", "-"), "nodes and the ranks on each, as 16x8"),
    (("pairs", "--write-plan", "-"), "nodes and the ranks on each, as 16x8"),
    (("pairs", "--launches", "0"), "--launches 0: at least 1"),
    (("pairs", "--effect", "x"), "--effect x"),
    (("pairs", "latest", "--backend", "gloo"), "leave away --backend"),
    (("pairs", "latest"), "there is none under results"),
])  # fmt: skip
def test_wrong_use_is_one_line(cli: Callable[..., Any], words: tuple[str, ...], said: str) -> None:
    result = cli(*words)
    assert result.status == 2
    assert said in " ".join(result.err.split())
    assert result.err.startswith("error: ")


def test_a_run_without_pairs_is_named(cli: Callable[..., Any]) -> None:
    cli("run", "--backend", "simulated", "--ranks", "2", "--operation", "all_reduce", "--sizes", "1KiB",
        "--launches", "1", "--label", "plain")  # fmt: skip
    result = cli("pairs", "plain")
    assert result.status == 2
    assert "no rounds of pairs were measured; collmark pairs measures them" in result.err
