"""Every row of kind W once more, by counting: rings carried out, pipelines scheduled, operations and bytes added up."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.analysis.claims.counted import (
    Counted,
    Ring,
    matrix,
    one_f_one_b,
    operations_of,
    product,
    transposed,
)

from collmark.analysis.claims.finding import Finding, Kind
from collmark.analysis.claims.table import Table

Bare = dict[tuple[str, str], Finding]
GB = 10**9
NDR = 400 * GB // 8
HALF = np.dtype(np.float16).itemsize
LAYERS, HIDDEN, SEQUENCE, PARAMETERS = 80, 8192, 8192, 70 * GB


def activation_bytes() -> int:
    """Return the bytes of one sequence's activations, from an array that takes no memory."""
    return int(np.broadcast_to(np.float16(0), (1, SEQUENCE, HIDDEN)).nbytes)


def ring(operation: str, ranks: int) -> Fraction:
    """Return what each rank sends over the whole vector, by doing it."""
    one = Ring(ranks)
    if operation == "all_reduce":
        summed = one.all_reduce()
        assert {value for vector in summed for value in vector} == {sum(range(1, ranks + 1))}
    elif operation == "all_gather":
        own = [[rank if chunk == rank else -1 for chunk in range(ranks)] for rank in range(ranks)]
        assert one.all_gather(own) == [list(range(ranks))] * ranks
    else:
        one.reduce_scatter([[rank + 1] * ranks for rank in range(ranks)])
    return one.each


def all_reduces_of_a_pass() -> int:
    return sum(1 for _layer in range(LAYERS) for _behind in ("attention", "mlp"))


def demand() -> float:
    """Sent and received by a GPU for each second that 8,192 tokens of a layer take at 989.4 TFLOP/s on 8 GPUs."""
    sent = sum(ring("all_reduce", 8) * activation_bytes() for _behind in ("attention", "mlp"))
    flops = sum(2 * Fraction(PARAMETERS, LAYERS) for _token in range(SEQUENCE)) / 8
    return float((sent + sent) / (flops / Fraction(989_400 * GB)))


def longest_step() -> float:
    """Return how many times as long a step gets on a link 18 times slower, whatever its share of communication."""
    shares = [Fraction(percent, 100) for percent in range(101)]
    slow = Fraction(18 * 50 * GB, 50 * GB)
    return float(max((1 - share) + share * slow for share in shares))


def states(parameters: int, ranks: int, sharded: set[str]) -> float:
    """Return the bytes on rank 0: arrays of mixed-precision AdamW, of which some are dealt out to all ranks."""
    kinds = [
        ("weights", np.float16),
        ("gradients", np.float16),
        ("optimizer", np.float32),
        ("optimizer", np.float32),
        ("optimizer", np.float32),
    ]
    total = 0
    for kind, dtype in kinds:
        own = len(range(0, parameters, ranks)) if kind in sharded else parameters
        total += own * np.dtype(dtype).itemsize
    return float(total)


def gpus_until_held(nbytes: int, each: int = 80 * GB) -> int:
    count = 0
    while nbytes > 0:
        nbytes -= each
        count += 1
    return count


def forward_flops() -> Fraction:
    """FLOPs of a linear layer's forward pass for each weight and token, counted."""
    x, w = matrix(1, 6), matrix(6, 4)
    return Fraction(operations_of(lambda: product(x, w)), 6 * 4)


def backward_flops() -> Fraction:
    """The same for a backward pass: gradients of what came in, and of the weights."""
    x, w, dy = matrix(1, 6), matrix(6, 4), matrix(1, 4)
    return Fraction(operations_of(lambda: (product(dy, transposed(w)), product(transposed(x), dy))), 6 * 4)


def adamw_operations() -> int:
    """Operations of arXiv 1711.05101, algorithm 2, lines 7 to 12, on one parameter; powers of beta are one for all."""
    theta, gradient, m, v = (Counted(x) for x in (0.5, 0.1, 0.2, 0.3))
    rate, schedule, decay, epsilon = 1e-3, 1.0, 0.1, 1e-8

    def update() -> Counted:
        first = m * 0.9 + gradient * 0.1
        second = v * 0.999 + gradient * gradient * 0.001
        unbiased, spread = first / 0.19, second / 0.002
        return theta - (unbiased * rate / (spread.root() + epsilon) + theta * decay) * schedule

    return operations_of(update)


