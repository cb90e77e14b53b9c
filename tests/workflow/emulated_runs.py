"""Runs over two emulated networks, made up: their figures are known and nothing was started."""

from __future__ import annotations

import json
from pathlib import Path

from tests.analysis.claims.links import link
from tests.analysis.made import replaced, results_of

from collmark.core.placement import Tier
from collmark.core.record import Evidence
from collmark.core.store import RunFolder
from collmark.workflow.emulated import FAST, RAW_FILE, SLOW

EVIDENCE = Evidence(tier=Tier.TCP, because=["made for a test"], emulated=True)


def emulated_runs(folder: Path, fast: float, slow: float, raw: tuple[float, float]) -> tuple[Path, Path]:
    """Write the run of a fast and of a slow network, asymptotes and raw TCP's rates in B/s."""
    paths = []
    for name, rate, own in ((FAST, fast, raw[0]), (SLOW, slow, raw[1])):
        of_case = {"backend": "gloo", "device": "cpu"}
        records = [
            replaced(record, evidence=EVIDENCE) for record in link("tcp", rate=rate, label=name, of_case=of_case)
        ]
        run = results_of(records, name).run
        made = RunFolder.create(folder / f"made-{name}", run, records)
        rates = {"1000": 1.0, "2000": own}
        (made.path / RAW_FILE).write_text(json.dumps({"EMULATED": True, "bytes_per_second": rates}), encoding="utf-8")
        paths.append(made.path)
    return paths[0], paths[1]
