"""Arithmetic on tensor and pipeline parallelism: what layers send, and how long that takes."""

from __future__ import annotations

from collmark.analysis.claims.predicate import Worked, figure_of
from collmark.analysis.claims.quantity import Quantity, number, shown
from collmark.core.operation_table import OPERATIONS

FORWARD_ALL_REDUCES = 2
"""All-reduces of a transformer layer in a forward pass, one behind attention and one behind the MLP; the backward pass
has as many (Shoeybi et al. 2019, arXiv 1909.08053, section 3)."""
FORWARD_FLOPS = 2
"""FLOPs a parameter and token in a forward pass: one product, one sum (Kaplan et al. 2020, arXiv 2001.08361)."""


def all_reduces(_claimed: Quantity | None, *, layers: Quantity, per_layer: Quantity) -> Worked:
    """Count the all-reduces of tensor parallelism: layers x all-reduces of a layer."""
    value = layers.value * per_layer.value
    return Worked(
        value=value,
        steps=(
            f"{layers.text} layers x {per_layer.text} = {number(value)}",
            f"a layer has {FORWARD_ALL_REDUCES} forward (attention, MLP) and {FORWARD_ALL_REDUCES} backward",
        ),
        by=f"{layers.text} x {per_layer.text}",
    )


def activation(
    claimed: Quantity | None,
    *,
    micro_batch: Quantity,
    sequence: Quantity,
    hidden: Quantity,
    value_bytes: Quantity,
    split: Quantity | None = None,
    rate: Quantity | None = None,
) -> Worked:
    """Work out the bytes of a layer's output: micro-batch x sequence x hidden x bytes of a value.

    Parameters
    ----------
    micro_batch, sequence, hidden, value_bytes : Quantity
        Sequences, tokens, width, bytes.
    split : Quantity or None
        Tensor-parallel degree, by which sequence parallelism divides what a stage sends on.
    rate : Quantity or None
        B/s at which to say how long the claimed bytes would take.

    Notes
    -----
    Korthikanti et al. 2022, arXiv 2205.05198, section 4: the all-reduced tensor has s x b x h elements.
    """
    one = sequence.value * hidden.value * value_bytes.value
    value = micro_batch.value * one
    factors = f"{micro_batch.text} x {sequence.text} x {hidden.text} x {value_bytes.text} B"
    steps = [f"micro-batch x sequence x hidden x bytes = {factors} = {shown(value, 'B')}"]
    also = []
    if split is not None:
        steps.append(f"sequence-parallel over {split.text}: {shown(value / split.value, 'B')} a GPU")
        also.append(figure_of(f"a GPU, sequence-parallel over {split.text}", value / split.value, "B"))
    if claimed is not None:
        ends = dict.fromkeys([claimed.low, claimed.high])
        batches = " to ".join(number(end / one) for end in ends)
        steps.append(f"{claimed.text} would be a micro-batch of {batches} sequences of {sequence.text} tokens")
        also += [figure_of(f"micro-batch that gives {shown(end, 'B')}", end / one) for end in ends]
    if claimed is not None and rate is not None:
        seconds = claimed.value / rate.value
        steps.append(f"{claimed.text} at {rate.text} take {shown(seconds, 's')}")
        also.append(figure_of(f"{claimed.text} at {rate.text}", seconds, "s"))
    return Worked(value=value, unit="B", steps=tuple(steps), by=factors, also=tuple(also))


def layer_demand(
    _claimed: Quantity | None,
    *,
    parameters: Quantity,
    layers: Quantity,
    hidden: Quantity,
    value_bytes: Quantity,
    ranks: Quantity,
    flop_rate: Quantity,
    share: Quantity,
) -> Worked:
    """Work out the bandwidth at which a layer's all-reduces take as long as its computation, sent and received.

    Parameters
    ----------
    parameters, layers, hidden, value_bytes : Quantity
        Of the model.
    ranks : Quantity
        Tensor-parallel degree.
    flop_rate : Quantity
        FLOP/s that one GPU reaches; its peak gives the greatest demand.
    share : Quantity
        Another share of the computation's time to name the bandwidth for.

    Notes
    -----
    For each token of a forward pass a GPU sends 2 all-reduces x 2 (p-1)/p x hidden x bytes (a ring), and computes
    2 x parameters / layers / p FLOPs: tokens cancel. A backward pass computes twice as much for as many bytes, and
    demands half as much. Attention's own products come on top of the FLOPs: they lower the demand further.
    """
    sent = FORWARD_ALL_REDUCES * OPERATIONS["all_reduce"].bus_factor(ranks.whole) * hidden.value * value_bytes.value
    flops = FORWARD_FLOPS * parameters.value / layers.value / ranks.value
    p, wire, work = ranks.text, shown(sent, "B"), shown(flops, "FLOP")
    all_reduced = f"{FORWARD_ALL_REDUCES} x 2 ({p}-1)/{p} x {hidden.text} x {value_bytes.text} B"
    computed = f"{FORWARD_FLOPS} x {parameters.text} / {layers.text} / {p}"
    steps = (
        f"a GPU sends, each token and layer: {all_reduced} = {wire}",
        f"and computes {computed} = {work}",
    )
    return _bandwidth_for(sent, flops / flop_rate.value, flop_rate.text, share, ranks, steps)


