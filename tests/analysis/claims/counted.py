"""Algorithms carried out one step at a time, and counted: the independent way to a figure of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


class Counted:
    """A number that counts the floating-point operations done with it."""

    operations = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def _done(self, value: float) -> Counted:
        Counted.operations += 1
        return Counted(value)

    def __add__(self, other: Counted | float) -> Counted:
        return self._done(self.value + _value(other))

    def __sub__(self, other: Counted | float) -> Counted:
        return self._done(self.value - _value(other))

    def __mul__(self, other: Counted | float) -> Counted:
        return self._done(self.value * _value(other))

    def __truediv__(self, other: Counted | float) -> Counted:
        return self._done(self.value / _value(other))

    def root(self) -> Counted:
        return self._done(self.value**0.5)


def _value(thing: Counted | float) -> float:
    return thing.value if isinstance(thing, Counted) else thing


def operations_of(action: object) -> int:
    """Return the floating-point operations that calling `action` does."""
    Counted.operations = 0
    action()  # type: ignore[operator]
    return Counted.operations


def matrix(rows: int, columns: int) -> list[list[Counted]]:
    return [[Counted(float(r + c)) for c in range(columns)] for r in range(rows)]


def product(a: Sequence[Sequence[Counted]], b: Sequence[Sequence[Counted]]) -> list[list[Counted]]:
    """Multiply matrices as hardware does: each element a sum that starts at zero."""
    found = []
    for row in a:
        line = []
        for column in range(len(b[0])):
            total = Counted(0.0)
            for k, value in enumerate(row):
                total = total + value * b[k][column]
            line.append(total)
        found.append(line)
    return found


def transposed(a: Sequence[Sequence[Counted]]) -> list[list[Counted]]:
    return [list(column) for column in zip(*a, strict=True)]


class Ring:
    """Ranks in a ring that send one chunk a step to the next; the elements each sends are counted.

    Parameters
    ----------
    ranks
        p.
    chunk
        Elements of a chunk; the vector has p of them.
    """

    def __init__(self, ranks: int, chunk: int = 1) -> None:
        self.ranks, self.chunk = ranks, chunk
        self.sent = [0] * ranks
        self.steps = 0

    def _step(self) -> None:
        self.steps += 1
        for rank in range(self.ranks):
            self.sent[rank] += self.chunk

    def reduce_scatter(self, vectors: list[list[int]]) -> list[list[int]]:
        """Return each rank's vector, of which its own chunk is summed over ranks."""
        p = self.ranks
        for step in range(p - 1):
            sending = [(rank - step) % p for rank in range(p)]
            moving = [vectors[rank][sending[rank]] for rank in range(p)]
            for rank in range(p):
                vectors[(rank + 1) % p][sending[rank]] += moving[rank]
            self._step()
        return vectors

    def all_gather(self, vectors: list[list[int]], first: int = 0) -> list[list[int]]:
        """Return each rank's vector filled: rank r begins with chunk r + `first`."""
        p = self.ranks
        for step in range(p - 1):
            sending = [(rank + first - step) % p for rank in range(p)]
            moving = [vectors[rank][sending[rank]] for rank in range(p)]
            for rank in range(p):
                vectors[(rank + 1) % p][sending[rank]] = moving[rank]
            self._step()
        return vectors

    def all_reduce(self) -> list[list[int]]:
        """Return each rank's vector, summed over ranks."""
        vectors = [[rank + 1] * self.ranks for rank in range(self.ranks)]
        return self.all_gather(self.reduce_scatter(vectors), first=1)

    @property
    def each(self) -> Fraction:
        """What every rank has sent, over the whole vector."""
        (sent,) = set(self.sent)
        return Fraction(sent, self.chunk * self.ranks)


def one_f_one_b(stages: int, micro_batches: int, forward: int = 1, backward: int = 2) -> Fraction:
    """Return the idle share of a pipeline step under 1F1B, from what runs when and who waits for whom."""
    orders = []
    for stage in range(stages):
        warm = min(stages - stage - 1, micro_batches)
        order = [("F", m) for m in range(warm)]
        for m in range(micro_batches - warm):
            order += [("F", warm + m), ("B", m)]
        order += [("B", m) for m in range(micro_batches - warm, micro_batches)]
        orders.append(order)
    done: dict[tuple[str, int, int], int] = {}
    free, position = [0] * stages, [0] * stages
    while any(position[stage] < len(orders[stage]) for stage in range(stages)):
        for stage in range(stages):
            if position[stage] == len(orders[stage]):
                continue
            what, m = orders[stage][position[stage]]
            if what == "F":
                before = ("F", stage - 1, m) if stage else None
            else:
                before = ("B", stage + 1, m) if stage < stages - 1 else ("F", stage, m)
            if before is not None and before not in done:
                continue
            start = max(free[stage], done[before] if before else 0)
            free[stage] = done[what, stage, m] = start + (forward if what == "F" else backward)
            position[stage] += 1
    length = max(free)
    busy = micro_batches * (forward + backward)
    return Fraction(length - busy, length)
