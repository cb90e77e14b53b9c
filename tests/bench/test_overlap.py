"""Overlap: the share of a non-blocking call that a computation hides."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import msgspec
import pytest
from tests.bench.scripted import CASE, ScriptedTeam, measured

from collmark.core.case import Buffers, Cadence, Form


@pytest.mark.parametrize(("hides", "expected"), [(0.0, 0.0), (0.25, 0.25), (1.0, 1.0), (-0.5, 0.0)])
def test_overlap_is_the_share_that_a_computation_as_long_as_the_call_hides(hides: float, expected: float) -> None:
    team = ScriptedTeam(repeat(1e-3))
    team.hides = hides
    case = msgspec.structs.replace(CASE, form=Form.NONBLOCKING)
    assert measured(team, case).record.overlap == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("form", [Form.BLOCKING, Form.PERSISTENT])
def test_other_forms_have_no_overlap(form: Form) -> None:
    assert measured(ScriptedTeam(repeat(1e-3)), msgspec.structs.replace(CASE, form=form)).record.overlap is None


@pytest.mark.parametrize("change", [{"cadence": Cadence.STREAMING}, {"buffers": Buffers.ROTATED}])
def test_overlap_is_measured_in_isolation_on_the_same_buffers(change: dict[str, Any]) -> None:
    case = msgspec.structs.replace(CASE, form=Form.NONBLOCKING, **change)
    assert measured(ScriptedTeam(repeat(1e-3)), case).record.overlap is None
