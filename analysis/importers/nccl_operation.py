"""Which operations rows of nccl-tests may be of, where no line says so: one, if columns and figures allow no other.

Sources: the tests of nccl-tests src/*.cu and rccl-tests src/*.cu, which differ in operator, root, the law between size
and count (getCollByteCount), whether results in place are checked (reportErrors), and the bus factor (getBw). send_recv
names an operator, as all_reduce does. all_to_all_v exists in rccl-tests, and in nccl-tests since the version that
prints "Collective test starting"; before 2022 gather of rccl-tests named no root.
"""

from __future__ import annotations

from typing import NamedTuple

from collmark.analysis.importers.nccl_half import OLD, UNCHECKED
from collmark.analysis.importers.nccl_names import TESTS
from collmark.analysis.importers.nccl_row import Parsed


def refusal(named: str | None) -> str:
    """Return why a row is of no operation, where the text may have named one."""
    if named is None:
        return "size, count, operator and root are those of no test"
    return f"the text names {named}, whose rows have another size, count, operator or root"


class Kind(NamedTuple):
    """What rows of one operation have in common.

    Attributes
    ----------
    reduces, rooted : bool
    redop, root : bool
        Whether there is such a token.
    old : bool
        Times in ms.
    checked : tuple of bool
        Whether each half has a number of wrong elements.
    errors : bool
        That number is a largest difference, as before 2022.
    divided : bool or None
        Size is more than count; None for size 0.
    """

    reduces: bool
    rooted: bool
    redop: bool
    root: bool
    old: bool
    checked: tuple[bool, ...]
    errors: bool
    divided: bool | None


class Seen(NamedTuple):
    """What all rows of a kind show, and the head.

    Attributes
    ----------
    above : bool
        Bus above algorithm bandwidth.
    alone : bool
        No bus bandwidth: one rank.
    scaled : bool or None
        The algorithm bandwidth counts what comes from others; None where the figures are too small to tell.
    nvidia : bool
        The head is of nccl-tests before all_to_all_v.
    operator : bool or None
        The head has a column for operators; None without a head.
    """

    above: bool
    alone: bool
    scaled: bool | None
    nvidia: bool
    operator: bool | None


def kind_of(row: Parsed) -> Kind:
    """Return what tells a row's operation."""
    times = row.times
    return Kind(
        reduces=row.reduces,
        rooted=row.rooted,
        redop=row.redop is not None,
        root=row.root is not None,
        old=row.halves[0].layout == OLD,
        checked=tuple([half.wrong not in UNCHECKED for half in row.halves]),
        errors=row.halves[0].differs or row.halves[-1].differs,
        divided=None if times is None else times > 1,
    )


def fits(operation: str, kind: Kind, *, alone: bool) -> bool:
    """Return whether a row of a kind, perhaps of one rank, can be of an operation."""
    test = TESTS.get(operation)
    if test is None:
        return True
    named = kind.reduces == test.reduces or (operation == "send_recv" and not kind.redop)
    rooted = kind.rooted == test.rooted or (operation in {"gather", "scatter"} and not kind.root)
    # On one rank size and count agree for every operation.
    sized = test.divides is None or kind.divided in {None, test.divides} or (alone and not kind.divided)
    return named and rooted and sized


def candidates(kind: Kind, seen: Seen) -> tuple[str, ...]:
    """Return the operations that rows of a kind may be of; none where no test prints such rows."""
    told = () if seen.alone or kind.divided is None else _told(kind, seen)
    # Rows of size 0 and of one rank look alike for most operations.
    return told or tuple(one for one in TESTS if fits(one, kind, alone=True))


def _told(kind: Kind, seen: Seen) -> tuple[str, ...]:
    """Return the operations that print such rows on several ranks."""
    if kind.reduces:
        return _reducing(kind, seen)
    if kind.rooted:
        return ("gather", "scatter") if kind.divided else ("broadcast",)
    if not kind.divided:
        return ()
    if kind.redop or kind.root:
        return _moving(kind, seen)
    return _moving_before_2022(kind, seen)


def _reducing(kind: Kind, seen: Seen) -> tuple[str, ...]:
    if kind.rooted:
        return () if kind.divided else ("reduce",)
    if kind.divided:
        return ("reduce_scatter",)
    if kind.old or seen.above:
        return ("all_reduce",)
    if kind.root and not kind.errors and kind.checked[-1] and len(kind.checked) == 2:
        return ("all_reduce",)
    return ("send_recv",) if kind.root and kind.checked == (True, False) else ("all_reduce", "send_recv")


def _moving(kind: Kind, seen: Seen) -> tuple[str, ...]:
    if not kind.redop:  # a blank operator
        return _by_bandwidth(("all_gather", "all_to_all", "all_to_all_v", "hypercube"), seen)
    everywhere = () if seen.nvidia else ("all_to_all_v",)
    if kind.checked == (True, True):
        return ("all_gather",)
    if kind.checked == (True, False):
        return ("all_to_all", *everywhere)
    return ("all_gather", "all_to_all", *everywhere)


def _moving_before_2022(kind: Kind, seen: Seen) -> tuple[str, ...]:
    if kind.old:
        return ("all_gather",)
    if seen.nvidia and seen.operator is True:
        return ("all_to_all",)
    if seen.nvidia and seen.operator is False and seen.scaled is False:
        return ("all_gather",)
    return _by_bandwidth(("all_gather", "all_to_all", "all_to_all_v", "gather", "hypercube"), seen)


def _by_bandwidth(found: tuple[str, ...], seen: Seen) -> tuple[str, ...]:
    """Return those whose algorithm bandwidth counts what is seen: of these, only hypercube's is what others send."""
    return found if seen.scaled is None else tuple(one for one in found if (one == "hypercube") is seen.scaled)


def decide(kind: Kind, seen: Seen, claimed: str | None, asked: str | None, *, named: bool = False) -> tuple[str, ...]:
    """Return the operation; all that it may be where that cannot be told, none where no test prints such rows.

    Parameters
    ----------
    kind : Kind
    seen : Seen
    claimed : str or None
        By the head or the command line.
    asked : str or None
        By the user.
    named : bool
        It is the head that claims: rows that do not fit are none of the run's, or garbled.
    """
    if claimed is not None and fits(claimed, kind, alone=seen.alone):
        return (claimed,)
    if claimed is not None and named:
        return ()
    found = candidates(kind, seen)
    return (asked,) if asked is not None and asked in found else found