# Id to (figure in the unit of the finding, verdict).
FOUND: dict[str, tuple[Callable[[], float | Fraction], str]] = {
    "tp-count": (all_reduces_of_a_pass, "fails"),
    "tp-18gb": (lambda: Fraction(activation_bytes(), 10**6), "fails"),
    "tp-demand-900": (lambda: demand() / GB, "fails"),
    "tp-ib-1000x": (longest_step, "fails"),
    "pp-80ms": (lambda: Fraction(4 * GB * 8, 400 * GB) * 1000, "holds"),
    "pp-size": (lambda: Fraction(activation_bytes(), 10**6), "fails"),
    "pp-bubble": (lambda: one_f_one_b(8, 64) / one_f_one_b(8, 8), "holds"),
    "dp-volume": (lambda: ring("all_reduce", 64), "holds"),
    "dp-2.8s": (lambda: ring("all_reduce", 64) * PARAMETERS * HALF / NDR, "fails"),
    "zero3-comm-down": (
        lambda: (2 * ring("all_gather", 64) + ring("reduce_scatter", 64)) / ring("all_reduce", 64),
        "fails",
    ),
    "zero-memory": (lambda: states(PARAMETERS, 1, set()) / GB, "holds"),
    "zero-stages": (lambda: states(75 * GB // 10, 64, {"optimizer"}) / GB, "holds"),
    "adam-16": (lambda: states(1, 1, set()), "holds"),
    "gpt3-redundant": (lambda: Fraction(len(range(1, 64)) * 175 * GB * 3 * 4, 10**12), "fails"),
    "fit-gpus": (lambda: gpus_until_held(1120 * GB), "fails"),
    "node-640": (lambda: sum(80 for _gpu in range(8)), "holds"),
    "flops-6nd": (forward_flops, "fails"),
    "llama-405b": (
        lambda: Fraction(6 * 405 * GB * 15_600 * GB, 30 * 24 * 3600) / (Fraction(989_400 * GB) * Fraction(2, 5)),
        "holds",
    ),
    "recompute-33": (lambda: 100 * forward_flops() / (forward_flops() + backward_flops()), "holds"),
}


def test_every_row_is_here_and_in_closed_form(table: Table) -> None:
    rows = {claim.id: aspect for claim in table.claims for aspect in claim.aspects if aspect.kind is Kind.WORKLOAD}
    assert list(rows) == list(FOUND)
    assert sum(aspect.closed_form for aspect in rows.values()) >= 15


@pytest.mark.parametrize("name", FOUND)
def test_figure_and_verdict(bare: Bare, name: str) -> None:
    finding = bare[name, "W"]
    figure, verdict = FOUND[name]
    assert finding.found is not None
    # Shards are of whole elements.
    assert finding.found.value == pytest.approx(float(figure()), rel=1e-6)
    assert finding.verdict == verdict
    assert finding.steps
    assert finding.would_change


def part(bare: Bare, name: str, says: str) -> tuple[float, str]:
    (one,) = (one for one in bare[name, "W"].parts if one.says.startswith(says))
    assert one.found is not None
    return one.found.value, str(one.verdict)


def also(bare: Bare, name: str, start: str) -> float:
    (figure,) = (figure for figure in bare[name, "W"].also if figure.name.startswith(start))
    return figure.value


def test_dozens_in_each_block_fail_too(bare: Bare) -> None:
    passes = [(direction, place) for direction in ("forward", "backward") for place in ("attention", "mlp")]
    assert part(bare, "tp-count", "dozens") == (len(passes), "fails")
    assert any("contradicts itself" in note for note in bare["tp-count", "W"].notes)


def test_batch_that_would_give_18_gb(bare: Bare) -> None:
    batch = next(batch for batch in itertools.count(1) if batch * activation_bytes() >= 18 * GB)
    assert batch - 1 < also(bare, "tp-18gb", "micro-batch that gives") <= batch
    assert also(bare, "tp-18gb", "18 GB at 900 GB/s") == pytest.approx(20)  # ms


def test_demand_where_communication_is_a_tenth(bare: Bare) -> None:
    assert also(bare, "tp-demand-900", "one way") == pytest.approx(demand() / 2 / GB)
    assert also(bare, "tp-demand-900", "both ways, communication 0.1") == pytest.approx(10 * demand() / 10**12)


def test_boundary_is_divided_by_sequence_parallelism(bare: Bare) -> None:
    assert also(bare, "pp-size", "a GPU, sequence-parallel over 8") == pytest.approx(activation_bytes() / 8 / 10**6)


@pytest.mark.parametrize("micro_batches", [1, 8, 64])
def test_bubble_is_that_of_the_schedule(bare: Bare, micro_batches: int) -> None:
    share = one_f_one_b(8, micro_batches)
    assert share == Fraction(7, micro_batches + 7)
    if micro_batches > 1:
        assert also(bare, "pp-bubble", f"of the step, M = {micro_batches}") == pytest.approx(float(100 * share))
        ideal = share / (1 - share)
        if micro_batches == 64:
            assert also(bare, "pp-bubble", "of the ideal time") == pytest.approx(float(100 * ideal))


def test_volume_at_two_ranks_is_one(bare: Bare) -> None:
    assert also(bare, "dp-volume", "at 2 ranks") == float(ring("all_reduce", 2)) == 1


def test_one_pass_is_where_2_8_seconds_come_from(bare: Bare) -> None:
    assert also(bare, "dp-2.8s", "one pass") == 140 / 50
    own = PARAMETERS * HALF // 8
    assert own == 175 * GB // 10
    seconds = float(ring("all_reduce", 64) * own / NDR)
    assert also(bare, "dp-2.8s", "with tensor parallelism 8") == pytest.approx(1000 * seconds)


def test_a_share_of_zero_3(bare: Bare) -> None:
    every = {"weights", "gradients", "optimizer"}
    value, verdict = part(bare, "zero-memory", "17.5 GB")
    assert (round(value, 6), verdict) == (states(PARAMETERS, 64, every) / GB, "holds")


@pytest.mark.parametrize(
    ("says", "sharded", "published"),
    [
        ("ZeRO-1", {"optimizer"}, 31.4),
        ("ZeRO-2", {"gradients", "optimizer"}, 16.6),
        ("ZeRO-3", {"weights", "gradients", "optimizer"}, 1.9),
    ],
)
def test_stages_give_the_papers_memory(bare: Bare, says: str, sharded: set[str], published: float) -> None:
    value, verdict = part(bare, "zero-stages", says)
    assert value == pytest.approx(states(75 * GB // 10, 64, sharded) / GB, rel=1e-6)
    assert (round(value, 1), verdict) == (published, "holds")


def test_inference_holds_weights_alone(bare: Bare) -> None:
    assert part(bare, "adam-16", "2 B") == (HALF, "holds")


def test_all_copies_of_gpt3_hold_and_redundant_ones_do_not(bare: Bare) -> None:
    copies = [175 * GB * 12 for _copy in range(64)]
    for says, verdict in (("64 copies", "holds"), ("as much is redundant", "fails")):
        value, found = part(bare, "gpt3-redundant", says)
        assert value == pytest.approx(sum(copies) / 10**12)
        assert found == verdict
        copies.pop()


def test_gpus_with_activations(bare: Bare) -> None:
    for extra in (300, 500):
        assert also(bare, "fit-gpus", f"GPUs with {extra} GB more") == gpus_until_held((1120 + extra) * GB)
    assert part(bare, "fit-gpus", "7 are too few") == (560, "holds")
    assert gpus_until_held(1120 * GB) > 7


def test_split_of_flops(bare: Bare) -> None:
    counted = {
        "6 N in all": (float(forward_flops() + backward_flops()), "holds"),
        "forward": (float(forward_flops()), "fails"),
        "backward": (float(backward_flops()), "fails"),
        "optimizer": (adamw_operations() / 4_000_000, "fails"),
    }
    for says, wanted in counted.items():
        assert part(bare, "flops-6nd", says) == wanted


def test_405b_at_other_efficiencies_and_on_the_gpus_used(bare: Bare) -> None:
    flops = 6 * 405 * GB * 15_600 * GB
    for share in (38, 43):
        gpus = flops / (30 * 86400 * 989.4e12 * share / 100)
        assert also(bare, "llama-405b", f"GPUs at {share} %") == pytest.approx(gpus)
    assert also(bare, "llama-405b", "time on 16384") == pytest.approx(flops / (0.4 * 989.4e12 * 16384) / 86400)
    assert also(bare, "llama-405b", "GPUs, from the published") == pytest.approx(30.84e6 / 24 / 30)


def test_18_and_1000_times_contradict_each_other(bare: Bare) -> None:
    for name, kind, other in (("tp-ib-18x", "P", "tp-ib-1000x"), ("tp-ib-1000x", "W", "tp-ib-18x")):
        assert any(f"contradicts {other}" in note for note in bare[name, kind].notes)


def test_zero_3_contradicts_itself(bare: Bare) -> None:
    assert any("contradicts itself" in note for note in bare["zero3-comm-down", "W"].notes)
