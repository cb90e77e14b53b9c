"""Traffic of ragged operations: how many elements every rank sends to every other.

A traffic is written as a name and what it takes, separated by colons:

=========================================================  ======================================================
``uniform``                                                all pairs alike
``zipf:EXPONENT[:SEED]``                                   destinations of Zipf popularity, in a seeded order of
                                                           its own for every source
``moe:EXPERTS:TOPK[:EXPONENT[:SEED[:TOKEN]]]``           tokens routed to experts (:mod:`collmark.core.routing`)
``file:PATH[:scaled]``                                     the bytes of a matrix file, exactly as they are; or their
                                                           proportions, for every size (:mod:`collmark.core.matrix`)
=========================================================  ======================================================

A plan that was read has the matrix's digest in place of the path: equal traffics are equal texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np

from collmark.core.bounds import LARGEST
from collmark.core.errors import UsageError
from collmark.core.matrix import Cells, Matrix, heaviest, known, learn, pack, read_cells
from collmark.core.numeral import parse_number, parse_whole, shown
from collmark.core.popularity import MOST_EXPONENT, random_words, zipf_weights
from collmark.core.registry import Registry
from collmark.core.routing import MOST_EXPERTS, MOST_TOPK, TOKEN, Routing
from collmark.core.units import parse_nbytes

Counts = tuple[tuple[int, ...], ...]
DEFAULT_TRAFFIC = "uniform"
FILE, SCALED = "file", "scaled"


class Law(Protocol):
    """A traffic that was read."""

    @property
    def own_nbytes(self) -> int | None:
        """The only size there is, in bytes; None where sizes are chosen."""

    def check(self, ranks: int, itemsize: int, /) -> None:
        """Raise UsageError where it cannot be between so many ranks, or with elements of so many bytes."""

    def counts(self, nbytes: int, ranks: int, itemsize: int, /) -> Counts:
        """Return the elements every rank sends to every rank; the heaviest has `nbytes` at most."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Proportions for any number of ranks, scaled to a size.

    Attributes
    ----------
    weights : callable
        Number of ranks to whole numbers for all pairs.
    """

    weights: Callable[[int], Cells]

    own_nbytes = None

    def check(self, _ranks: int, _itemsize: int, /) -> None:
        """Any will do."""

    def counts(self, nbytes: int, ranks: int, itemsize: int, /) -> Counts:
        """Return the elements, rounded down for every pair."""
        return _scaled(self.weights(ranks), nbytes // itemsize)


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix of bytes.

    Attributes
    ----------
    digest : str
        Of the matrix; the process must have met it before the counts are asked for.
    is_scaled : bool
        Only its proportions count.
    """

    digest: str
    is_scaled: bool

    @property
    def own_nbytes(self) -> int | None:
        """The bytes of the heaviest rank, where they are taken as they are."""
        return None if self.is_scaled else heaviest(self._cells())

    def check(self, ranks: int, _itemsize: int, /) -> None:
        """Raise UsageError where the matrix is of another number of ranks; one still to come is passed over."""
        cells = known(self.digest)
        if cells is not None and len(cells) != ranks:
            raise UsageError(f"a matrix of {len(cells)} ranks, and there are {ranks}")

    def counts(self, nbytes: int, _ranks: int, itemsize: int, /) -> Counts:
        """Return the elements, rounded down for every pair; as they are they have a size of their own."""
        if self.is_scaled:
            return _scaled(self._cells(), nbytes // itemsize)
        return tuple(tuple(cell // itemsize for cell in row) for row in self._cells())

    def _cells(self) -> Cells:
        cells = known(self.digest)
        if cells is None:
            raise UsageError(
                f"{FILE}:{shown(self.digest)}: no such matrix is known: a run keeps it in its plan, and "
                "every rank of a launch is given the same file"
            )
        return cells


def _scaled(weights: Cells, elements: int) -> Counts:
    """Return counts in proportion, so that the heaviest rank has so many elements, rounded down for every pair."""
    most = heaviest(weights)
    return tuple(tuple(weight * elements // most for weight in row) for row in weights)


def _uniform(arguments: Sequence[str]) -> Law:
    if arguments:
        raise UsageError("it takes nothing")
    return Shape(weights=lambda ranks: ((1,) * ranks,) * ranks)


def _zipf(arguments: Sequence[str]) -> Law:
    if len(arguments) > 2:
        raise UsageError("it takes two numbers at most")
    exponent, seed = _exponent(arguments[:1], 1.0), _seed(arguments[1:2])

    def weights(ranks: int) -> Cells:
        popular = zipf_weights(ranks, exponent)
        orders = np.argsort(random_words(seed, ranks**2).reshape(ranks, ranks), axis=1, kind="stable")
        return tuple(tuple(popular[place] for place in order) for order in orders.tolist())

    return Shape(weights=weights)


def _moe(arguments: Sequence[str]) -> Law:
    if not 2 <= len(arguments) <= 5:
        raise UsageError("it takes two to five numbers")
    experts = _within(arguments[0], "experts", 1, MOST_EXPERTS)
    token = parse_nbytes(arguments[4]) if len(arguments) > 4 else TOKEN
    if not token:
        raise UsageError("a token has at least 1 B")
    return Routing(
        experts=experts,
        topk=_within(arguments[1], "experts per token", 1, min(experts, MOST_TOPK)),
        exponent=_exponent(arguments[2:3], 0.0),
        seed=_seed(arguments[3:4]),
        token=token,
    )


def _file(arguments: Sequence[str]) -> Law:
    digest, is_scaled = _of_file(arguments)
    if not digest:
        raise UsageError("the file is missing")
    return Given(digest=digest, is_scaled=is_scaled)


def _of_file(arguments: Sequence[str]) -> tuple[str, bool]:
    """Return what names a matrix, which may have colons itself, and whether it is scaled."""
    is_scaled = arguments[-1:] == [SCALED]
    return ":".join(arguments[:-1] if is_scaled else arguments), is_scaled


def _exponent(texts: Sequence[str], default: float) -> float:
    exponent = parse_number(texts[0]) if texts else default
    if not 0 <= exponent <= MOST_EXPONENT:
        raise UsageError(f"the exponent lies in 0 to {MOST_EXPONENT}")
    return exponent


def _seed(texts: Sequence[str]) -> int:
    seed = parse_whole(texts[0]) if texts else 0
    if not 0 <= seed <= LARGEST:
        raise UsageError(f"the seed is a whole number in 0 to {LARGEST}")
    return seed


def _within(text: str, what: str, least: int, most: int) -> int:
    number = parse_whole(text)
    if not least <= number <= most:
        raise UsageError(f"{number} {what}: must be {least} to {most}")
    return number


class Generator(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the index of traffics.

    Attributes
    ----------
    form : str
        How it is written.
    read : callable
        What stands behind its name, separated by colons, to the law; UsageError for what it does not take.
    """

    form: str
    read: Callable[[Sequence[str]], Law]


GENERATORS: Registry[Generator] = Registry(
    "traffic",
    {
        "uniform": Generator(form="uniform", read=_uniform),
        "zipf": Generator(form="zipf:EXPONENT[:SEED], as zipf:1.2:7", read=_zipf),
        "moe": Generator(form="moe:EXPERTS:TOPK[:EXPONENT[:SEED[:TOKEN]]], as moe:64:8:0.5:7:14KiB", read=_moe),
        FILE: Generator(form="file:PATH[:scaled]", read=_file),
    },
)


@lru_cache(maxsize=256)
def law_of(traffic: str) -> Law:
    """Return the law of one traffic; UsageError where it cannot be read."""
    name, *arguments = traffic.split(":")
    generator = GENERATORS[name]
    try:
        return generator.read(arguments)
    except UsageError as error:
        raise UsageError(f"{shown(traffic)}: {error}; write {generator.form}") from error


def check_traffic(traffic: str, *, ranks: int, itemsize: int) -> None:
    """Raise UsageError unless a traffic can be between `ranks` ranks with elements of `itemsize` bytes."""
    law = law_of(traffic)
    try:
        law.check(ranks, itemsize)
    except UsageError as error:
        raise UsageError(f"{shown(traffic)}: {error}") from error


def counts_of(traffic: str, *, nbytes: int, ranks: int, itemsize: int) -> Counts:
    """Return the elements every rank sends to every rank, shape (ranks, ranks), own share included.

    Parameters
    ----------
    traffic : str
        As above.
    nbytes : int
        The heaviest rank's max(sent, received) in bytes; rounded down to whole elements per pair, or whole tokens. A
        matrix that is taken as it is has a size of its own.
    ranks, itemsize : int
        Number of ranks, bytes per element.

    Raises
    ------
    UsageError
        If the traffic cannot be read, or cannot be between so many ranks.
    """
    check_traffic(traffic, ranks=ranks, itemsize=itemsize)
    return law_of(traffic).counts(nbytes, ranks, itemsize)


@lru_cache(maxsize=4096)
def elements_of(traffic: str, *, nbytes: int, ranks: int, itemsize: int) -> int:
    """Return the elements that all ranks send together, for the arguments of :func:`counts_of`.

    With growing nbytes no count of a traffic falls, so that equal sums mean equal counts.
    """
    return sum(map(sum, counts_of(traffic, nbytes=nbytes, ranks=ranks, itemsize=itemsize)))


def with_digests(text: str, folder: Path) -> tuple[str, dict[str, Matrix]]:
    """Read the files that a comma list of traffics names.

    Parameters
    ----------
    text : str
        Of traffics that can be read (:func:`law_of`).
    folder : Path
        Where relative paths start.

    Returns
    -------
    (str, dict of str to Matrix)
        The list with digests in place of paths, and the matrices by digest.

    Raises
    ------
    UsageError
        If a file cannot be read, or is no matrix.
    """
    matrices: dict[str, Matrix] = {}
    found = []
    for traffic in text.split(","):
        name, *arguments = traffic.split(":")
        if name == FILE:
            place, is_scaled = _of_file(arguments)
            matrix = pack(Path(place).name, known(place) or read_cells(folder / place))
            digest = learn(matrix)
            matrices.setdefault(digest, matrix)
            traffic = ":".join([FILE, digest, *([SCALED] if is_scaled else [])])  # noqa: PLW2901
        found.append(traffic)
    return ",".join(dict.fromkeys(found)), matrices
