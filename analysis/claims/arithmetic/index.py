"""The index of predicates that work a figure out, for kinds S and W."""

from __future__ import annotations

from collmark.analysis.claims.arithmetic import data, flops, link, tensor
from collmark.analysis.claims.predicate import Arithmetic, Form, Parameter
from collmark.core.registry import Registry

MOST_GPUS = 1e6  # divisors are tried one by one

_COUNT = Parameter(meaning="a count", least=1)
_SEVERAL = Parameter(meaning="a count of at least 2", least=2)
_COUNT_OR_NONE = Parameter(meaning="a count, or 0", zero=True)
_RATE = Parameter(unit="B/s", meaning="bytes per second, one direction")
_BYTES = Parameter(unit="B", meaning="bytes")
_SECONDS = Parameter(unit="s", meaning="a time")
_FLOP_RATE = Parameter(unit="FLOP/s", meaning="FLOP/s of one GPU")
_SHARE = Parameter(meaning="a share, as 40 %", most=1.0)
_PER_PARAMETER = Parameter(meaning="bytes a parameter or value", zero=True)

ARITHMETIC: Registry[Arithmetic] = Registry(
    "predicate of kind S or W",
    [
        ("figure", Arithmetic(work=link.figure, parameters={"of": Parameter(unit=None, meaning="a figure")})),
        (
            "ratio",
            Arithmetic(
                work=link.ratio,
                parameters={
                    "over": Parameter(unit=None, meaning="what is divided"),
                    "under": Parameter(unit=None, meaning="by what, in the same unit"),
                    "beside": Parameter(form=Form.PAIRS, unit=None, optional=True, meaning="other ratios to show"),
                },
            ),
        ),
        (
            "product",
            Arithmetic(
                work=link.product,
                parameters={"factors": Parameter(form=Form.QUANTITIES, unit=None, zero=True, meaning="figures")},
            ),
        ),
        (
            "total",
            Arithmetic(
                work=link.total,
                parameters={"terms": Parameter(form=Form.QUANTITIES, unit=None, zero=True, meaning="figures")},
            ),
        ),
        (
            "link_total",
            Arithmetic(work=link.link_total, parameters={"links": _COUNT, "rate": _RATE, "directions": _COUNT}),
        ),
        (
            "island",
            Arithmetic(
                work=link.island,
                parameters={
                    "gpus": Parameter(meaning="GPUs of the larger domain", least=1, most=MOST_GPUS),
                    "server": Parameter(meaning="GPUs of the smaller domain"),
                    "heads": Parameter(form=Form.QUANTITIES, least=1, meaning="attention heads of models"),
                },
            ),
        ),
        ("all_reduces", Arithmetic(work=tensor.all_reduces, parameters={"layers": _COUNT, "per_layer": _COUNT})),
        (
            "activation",
            Arithmetic(
                work=tensor.activation,
                parameters={
                    "micro_batch": _COUNT,
                    "sequence": _COUNT,
                    "hidden": _COUNT,
                    "value_bytes": _COUNT,
                    "split": Parameter(optional=True, least=1, meaning="tensor-parallel degree"),
                    "rate": Parameter(unit="B/s", optional=True, meaning="B/s to time the claimed bytes at"),
                },
            ),
        ),
        (
            "layer_demand",
            Arithmetic(
                work=tensor.layer_demand,
                parameters={
                    "parameters": _COUNT,
                    "layers": _COUNT,
                    "hidden": _COUNT,
                    "value_bytes": _COUNT,
                    "ranks": _SEVERAL,
                    "flop_rate": _FLOP_RATE,
                    "share": _SHARE,
                },
            ),
        ),
        ("slowdown_bound", Arithmetic(work=tensor.slowdown_bound, parameters={"fast": _RATE, "slow": _RATE})),
        ("transfer_time", Arithmetic(work=tensor.transfer_time, parameters={"nbytes": _BYTES, "rate": _RATE})),
        (
            "bubble",
            Arithmetic(
                work=tensor.bubble,
                parameters={
                    "stages": _SEVERAL,
                    "few": _COUNT,
                    "many": _COUNT,
                    "interleaved": _COUNT,
                },
            ),
        ),
        ("ring_volume", Arithmetic(work=data.ring_volume, parameters={"ranks": _SEVERAL})),
        (
            "ring_time",
            Arithmetic(
                work=data.ring_time,
                parameters={
                    "parameters": _COUNT,
                    "value_bytes": _COUNT,
                    "rate": _RATE,
                    "ranks": _SEVERAL,
                    "split": _COUNT,
                },
            ),
        ),
        (
            "zero_memory",
            Arithmetic(
                work=data.zero_memory,
                parameters={
                    "parameters": _COUNT,
                    "ranks": _COUNT,
                    "sharded": Parameter(
                        form=Form.WORDS, choices=data.STATES, optional=True, meaning="what a rank keeps a share of"
                    ),
                    "weights": _PER_PARAMETER,
                    "gradients": _PER_PARAMETER,
                    "optimizer": _PER_PARAMETER,
                },
            ),
        ),
        ("zero_volume", Arithmetic(work=data.zero_volume, parameters={"ranks": _SEVERAL})),
        (
            "replicas",
            Arithmetic(
                work=data.replicas,
                parameters={"copies": _COUNT, "parameters": _COUNT, "each": _COUNT, "spare": _COUNT_OR_NONE},
            ),
        ),
        (
            "gpus_to_hold",
            Arithmetic(
                work=data.gpus_to_hold,
                parameters={
                    "nbytes": _BYTES,
                    "memory": _BYTES,
                    "extra": Parameter(form=Form.QUANTITIES, unit="B", optional=True, meaning="bytes on top"),
                },
            ),
        ),
        (
            "token_flops",
            Arithmetic(work=flops.token_flops, parameters={"forward": _COUNT_OR_NONE, "backward": _COUNT_OR_NONE}),
        ),
        ("recompute_flops", Arithmetic(work=flops.recompute_flops, parameters={"forwards": _COUNT})),
        (
            "optimizer_flops",
            Arithmetic(work=flops.optimizer_flops, parameters={"operations": _COUNT, "tokens": _COUNT}),
        ),
        (
            "training_gpus",
            Arithmetic(
                work=flops.training_gpus,
                parameters={
                    "parameters": _COUNT,
                    "tokens": _COUNT,
                    "flop_rate": _FLOP_RATE,
                    "efficiency": _SHARE,
                    "time": _SECONDS,
                    "efficiencies": Parameter(form=Form.QUANTITIES, optional=True, most=1.0, meaning="other shares"),
                    "gpus": Parameter(optional=True, meaning="GPUs that were used"),
                    "gpu_time": Parameter(unit="s", optional=True, meaning="GPU time that is published"),
                },
            ),
        ),
    ],
)
"""Every predicate of kinds S and W."""
