"""Prove by the byte counters of links which algorithm gloo's all_reduce is, at 2, 3, 4 and 6 ranks; keep the table.

Run by ``make prove``, as root on Linux. One rank on each emulated host; the links are so slow that the processors idle.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # tests are no package of an installation

from collmark import __version__  # noqa: E402
from collmark.bench.emulated.hosts import Hosts, emulated_hosts, refusal  # noqa: E402
from collmark.bench.emulated.link import Link, Network  # noqa: E402
from collmark.core.record import Record  # noqa: E402
from collmark.core.store import RunFolder  # noqa: E402
from collmark.workflow import emulated  # noqa: E402

KEPT = ROOT / "docs" / "proof" / "rank-scaling.md"
RANKS = (2, 3, 4, 6)
LAUNCHES = 3
# The bucket is small: its head start would seem to be a latency, with the sign of a gain.
NETWORK = Network(name="lan", link=Link(rate=100 * emulated.MEGABIT, patience=1e-4))
PLAN = {
    "operations": ["all_reduce"],
    "sizes": "4KiB:1MiB:x4",
    "backends": ["gloo"],
    "case_budget": "2 s",
    "precision": "2%",
    "scheduling": emulated.scheduling_class("gloo"),
}
SHORT = PLAN | {"sizes": "4KiB"}
COUNTERS_FILE = "counters.json"
CHECKS = 2  # calls of a case beside those that are counted in its record: one before, one after
NEAR = 0.01

TEXT = """\
# How gloo's all_reduce scales with ranks

Written by `make prove` (tests/prove/prove_rank_scaling.py). **EMULATED**: a rank on each of {most} namespaces of one
machine, joined by links of {rate:g} Mbit/s that tbf shapes; none is a figure of a network.

**{verdict}**: every rank sends the bytes of a ring, within {near:.0f} %, at {ranks} ranks, and no other law does.

Bytes that a rank sends in a call: so many times nbytes, least to most over ranks, and so many whatever the size.

{table}

- Counted: what the interface of each host has sent in a run of {launches} launches and in another of the smallest size
  alone, headers of 66 B a packet taken off. Two sums of nbytes over all calls (warm-up, repetitions, checks) and two
  numbers of calls tell what grows with the size from what does not: gloo's own words before each part of a vector, and
  collmark's agreement on starts.
- Laws, of the vector of nbytes, p ranks (Thakur, Rabenseifner & Gropp 2005, IJHPCA 19(1)). Ring: 2(p-1)/p from every
  rank. Halving and doubling: the same at powers of two; elsewhere each rank that is one too many sends its vector to a
  partner, which sends it the result. Recursive doubling: lg p, with the same for what is too many. Tree: binomial,
  reduce and broadcast; once up from all but the root, and down as often as a rank has children.

What `collmark fit` makes of the times of the same runs, of which it knows no counter: {explained}

T over ranks, ms (geometric mean over {launches} launches; 95 % in brackets):

{times}

collmark {collmark}, Python {python}, Linux {linux}.
"""


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """One number of ranks.

    Attributes
    ----------
    ranks : int
        A rank on each host.
    factors : tuple of float
        Bytes that each rank sends in a call for each of nbytes.
    words : tuple of float
        Bytes that it sends in a call whatever the size.
    records : tuple of Record
        Of all launches.
    """

    ranks: int
    factors: tuple[float, ...]
    words: tuple[float, ...]
    records: tuple[Record, ...]


def measure(ranks: int, folder: Path, launches: int = LAUNCHES) -> Scaling:
    """Run all_reduce with a rank on each of so many hosts, and count what each sends."""
    short = folder.with_name(f"{folder.name}-short")
    with emulated_hosts(ranks, [NETWORK]) as hosts:
        sent = [
            counted(hosts, PLAN, folder, launches),
            counted(hosts, SHORT, short, 1),
        ]
    records = [tuple(RunFolder(one).records()) for one in (folder, short)]
    moved = [[sum(calls(r) * r.case.nbytes for r in some), sum(map(calls, some))] for some in records]
    factors, words = np.linalg.solve(np.array(moved, dtype=np.float64), np.array(sent, dtype=np.float64))
    return Scaling(ranks=ranks, factors=tuple(factors), words=tuple(words), records=records[0])


def counted(hosts: Hosts, plan: Mapping[str, Any], folder: Path, launches: int) -> list[int]:
    """Return the bytes of payload that each host sends in a run; they are kept beside it."""
    before = hosts.counters(NETWORK.name)
    emulated.measure_over(hosts, {NETWORK.name: plan}, {NETWORK.name: folder}, launches=launches)
    since = [after.since(one) for after, one in zip(hosts.counters(NETWORK.name), before, strict=True)]
    (folder / COUNTERS_FILE).write_bytes(msgspec.json.encode(since) + b"\n")
    return [one.payload_sent for one in since]


def calls(record: Record) -> int:
    """Return how often a case was called, its sentinel's repeats being records of their own."""
    assert record.timing is not None, "nothing was wrong"
    return CHECKS + record.warmup_calls + record.timing.repetitions


def ring(p: int) -> list[float]:
    """Return what each rank of a ring sends, over nbytes."""
    return [2 * (p - 1) / p] * p


def _folded(p: int, inside: float) -> list[float]:
    """Return it for an algorithm of powers of two, ranks beyond the last of which send all they have to a partner."""
    power = 2 ** int(math.log2(p))
    extra = p - power
    return [1.0] * extra + [inside + 1] * extra + [inside] * (power - extra)