def _bandwidth_for(
    sent: float, seconds: float, flop_rate: str, share: Quantity, ranks: Quantity, steps: tuple[str, ...]
) -> Worked:
    """Return the bandwidth, both ways, at which sending so many bytes lasts as long as computing does."""
    one_way = sent / seconds
    both_ways, at_share = 2 * one_way, 2 * one_way / share.value
    time, rate = shown(seconds, "s"), shown(one_way, "B/s")
    return Worked(
        value=both_ways,
        unit="B/s",
        steps=(
            *steps,
            f"at {flop_rate} that takes {time}",
            f"communication as long as computation: {shown(sent, 'B')} / {time} = {rate} one way",
            f"sent and received: 2 x {rate} = {shown(both_ways, 'B/s')}",
            f"communication {share.text} of computation: {shown(at_share, 'B/s')}",
        ),
        by=f"communication = computation at {flop_rate}",
        also=(
            figure_of("one way", one_way, "B/s"),
            figure_of(f"both ways, communication {share.text} of computation", at_share, "B/s"),
            figure_of(f"both ways, summed over {ranks.text} GPUs", both_ways * ranks.value, "B/s"),
        ),
    )


def slowdown_bound(_claimed: Quantity | None, *, fast: Quantity, slow: Quantity) -> Worked:
    """Work out how many times as long a step can take at most on a slower link: the ratio of bandwidths.

    Parameters
    ----------
    fast, slow : Quantity
        B/s of one direction.

    Notes
    -----
    A step of which all were communication, and all of that bandwidth, would take fast / slow times as long; whatever is
    computation or latency takes as long as before.
    """
    value = fast.value / slow.value
    rates = f"{shown(fast.value, fast.unit)} / {shown(slow.value, slow.unit)}"
    return Worked(
        value=value,
        steps=(
            f"if a step were nothing but bytes on the link: {rates} = {number(value)} times as long",
            "any computation in it takes as long on either link, so that a real step loses less",
        ),
        by=f"at most {rates}",
    )


def transfer_time(_claimed: Quantity | None, *, nbytes: Quantity, rate: Quantity) -> Worked:
    """Divide bytes by a rate: the time on the wire, without latency."""
    value = nbytes.value / rate.value
    rate_text = shown(rate.value, rate.unit)
    return Worked(
        value=value,
        unit="s",
        steps=(f"{nbytes.text} / {rate_text} = {shown(value, 's')}",),
        by=f"{nbytes.text} / {rate_text}",
    )


def bubble(
    _claimed: Quantity | None, *, stages: Quantity, few: Quantity, many: Quantity, interleaved: Quantity
) -> Worked:
    """Compare the pipeline bubble of 1F1B with many micro-batches to that with few, as shares of the step.

    Parameters
    ----------
    stages : Quantity
        P.
    few, many : Quantity
        Micro-batches M.
    interleaved : Quantity
        Model chunks v of each stage.

    Notes
    -----
    The bubble is (P-1)/M of the ideal time and (P-1)/(M+P-1) of the step; interleaving v chunks divides the first by v
    (Narayanan et al. 2021, arXiv 2104.04473, section 2.2).
    """
    p, v = stages.value, interleaved.value
    small, large = ((p - 1) / (m.value + p - 1) for m in (many, few))
    ideal = (p - 1) / many.value
    less, more = f"{number(100 * small)} %", f"{number(100 * large)} %"
    return Worked(
        value=small / large,
        steps=(
            f"of the step, (P-1)/(M+P-1), P = {stages.text}: {more} at M = {few.text}, {less} at M = {many.text}",
            f"{less} / {more} = {number(small / large)}",
            f"of the ideal time, (P-1)/M: {number(100 * ideal)} % at M = {many.text}",
            f"interleaved {interleaved.text} times: {number(100 * ideal)} % / {v:g} = {number(100 * ideal / v)} %",
        ),
        by=f"bubble at M = {many.text} over that at {few.text}, P = {stages.text}",
        also=(
            figure_of(f"of the step, M = {few.text}", large, "", "%"),
            figure_of(f"of the step, M = {many.text}", small, "", "%"),
            figure_of(f"of the ideal time, M = {many.text}", ideal, "", "%"),
            figure_of(f"the same, interleaved {interleaved.text} times", ideal / v, "", "%"),
        ),
    )
