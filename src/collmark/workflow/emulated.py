"""A plan carried out over emulated networks, each a run of its own, with the rates of raw TCP beside."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.analysis.ratio import ratio
from collmark.bench import scheduling
from collmark.bench.backends.mpi_library import MPICH, VARIABLES, candidates, choose, probe
from collmark.bench.emulated.hosts import Hosts
from collmark.bench.emulated.link import Link, Network
from collmark.bench.emulated.ranks import run_gloo, run_mpich
from collmark.bench.emulated.raw_tcp import measure_raw
from collmark.core.errors import UnavailableError
from collmark.core.estimate import Estimate
from collmark.core.sweep import parse_sweep
from collmark.core.units import KIB, Seconds
from collmark.workflow.claims import Judgement, Wanted, judge_claims
from collmark.workflow.fit import fit_runs, load_runs

MEGABIT = 1e6 / 8  # B/s
FAST, SLOW = "fast", "slow"
GAP = 18
"""How often the demonstration's slow network goes into its fast one: the ratio of the claim that it judges."""
SLOW_RATE = 20 * MEGABIT
OPERATION = "stream"
MESSAGES = 4
LONG = 50
"""Buckets to a call: its head start is then at most 2 %, and that of the largest size 0.5 %."""
RAW_FILE = "raw-tcp.json"
RAW_SECONDS: Seconds = 1.0
PATIENCE: Seconds = 300.0
"""After which a launch is given up."""


class TierRatio(msgspec.Struct, frozen=True, kw_only=True):
    """How far apart two emulated networks are, A over B.

    Attributes
    ----------
    raw : float
        By raw TCP.
    fitted : Estimate or None
        By the asymptotes of the fits, over launches; None where fewer than two of a network could be fitted.
    asymptotes : tuple of (tuple of float)
        Of A and B, in each launch, B/s.
    """

    raw: float
    fitted: Estimate | None
    asymptotes: tuple[tuple[float, ...], tuple[float, ...]]


def two_networks(gap: float = GAP) -> tuple[Network, Network]:
    """Return a slow network and one that is `gap` times as fast, the fast one first."""
    return (
        Network(name=FAST, link=Link(rate=gap * SLOW_RATE)),
        Network(name=SLOW, link=Link(rate=SLOW_RATE)),
    )


def streams_plan(backend: str, link: Link) -> dict[str, Any]:
    """Return the fields of a plan of streams that are long beside the head start which a full bucket gives each call.

    Three sizes, from that on whose call is `LONG` buckets.
    """
    least = KIB * math.ceil(LONG * link.burst / MESSAGES / KIB)
    return {
        "operations": [OPERATION],
        "sizes": f"{least}:{4 * least}:x2",
        "messages": MESSAGES,
        "backends": [backend],
        "case_budget": "0.7 s",
        "scheduling": scheduling_class(backend),
    }


def scheduling_class(backend: str) -> str:
    """Return the class that ranks of a backend run at: FIFO where that keeps other work out, and leaves it something.

    The processors idle, so that whoever comes first takes little. Ranks of MPI poll, and would take everything.
    """
    return "fifo" if backend == "gloo" and not scheduling.refusal() else "other"


def measure_over(
    hosts: Hosts,
    plans: Mapping[str, Mapping[str, Any]],
    folders: Mapping[str, Path],
    *,
    launches: int,
    told: Callable[[str], None] = lambda _words: None,
) -> None:
    """Measure over each network, launch by launch in turn.

    Parameters
    ----------
    hosts : Hosts
        One rank runs on each.
    plans : mapping of str to mapping
        By network the fields of a plan file, placements apart; of one backend, gloo, or mpi with MPICH.
    folders : mapping of str to Path
        By network its run, to be made.
    launches : int
        Over each.
    told : callable
        Hears what comes next.

    Raises
    ------
    MeasurementError, UnavailableError
        If a launch fails, or there is no MPICH.
    """
    is_mpi = any(plan["backends"] == ["mpi"] for plan in plans.values())
    library, mpiexec = _mpich() if is_mpi else ("", "")
    with tempfile.TemporaryDirectory(prefix="collmark-emulated-") as name:
        for launch in range(1, launches + 1):
            for network, fields in plans.items():
                told(f"launch {launch} of {launches} over {network}")
                plan, log = Path(name, f"{network}.toml"), Path(name, f"{network}-{launch}.log")
                plan.write_text(_plan_text(fields, hosts.count, network, library), encoding="utf-8")
                folder = str(folders[network].absolute())
                words = [sys.executable, "-P", "-m", "collmark", "run", str(plan), "--into", folder]
                if mpiexec:
                    run_mpich(hosts, network, mpiexec, words, log, PATIENCE)
                else:
                    run_gloo(hosts, network, words, log, PATIENCE)


def keep_raw(hosts: Hosts, network: str, sizes: Sequence[int], folder: Path) -> None:
    """Measure raw TCP's rates over a network at some message sizes, and keep them beside its run."""
    rates = measure_raw(hosts, network, sizes, RAW_SECONDS)
    text = json.dumps({"EMULATED": True, "bytes_per_second": rates})
    (folder / RAW_FILE).write_text(f"{text}\n", encoding="utf-8")


def _mpich() -> tuple[str, str]:
    """Return the library and the launcher of the MPICH that there is."""
    is_asked = any(os.environ.get(name) for name in VARIABLES)
    known = () if is_asked else candidates(os.environ)
    library = choose(next((name for name, path in known if probe(path).family == MPICH), ""), os.environ)
    if library.family != MPICH or not library.mpiexec:
        raise UnavailableError(f"MPI over emulated links needs MPICH with its mpiexec, and this is {library}")
    return library.path, library.mpiexec


def _plan_text(fields: Mapping[str, Any], hosts: int, label: str, library: str) -> str:
    """Return a plan file; JSON's texts, numbers and lists are TOML's too."""
    known = {**fields, **({"mpi_library": library} if library else {})}
    lines = [f"{name} = {json.dumps(value)}" for name, value in known.items()]
    return "\n".join([*lines, "[[placements]]", f"nodes = {hosts}", f"label = {json.dumps(label)}", ""])


def sizes_of(plan: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the message sizes of a plan, in B."""
    return tuple(parse_sweep(plan["sizes"]))


def raw_rate(folder: Path) -> float:
    """Return the rate of raw TCP in B/s at its largest messages, as it stands beside a run."""
    rates = json.loads((folder / RAW_FILE).read_text(encoding="utf-8"))["bytes_per_second"]
    return float(rates[max(rates, key=int)])


def ratio_of(fast: Path, slow: Path) -> TierRatio:
    """Return how far apart two networks are, by raw TCP and by the fits of their runs."""
    over, under = _asymptotes(fast), _asymptotes(slow)
    return TierRatio(raw=raw_rate(fast) / raw_rate(slow), fitted=ratio(over, under), asymptotes=(over, under))


def _asymptotes(folder: Path) -> tuple[float, ...]:
    """Return 1/beta of the launches that could be fitted."""
    fits, _skews = fit_runs(load_runs([str(folder)]))
    first = next(iter(fits.fits), None)
    return first.asymptote.per_launch if first is not None and first.asymptote is not None else ()


def verdicts(fast: Path, slow: Path, claims: Sequence[str]) -> Judgement:
    """Return the verdicts on some claims, their tiers taken to be the two networks; the emulated ones are marked."""
    words = [*claims, str(fast), str(slow)]
    return judge_claims(Wanted(words=words, tier_a=f"tcp@{FAST}", tier_b=f"tcp@{SLOW}"))
