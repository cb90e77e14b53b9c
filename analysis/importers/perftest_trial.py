"""Which test of perftest a banner, a JSON report or a command line names.

From perftest's src/perftest_parameters.c: ctx_print_test_info prints verb, direction and kind as "RDMA_Write
Bidirectional BW Test", write_test_info_to_file the same with underscores. Bandwidths of a bidirectional test are the
sum of both ends (print_full_bw_report adds the remote report; an endless test doubles its own), latencies are half a
round trip, except for reads and atomics, where rtt_factor is 1: a read is asked for and answered, and half of it is no
one's latency.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

_BANNER = re.compile(
    r"(Send|RDMA_Write|RDMA_Read|Atomic)(?:_imm)?[ _](?:(?:CMP_AND_SWAP|FETCH_AND_ADD)[ _])?(Bidirectional[ _])?"
    r"(?:Post[ _]List[ _])?(BW[ _]|Latency[ _])?(forwarding[ _])?(Multicast[ _])?Test"
)
_COMMAND = re.compile(r"(?:^|[\s/'\"`])(?:(ib)_(write|read|send|atomic)|(raw_ethernet))_(bw|lat)(?=['\"`\s]|$)")
_LETTERS = re.compile(r"-[A-Za-z]+")
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}", re.ASCII)
_VERBS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}


class Kind(StrEnum):
    """What a test's figures are."""

    BANDWIDTH = "bandwidth"
    LATENCY = "latency"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A test of the tool.

    Attributes
    ----------
    verb : str
        write, read, send or atomic.
    kind : Kind
    directions : int
        Two where both ends send at once.
    special : str
        multicast, forwarding or raw_ethernet where the operation is no plain one between two queue pairs.
    """

    verb: str
    kind: Kind
    directions: int = 1
    special: str = ""

    @property
    def operation(self) -> str:
        """In collmark's names, or an own one."""
        if self.kind is Kind.LATENCY:
            plain = {"read": "remote_read", "atomic": "remote_atomic"}.get(self.verb, "ping_pong")
        elif self.verb == "atomic":
            plain = "remote_atomic_stream"
        else:
            plain = "stream" if self.directions == 1 else "bidirectional_stream"
        return f"{self.special}_{plain}" if self.special else plain


def named_trial(text: str) -> Trial | None:
    """Return the test that a banner or the JSON report names; None where it is none or not whole."""
    match = _BANNER.fullmatch(text)
    if match is None:
        return None
    verb, both, kind, forwarding, multicast = match.groups()
    if kind is None:  # raw_ethernet_burst_lat: bursts of packets, neither a stream nor a round trip
        return Trial(verb=_VERBS[verb], kind=Kind.LATENCY, special="burst")
    return Trial(
        verb=_VERBS[verb],
        kind=Kind.BANDWIDTH if kind.startswith("BW") else Kind.LATENCY,
        directions=2 if both else 1,
        special="forwarding" if forwarding else "multicast" if multicast else "",
    )


def commanded_trial(command: str) -> Trial | None:
    """Return the test that a client's command line starts; None where an option may be missing, or is not known.

    Only a line that names the server, or quotes the tool alone as scripts do in messages, is taken as whole.
    """
    match = _COMMAND.search(command)
    if match is None:
        return None
    words = command[match.end() :].split()
    alone = command[match.end() : match.end() + 1] in ("'", '"', "`")
    if not alone and not _names_server(words):
        return None
    letters = "" if alone else "".join(word[1:] for word in words if _LETTERS.fullmatch(word))
    both = "b" in letters or (not alone and "--bidirectional" in words)
    if not alone and (
        "C" in letters or "g" in letters or any(word.startswith(("--mcg", "--mac_fwd")) for word in words)
    ):
        return None
    return Trial(
        verb=match[2] or "send",
        kind=Kind.BANDWIDTH if match[4] == "bw" else Kind.LATENCY,
        directions=2 if both else 1,
        special="raw_ethernet" if match[3] else "",
    )


def _names_server(words: list[str]) -> bool:
    """Return whether a word is an address, or a name that is no option's value: the command was not cut before it."""
    return any(
        _ADDRESS.fullmatch(word) or not (word.startswith("-") or before.startswith("-"))
        for before, word in zip(["", *words], words, strict=False)
    )
