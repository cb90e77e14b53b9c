"""The number of ranks of a run of nccl-tests, from what its rows and its head say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from collmark.analysis.importers.nccl_names import TESTS
from collmark.analysis.importers.section import Draft, Log
from collmark.analysis.importers.settle import recovered, settle


class Counted(NamedTuple):
    """A draft, and how many times its count the size is."""

    draft: Draft
    times: int | None


def give(log: Log, counted: Sequence[Counted], ranks: int | None, nodes: int | None) -> None:
    """Give the figures of one operation in a run to the log.

    What size and count tell goes before the head: it stands in the rows. Rows that contradict each other or the head
    may be of several runs whose heads are gone: each is taken for itself.

    Parameters
    ----------
    log : Log
    counted : sequence of Counted
        Of one operation, or of several that they may all be of.
    ranks, nodes : int or None
        As the head says.
    """
    drafts = [one.draft for one in counted]
    tests = [TESTS.get(one) for one in drafts[0].row.possible]
    divides = all(test is not None and test.divides for test in tests)
    told = {one.times for one in counted if one.times} if divides else set()
    if len(told) == 1:
        found = told.pop()
        ranks, nodes = found, nodes if found == ranks else None
    least, most = recovered(drafts)
    if drafts[0].row.candidates and not told and not (ranks is not None and least <= ranks <= most < math.inf):
        ranks = nodes = None  # what is gone of the head may be lines of ranks too, and nothing in the rows shows it
    if not told and least <= most and (ranks is None or least <= ranks <= most):
        settle(log, drafts, ranks=ranks, nodes=nodes, bounds=(least, most))
        return
    if ranks is not None and not told:
        stands = _of_the_head(drafts, ranks)
        settle(log, drafts[:stands], ranks=ranks, nodes=nodes, bounds=(ranks, ranks))
        counted, drafts = counted[stands:], drafts[stands:]
        if not drafts:
            return
    line = drafts[0].row.line
    if told or least > most:
        log.doubt(line, "the rows of this run are not all of the same number of ranks: each is taken for itself")
    else:
        says = f"the text says {ranks} ranks, but bus over algorithm bandwidth does not"
        log.doubt(line, f"{says}: each row is taken for itself")
    for one in counted:
        settle(log, [one.draft], ranks=one.times if told else None)


def _of_the_head(drafts: Sequence[Draft], ranks: int) -> int:
    """Return how many figures after a head are of its number of ranks, whatever some of them show.

    Rows follow each other without a gap, so those before one that bears the head out, and none that does not, are its
    own: a single bandwidth among them is odd. Those after the last such may be another run's.
    """
    bounds = [recovered([draft]) for draft in drafts]
    others = {(least, most) for least, most in bounds if not least <= ranks <= most}
    for index in range(len(bounds) - 1, -1, -1):
        least, most = bounds[index]
        if least <= ranks <= most and all(most < lower or upper < least for lower, upper in others):
            return sum(draft.row.line <= drafts[index].row.line for draft in drafts)
    return 0
