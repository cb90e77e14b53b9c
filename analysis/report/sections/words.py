"""The words: what each column and mark means."""

from __future__ import annotations

from collmark.analysis.figures.words import ALPHA, ASYMPTOTE, BETA, N_HALF, percent
from collmark.analysis.models.fit import MOST_RMS
from collmark.analysis.report.content import Items, Section, Text
from collmark.analysis.report.material import Material

MEANINGS = {
    "T": (
        "time of one call: last rank in to last rank out; first in to last out for broadcast, reduce, gather, scatter; "
        "half a round trip for ping_pong; per message for streams; the longest local duration where clocks cannot be "
        "compared"
    ),
    "launch": "fresh processes and fresh communicators: the unit of replication for every interval",
    "nbytes": "the largest over ranks of max(bytes sent, bytes received), the size that nccl-tests prints",
    "interval": (
        "95 % by Student's t on the logarithms of the launches' medians; of fitted numbers, on those fitted to each "
        "launch; one launch has none"
    ),
    "bus bandwidth": (
        "nbytes / T x the bus factor: 2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter, all_to_all, "
        "gather and scatter, 1 for the others; GB/s are 1e9 bytes"
    ),
    f"{ALPHA}, {BETA}": (
        f"T = {ALPHA} + bus bytes x {BETA}, least squares of logarithms (soft-L1), refitted per launch; {ASYMPTOTE} is "
        f"the bus bandwidth that large sizes come near, {N_HALF} the nbytes at which half of it is reached; of a "
        f"stream {ALPHA} is a gap between messages"
    ),
    "misfit": (
        "root mean square over sizes of the logarithm of measured over model, and the largest deviation; above "
        f"{percent(MOST_RMS)} % rms a model does not describe the times"
    ),
    "status": (
        "converged: the interval inside a launch came within the precision twice in a row; budget: its time ended "
        "first; unstable: over 5 % of repetitions beyond 3 x the median, or over a third was warm-up; wrong: a wrong "
        "result, no bandwidth; failed: the backend refused or broke off"
    ),
    "tier": "class of the slowest link used, by evidence; unknown where there is none",
}


def words(_material: Material) -> Section:
    """Return the definitions."""
    items = tuple(Text(lead=word, words=meaning) for word, meaning in MEANINGS.items())
    return Section(anchor="words", title="Words", question="What does it mean?", blocks=(Items(items=items),))
