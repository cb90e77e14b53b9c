"""The index of importers: the tools whose output is read."""

from __future__ import annotations

from collmark.analysis.importers import (
    deepspeed_bench,
    deepspeed_logger,
    gloo,
    imb,
    ml_engineering,
    ml_engineering_table,
    mscclpp,
    nccl,
    nccl_reporter,
    nvbandwidth,
    osu,
    param,
    perftest,
    ucc,
)
from collmark.analysis.importers.section import Importer
from collmark.core.registry import Registry

IMPORTERS: Registry[Importer] = Registry(
    "tool",
    [
        (one.name, one)
        for one in (
            imb.IMPORTER,
            nccl.IMPORTER,
            nccl_reporter.IMPORTER,
            osu.IMPORTER,
            gloo.IMPORTER,
            mscclpp.IMPORTER,
            nvbandwidth.IMPORTER,
            perftest.IMPORTER,
            ucc.IMPORTER,
            param.IMPORTER,
            deepspeed_bench.IMPORTER,
            deepspeed_logger.IMPORTER,
            ml_engineering.IMPORTER,
            ml_engineering_table.IMPORTER,
        )
    ],
)
"""In the order in which a line is offered to them."""
