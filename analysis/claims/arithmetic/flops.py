"""Arithmetic on FLOPs of training."""

from __future__ import annotations

from collections.abc import Sequence

from collmark.analysis.claims.arithmetic.tensor import FORWARD_FLOPS
from collmark.analysis.claims.predicate import Worked, figure_of
from collmark.analysis.claims.quantity import Quantity, number, shown

BACKWARD_PASSES = 2
"""A backward pass costs two forward passes: one for the gradients of activations, one for those of weights (Kaplan et
al. 2020, arXiv 2001.08361, section 2.1)."""


def token_flops(_claimed: Quantity | None, *, forward: Quantity, backward: Quantity) -> Worked:
    """Work out the FLOPs of some passes for each token, in multiples of the parameters N.

    Parameters
    ----------
    forward, backward : Quantity
        How many of each.
    """
    once, back = FORWARD_FLOPS, FORWARD_FLOPS * BACKWARD_PASSES
    value = forward.value * once + backward.value * back
    terms, reasons = [], []
    if forward.value:
        terms.append(f"{forward.text} forward x {once} N")
        reasons.append(f"forward: one multiplication and one addition a parameter and token = {once} N")
    if backward.value:
        terms.append(f"{backward.text} backward x {back} N")
        reasons.append(f"backward: gradients of activations {once} N + gradients of weights {once} N = {back} N")
    text = " + ".join(terms) or "no pass"
    return Worked(value=value, steps=(*reasons, f"{text} = {number(value)} N"), by=text)


def recompute_flops(_claimed: Quantity | None, *, forwards: Quantity) -> Worked:
    """Work out how much more FLOPs a step costs when forward passes are repeated.

    Parameters
    ----------
    forwards : Quantity
        Forward passes that come on top.

    Notes
    -----
    Korthikanti et al. 2022, arXiv 2205.05198, section 5: full recomputation adds one forward pass.
    """
    step = FORWARD_FLOPS * (1 + BACKWARD_PASSES)
    extra = FORWARD_FLOPS * forwards.value
    value = extra / step
    return Worked(
        value=value,
        steps=(
            f"without: 2 N + 4 N = {step} N; with {forwards.text} more forward: {number(step + extra)} N",
            f"{number(step + extra)} N / {step} N = {number((step + extra) / step)}, {number(100 * value)} % more",
        ),
        by=f"{number(step + extra)} N / {step} N",
    )


def optimizer_flops(_claimed: Quantity | None, *, operations: Quantity, tokens: Quantity) -> Worked:
    """Work out the optimizer's FLOPs for each token, in multiples of the parameters N.

    Parameters
    ----------
    operations : Quantity
        Operations that an update does on one parameter.
    tokens : Quantity
        Tokens of one step: the update comes once a step, and not once a token.
    """
    value = operations.value / tokens.value
    return Worked(
        value=value,
        steps=(
            f"an update costs {operations.text} N once a step, however many tokens the step has",
            f"{operations.text} N / {tokens.text} tokens = {number(value)} N a token",
        ),
        by=f"{operations.text} N / {tokens.text} tokens a step",
    )


def training_gpus(
    _claimed: Quantity | None,
    *,
    parameters: Quantity,
    tokens: Quantity,
    flop_rate: Quantity,
    efficiency: Quantity,
    time: Quantity,
    efficiencies: Sequence[Quantity] = (),
    gpus: Quantity | None = None,
    gpu_time: Quantity | None = None,
) -> Worked:
    """Count the GPUs that train a model in some time: 6 N D / (peak x efficiency x time).

    Parameters
    ----------
    parameters, tokens : Quantity
        N and D.
    flop_rate, efficiency, time : Quantity
        FLOP/s of one GPU at its peak, the share of it that is reached, s.
    efficiencies : sequence of Quantity
        Other shares to show.
    gpus, gpu_time : Quantity or None
        What was used, to show the time it takes, and how many GPUs the published GPU time is for this time.
    """
    flops = FORWARD_FLOPS * (1 + BACKWARD_PASSES) * parameters.value * tokens.value
    at_peak = flops / (flop_rate.value * time.value)
    value, total = at_peak / efficiency.value, shown(flops, "FLOP", "FLOP")
    steps = [
        f"6 x {parameters.text} x {tokens.text} = {total}",
        f"{total} / ({flop_rate.text} x {efficiency.text} x {time.text}) = {number(value)} GPUs",
    ]
    also = [figure_of(f"GPUs at {share.text} of peak", at_peak / share.value) for share in efficiencies]
    if gpus is not None:
        also.append(figure_of(f"time on {gpus.text} GPUs", value * time.value / gpus.value, "s", "d"))
    if gpu_time is not None:
        also.append(figure_of(f"GPUs, from the published {gpu_time.text}", gpu_time.value / time.value))
    by = f"6 N D at {efficiency.text} of {flop_rate.text}"
    return Worked(value=value, steps=tuple(steps), by=by, also=tuple(also))
