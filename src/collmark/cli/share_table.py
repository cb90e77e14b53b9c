"""The table of shares: what was measured over what may be expected of the link."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from collmark.analysis.expected.share import Share
from collmark.cli.console import Terminal
from collmark.cli.layout import CONTINUED, Column, lay_out

CAPTION = (
    "measured over expected, bus bandwidths, 95 % over launches; links by their specified rate in one direction; "
    "published figures by other tools, at large sizes, calls back to back"
)


def print_shares(terminal: Terminal, shares: Sequence[Share], *, asked: bool) -> None:
    """Write the table of shares to stdout and its warnings to stderr, where a link was declared.

    Parameters
    ----------
    terminal : Terminal
        Where to.
    shares : sequence of Share
        Of some runs.
    asked : bool
        Whether the user named a system.
    """
    declared = {share.series for share in shares if share.source}
    if not declared:
        if asked:
            terminal.warn("note: nothing was measured over the system named, by the tier and the nodes in the records")
        return
    rows = [share for share in shares if share.series in declared]
    lines = ["", *textwrap.wrap(CAPTION, terminal.width(), subsequent_indent=CONTINUED)]
    terminal.out("\n".join([*lines, *lay_out(_columns(rows), terminal.width(), terminal.painter(sys.stdout))]))
    for source in dict.fromkeys(f"{share.expected}: {share.source}" for share in rows if share.source):
        terminal.say(f"source: {source}")
    for share in rows:
        if share.warning:
            terminal.warn(f"warning: {share.series.operation} {share.series.placement}: {share.warning}")


def _columns(rows: Sequence[Share]) -> list[Column]:
    return [
        Column(name="operation", cells=[_name(share) for share in rows]),
        Column(name="share, %", cells=[" ".join(share.percent_words).strip() for share in rows]),
        Column(name="measured", cells=[f"{share.value_words}, {share.measured}" for share in rows]),
        Column(name="expected", cells=[f"{share.expected_words}, {share.expected}" for share in rows], leads=True),
    ]


def _name(share: Share) -> str:
    marker = f"{share.series.marker} " if share.series.marker else ""
    return f"{marker}{share.series.operation} {share.series.placement}"