def halving_doubling(p: int) -> list[float]:
    """Return it for Rabenseifner's algorithm."""
    power = 2 ** int(math.log2(p))
    return _folded(p, 2 * (power - 1) / power)


def recursive_doubling(p: int) -> list[float]:
    """Return it for recursive doubling."""
    return _folded(p, float(int(math.log2(p))))


def tree(p: int) -> list[float]:
    """Return it for a binomial tree up and down."""
    children = [sum(rank + 2**k < p for k in range(p.bit_length()) if 2**k > rank) for rank in range(p)]
    return [float(down + (rank > 0)) for rank, down in enumerate(children)]


LAWS = {
    "ring": ring, "halving and doubling": halving_doubling, "recursive doubling": recursive_doubling, "tree": tree
}  # fmt: skip


def fits(factors: Sequence[float], law: Sequence[float]) -> bool:
    """Whether ranks send what a law says, whichever rank has which part."""
    return bool(np.allclose(sorted(factors), sorted(law), rtol=NEAR, atol=0))


def table(found: Sequence[Scaling]) -> str:
    """Return what was counted beside the laws."""
    lines = [["ranks", "counted", *LAWS, "whatever the size, B"], ["---:"] * (3 + len(LAWS))]
    for one in found:
        laws = [law(one.ranks) for law in LAWS.values()]
        marks = [f"{ends(law)}{' *' if fits(one.factors, law) else ''}" for law in laws]
        lines.append([str(one.ranks), ends(one.factors), *marks, f"{np.mean(one.words):.0f}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n\\* as counted, rank by rank."


def ends(values: Sequence[float]) -> str:
    """Return the least and the most."""
    low, high = f"{min(values):.3f}", f"{max(values):.3f}"
    return low if low == high else f"{low} to {high}"


def times(found: Sequence[Scaling]) -> str:
    """Return T at every size over the number of ranks."""
    from collmark.core.statistics import log_t_interval
    from collmark.core.units import format_nbytes

    of: dict[int, dict[int, list[float]]] = {}
    for one in found:
        for record in one.records:
            if record.sentinel is None and record.seconds:
                of.setdefault(record.case.requested_nbytes, {}).setdefault(one.ranks, []).append(record.seconds)
    lines = [["nbytes", *(f"{one.ranks} ranks" for one in found)], ["---:"] * (1 + len(found))]
    for nbytes, by_ranks in sorted(of.items()):
        intervals = [log_t_interval(by_ranks[one.ranks]) for one in found]
        cells = [
            "-" if i is None else f"{1e3 * i.value:.3f} [{1e3 * i.lower:.3f}, {1e3 * i.upper:.3f}]" for i in intervals
        ]
        lines.append([format_nbytes(nbytes), *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def is_ring(found: Sequence[Scaling]) -> bool:
    """Whether a ring explains all that was counted, and no other law does."""
    explained = {name: all(fits(one.factors, law(one.ranks)) for one in found) for name, law in LAWS.items()}
    return explained == {name: name == "ring" for name in LAWS}


def explained(folders: Sequence[Path]) -> tuple[bool, str]:
    """Return whether the times alone say ring, and what they say."""
    from collmark.analysis.costs.scaling import scale
    from collmark.workflow.fit import fit_runs, load_runs

    found = scale(fit_runs(load_runs(map(str, folders)))[0])
    if not found.scalings:
        return False, "; ".join(one.reason for one in found.refused) or "nothing."
    (scaling,) = found.scalings
    alike, beta, alpha = scaling.alike, scaling.best.beta, scaling.best.alpha
    words = f"bytes as {scaling.best.words}"
    if len(alike) > 1:
        words += f" (not told from {', '.join(one.words for one in alike[1:])})"
    if beta.estimate is not None:
        low, high = (1e-6 / end for end in (beta.estimate.upper, beta.estimate.lower))
        words += f"; 1/beta of a byte over a link {1e-6 / beta.estimate.value:.2f} [{low:.2f}, {high:.2f}] MB/s"
    words += "" if alpha.value else "; alpha of a message: too weak, the sizes being large for these links"
    return all("ring" in one.words for one in alike), f"{words}."


def scalings(launches: int, folder: Path) -> Iterator[Scaling]:
    """Yield all numbers of ranks, each a run in a folder."""
    for ranks in RANKS:
        yield measure(ranks, folder / f"{ranks}-ranks", launches)


def main() -> int:
    """Make the runs, print the page, and return 1 where the counters speak against a ring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=LAUNCHES, help=f"the page is kept at {LAUNCHES}")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the runs and what was counted there")
    options = parser.parse_args()
    if reason := refusal():
        print(f"skipped, its page stays as it is: {reason}", file=sys.stderr)
        return 0
    found: list[Scaling] = []
    with tempfile.TemporaryDirectory() as name:
        for one in scalings(options.launches, options.keep or Path(name)):
            found.append(one)
            print(f"{one.ranks} ranks: {ends(one.factors)}", file=sys.stderr, flush=True)
        says_ring, words = explained([(options.keep or Path(name)) / f"{ranks}-ranks" for ranks in RANKS])
    is_proven = is_ring(found) and says_ring
    text = TEXT.format(
        verdict="PASS" if is_proven else "FAIL",
        most=max(RANKS),
        rate=8e-6 * NETWORK.link.rate,
        near=100 * NEAR,
        ranks=", ".join(map(str, RANKS)),
        table=table(found),
        explained=words,
        times=times(found),
        launches=options.launches,
        collmark=__version__,
        python=platform.python_version(),
        linux=platform.release(),
    )
    print(text)
    if options.launches == LAUNCHES:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
