"""Arithmetic on data parallelism and ZeRO: volumes, and memory for model states."""

from __future__ import annotations

import math
from collections.abc import Sequence

from collmark.analysis.claims.predicate import Worked, figure_of
from collmark.analysis.claims.quantity import Quantity, number, shown
from collmark.core.operation_table import OPERATIONS

STATES = ("weights", "gradients", "optimizer")
"""What a training rank keeps of the model, in the order in which ZeRO's stages do not reach it."""


def ring_volume(_claimed: Quantity | None, *, ranks: Quantity) -> Worked:
    """Work out how many times its bytes a rank sends in a ring all-reduce: 2 (p-1)/p.

    Notes
    -----
    A reduce-scatter and an all-gather of (p-1)/p each (Patarasuk and Yuan 2009, doi 10.1016/j.jpdc.2008.09.002).
    """
    p = ranks.whole
    value = OPERATIONS["all_reduce"].bus_factor(p)
    return Worked(
        value=value,
        steps=(
            f"2 ({p}-1)/{p} = {number(value)}",
            f"at 2 ranks: {number(OPERATIONS['all_reduce'].bus_factor(2))}",
        ),
        by=f"2 x {p - 1}/{p}, {p} ranks",
        also=(figure_of("at 2 ranks", OPERATIONS["all_reduce"].bus_factor(2)),),
    )


def ring_time(
    _claimed: Quantity | None,
    *,
    parameters: Quantity,
    value_bytes: Quantity,
    rate: Quantity,
    ranks: Quantity,
    split: Quantity,
) -> Worked:
    """Work out the time of a ring all-reduce of a model's gradients: 2 (p-1)/p x bytes / rate, without latency.

    Parameters
    ----------
    parameters, value_bytes : Quantity
        Their product is the bytes.
    rate : Quantity
        B/s of one direction.
    ranks : Quantity
        p.
    split : Quantity
        Tensor-parallel degree by which a GPU's part may be divided, to be shown beside.
    """
    p = ranks.whole
    nbytes = parameters.value * value_bytes.value
    one_pass = nbytes / rate.value
    value = OPERATIONS["all_reduce"].bus_factor(p) * one_pass
    size, own, speed = shown(nbytes, "B"), shown(nbytes / split.value, "B"), shown(rate.value, "B/s")
    return Worked(
        value=value,
        unit="s",
        steps=(
            f"{parameters.text} parameters x {value_bytes.text} B = {size}",
            f"one pass: {size} / {speed} = {shown(one_pass, 's')}",
            f"a ring makes two, each of ({p}-1)/{p}: 2 x {p - 1}/{p} x {shown(one_pass, 's')} = {shown(value, 's')}",
            f"with tensor parallelism {split.text} a GPU reduces {own}: {shown(value / split.value, 's')}",
        ),
        by=f"2 x {p - 1}/{p} x {size} / {speed}, {p} ranks",
        also=(
            figure_of("one pass", one_pass, "s"),
            figure_of(f"with tensor parallelism {split.text}", value / split.value, "s"),
        ),
    )


def zero_memory(
    _claimed: Quantity | None,
    *,
    parameters: Quantity,
    ranks: Quantity,
    sharded: Sequence[str] = (),
    weights: Quantity,
    gradients: Quantity,
    optimizer: Quantity,
) -> Worked:
    """Work out the bytes of model states on one rank, some of them sharded over the ranks.

    Parameters
    ----------
    parameters, ranks : Quantity
        Parameters of the model, data-parallel degree.
    sharded : sequence of str
        Which of weights, gradients and optimizer a rank keeps only its share of.
    weights, gradients, optimizer : Quantity
        Bytes a parameter of each.

    Notes
    -----
    Rajbhandari et al. 2019, arXiv 1910.02054, section 5: stage 1 shards the optimizer's states, stage 2 also gradients,
    stage 3 also weights.
    """
    of_state = dict(zip(STATES, (weights, gradients, optimizer), strict=True))
    parts = [
        (f"{size.text}/{ranks.text}", size.value / ranks.value) if state in sharded else (size.text, size.value)
        for state, size in of_state.items()
    ]
    value = parameters.value * sum(each for _text, each in parts)
    text = " + ".join(text for text, _each in parts)
    return Worked(
        value=value,
        unit="B",
        steps=(
            f"bytes a parameter, {' + '.join(STATES)}: {text} = {number(value / parameters.value)} B",
            f"{parameters.text} x {number(value / parameters.value)} B = {shown(value, 'B', 'GB')}",
        ),
        by=f"({text}) B x {parameters.text}",
    )


def zero_volume(_claimed: Quantity | None, *, ranks: Quantity) -> Worked:
    """Compare the bytes that a rank sends in a step under ZeRO-3 with those under plain data parallelism.

    Notes
    -----
    Rajbhandari et al. 2019, arXiv 1910.02054, section 7: data parallelism and stages 1 and 2 move a reduce-scatter and
    an all-gather, stage 3 gathers the weights twice, for forward and backward: 3 against 2 passes of (p-1)/p.
    """
    p = ranks.whole
    once = OPERATIONS["all_gather"].bus_factor(p)
    return Worked(
        value=3 * once / (2 * once),
        steps=(
            f"data parallelism: reduce-scatter + all-gather = 2 x {p - 1}/{p} Psi = {number(2 * once)} Psi",
            f"stage 3: all-gather + all-gather + reduce-scatter = 3 x {p - 1}/{p} Psi = {number(3 * once)} Psi",
            "3 Psi / 2 Psi = 1.5: half as much again",
        ),
        by="3 Psi / 2 Psi",
    )


def replicas(
    _claimed: Quantity | None, *, copies: Quantity, parameters: Quantity, each: Quantity, spare: Quantity
) -> Worked:
    """Work out the memory of copies of something: (copies - spare) x parameters x bytes.

    Parameters
    ----------
    copies, spare : Quantity
        How many there are, and how many of them are needed.
    parameters, each : Quantity
        Of one copy: parameters, and bytes a parameter.
    """
    counted = copies.value - spare.value
    one = parameters.value * each.value
    value = counted * one
    return Worked(
        value=value,
        unit="B",
        steps=(
            f"one copy: {parameters.text} x {each.text} B = {shown(one, 'B')}",
            f"{number(counted)} copies x {shown(one, 'B')} = {shown(value, 'B')}",
        ),
        by=f"{number(counted)} x {parameters.text} x {each.text} B",
    )


def gpus_to_hold(
    _claimed: Quantity | None, *, nbytes: Quantity, memory: Quantity, extra: Sequence[Quantity] = ()
) -> Worked:
    """Count the GPUs that hold so many bytes: bytes / memory, rounded up.

    Parameters
    ----------
    nbytes, memory : Quantity
        B, and B of one GPU.
    extra : sequence of Quantity
        Bytes that may come on top, B; what they would need is shown beside.
    """

    def needed(total: float) -> tuple[float, str]:
        exact = total / memory.value
        return math.ceil(exact), f"{shown(total, 'B', 'GB')} / {memory.text} = {number(exact)}"

    value, text = needed(nbytes.value)
    more = [(one, *needed(nbytes.value + one.value)) for one in extra]
    return Worked(
        value=value,
        steps=(
            f"{text}, so {number(value)} GPUs",
            *(f"with {one.text} more: {words}, so {number(count)} GPUs" for one, count, words in more),
        ),
        by=f"{nbytes.text} / {memory.text}",
        also=tuple(figure_of(f"GPUs with {one.text} more", count) for one, count, _words in more),
    )
