"""A plan carried out over emulated networks, each a run of its own, with the rates of raw TCP beside."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.analysis.ratio import ratio
from collmark.bench.backends.mpi_library import MPICH, choose
from collmark.bench.emulated.hosts import Hosts
from collmark.bench.emulated.link import Link, Network
from collmark.bench.emulated.ranks import run_gloo, run_mpich
from collmark.bench.emulated.raw_tcp import measure_raw
from collmark.core.errors import UnavailableError
from collmark.core.estimate import Estimate
from collmark.core.sweep import parse_sweep
from collmark.core.units import Seconds
from collmark.workflow.claims import Judgement, Wanted, judge_claims
from collmark.workflow.fit import fit_runs, load_runs

MEGABIT = 1e6 / 8  # B/s
FAST, SLOW = "fast", "slow"
GAP = 18
"""How often the demonstration's slow network goes into its fast one: the ratio of the claim that it judges."""
SLOW_RATE = 50 * MEGABIT
OPERATION = "stream"
RAW_FILE = "raw-tcp.json"
RAW_SECONDS: Seconds = 1.0
PATIENCE: Seconds = 300.0
"""After which a launch is given up."""


class Emulation(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured over every network of some emulated hosts.

    Attributes
    ----------
    backend : str
        gloo, or mpi with MPICH.
    launches : int
        Over each network, in turn.
    plan : dict
        Fields of a plan file, placements apart.
    raw : tuple of int
        Message sizes in B of raw TCP; none is measured where there are none.
    """

    backend: str
    launches: int
    plan: dict[str, Any]
    raw: tuple[int, ...] = ()


class TierRatio(msgspec.Struct, frozen=True, kw_only=True):
    """How far apart two emulated networks are, A over B.

    Attributes
    ----------
    raw : float
        By raw TCP.
    fitted : Estimate or None
        By the asymptotes of the fits, over launches; None for one launch.
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


def streams_plan(backend: str, operations: Sequence[str] = (OPERATION,)) -> dict[str, Any]:
    """Return the fields of a plan whose transfers are long beside the head start that a full bucket gives."""
    return {
        "operations": list(operations),
        "sizes": "64KiB:1MiB:x4",
        "messages": 4,
        "backends": [backend],
        "case_budget": "1 s",
    }


def measure_over(
    hosts: Hosts, emulation: Emulation, folders: Mapping[str, Path], told: Callable[[str], None] = lambda _words: None
) -> None:
    """Measure over each network, launch by launch in turn, and keep raw TCP's rates in the run's folder.

    Parameters
    ----------
    hosts : Hosts
        One rank runs on each.
    emulation : Emulation
        What to measure.
    folders : mapping of str to Path
        The run of each network, to be made.
    told : callable
        Hears what comes next.

    Raises
    ------
    MeasurementError, UnavailableError
        If a launch fails, or there is no MPICH.
    """
    library, mpiexec = _mpich() if emulation.backend == "mpi" else ("", "")
    with tempfile.TemporaryDirectory(prefix="collmark-emulated-") as name:
        for launch in range(1, emulation.launches + 1):
            for network, folder in folders.items():
                told(f"launch {launch} of {emulation.launches} over {network}")
                plan = Path(name, f"{network}.toml")
                plan.write_text(_plan_text(emulation.plan, hosts.count, network, library), encoding="utf-8")
                words = [sys.executable, "-P", "-m", "collmark", "run", str(plan), "--into", str(folder.absolute())]
                log = Path(name, f"{network}-{launch}.log")
                if mpiexec:
                    run_mpich(hosts, network, mpiexec, words, log, PATIENCE)
                else:
                    run_gloo(hosts, network, words, log, PATIENCE)
        for network, folder in folders.items():
            if emulation.raw:
                told(f"raw TCP over {network}")
                rates = measure_raw(hosts, network, emulation.raw, RAW_SECONDS)
                (folder / RAW_FILE).write_text(json.dumps({"EMULATED": True, "bytes_per_second": rates}) + "\n")


def _mpich() -> tuple[str, str]:
    """Return the library and the launcher of the MPICH that there is."""
    library = choose("", os.environ)
    if library.family != MPICH or not library.mpiexec:
        raise UnavailableError(f"MPI over emulated links needs MPICH with its mpiexec, and this is {library}")
    return library.path, library.mpiexec


def _plan_text(fields: Mapping[str, Any], hosts: int, label: str, library: str) -> str:
    """Return a plan file; JSON's texts, numbers and lists are TOML's too."""
    known = {**fields, **({"mpi_library": library} if library else {})}
    lines = [f"{name} = {json.dumps(value)}" for name, value in known.items()]
    return "\n".join([*lines, "[[placements]]", f"nodes = {hosts}", f"label = {json.dumps(label)}", ""])


def raw_rate(folder: Path) -> float:
    """Return the rate of raw TCP in B/s at its largest messages, as it stands beside a run."""
    rates = json.loads((folder / RAW_FILE).read_text(encoding="utf-8"))["bytes_per_second"]
    return float(rates[max(rates, key=int)])


def ratio_of(fast: Path, slow: Path, operation: str = OPERATION) -> TierRatio:
    """Return how far apart two networks are, by raw TCP and by the fits of their runs."""
    found = []
    for folder in (fast, slow):
        (fit,) = (fit for fit in fit_runs(load_runs([str(folder)])).fits if fit.series.operation == operation)
        found.append(fit.asymptote.per_launch if fit.asymptote is not None else ())
    return TierRatio(raw=raw_rate(fast) / raw_rate(slow), fitted=ratio(*found), asymptotes=(found[0], found[1]))


def verdicts(fast: Path, slow: Path, claims: Sequence[str]) -> Judgement:
    """Return the verdicts on some claims, their tiers taken to be the two networks; the emulated ones are marked."""
    words = [*claims, str(fast), str(slow)]
    return judge_claims(Wanted(words=words, tier_a=f"tcp@{FAST}", tier_b=f"tcp@{SLOW}"))


def raw_sizes(plan: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the message sizes of a plan, in B."""
    return tuple(parse_sweep(plan["sizes"]))
