"""The command that would decide a claim which no record decides yet."""

from __future__ import annotations

import shlex

import msgspec

from collmark.analysis.claims.measured.selector import WITHIN_NODE, Selector
from collmark.core.placement import Tier

LAUNCHES = 5
"""Launches under a launcher; by itself collmark makes as many."""
FROM_SMALLEST = "8B:1GiB:x2"
_BACKENDS = {
    Tier.SHARED_MEMORY: "gloo",
    Tier.LOOPBACK: "gloo",
    Tier.TCP: "gloo",
    Tier.SIMULATED: "simulated",
}
_DEFAULT_BACKEND = "nccl"
PAIRS = ("0-1", "0-2", "1-2")
"""Pairs to begin with; every pair of a domain is named so."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be measured on each tier of a claim.

    Attributes
    ----------
    operations : tuple of str
        Names.
    ranks : int
        Number of ranks.
    sizes : str
        Sweep.
    pairs : bool
        One run for each pair of members, labelled with it.
    """

    operations: tuple[str, ...]
    ranks: int = 2
    sizes: str = FROM_SMALLEST
    pairs: bool = False


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A line for a shell that measures something, and the runs it leaves.

    Attributes
    ----------
    line : str
        For bash.
    runs : tuple of str
        How ``collmark claims`` finds them.
    """

    line: str
    runs: tuple[str, ...]


def command(need: Need, tier: Selector, name: str) -> Command:
    """Return the line that measures what is needed on a tier.

    On one node collmark starts the ranks itself; across nodes Slurm starts one rank a node, a launch each time.

    Parameters
    ----------
    need, tier
        What, and where.
    name : str
        Tells runs of one tier apart: a folder takes launches of one plan only. A label of the tier is the whole name,
        since it is what the records are found by.
    """
    link = tier.links[0][0]
    words = [
        f"collmark run --backend {_BACKENDS.get(link, _DEFAULT_BACKEND)}",
        f"--operation {','.join(need.operations)} --sizes {need.sizes}",
    ]
    if need.pairs:
        run = " ".join([*words, "--ranks 2 --label $pair"])
        loop = f"for pair in {' '.join(PAIRS)}; do CUDA_VISIBLE_DEVICES=${{pair/-/,}} {run}; done"
        return Command(line=loop, runs=PAIRS)
    place = tier.label or "-".join(filter(None, (tier.text.rpartition(":")[2], name)))
    if link in WITHIN_NODE or link is Tier.SIMULATED:
        line = " ".join([*words, f"--ranks {need.ranks} --label {shlex.quote(place)}"])
        return Command(line=line, runs=(shlex.quote(place),))
    folder = shlex.quote(f"results/{place}")
    rounds = " ".join(str(number) for number in range(1, LAUNCHES + 1))
    start = " ".join([f"srun --nodes={need.ranks} --ntasks-per-node=1", *words, f"--into {folder}"])
    return Command(line=f"for launch in {rounds}; do {start}; done", runs=(folder,))
