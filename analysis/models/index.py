"""The index of cost models; segments are made to measure in :mod:`collmark.analysis.models.segments`."""

from __future__ import annotations

from collmark.analysis.models.constant import CONSTANT
from collmark.analysis.models.hockney import HOCKNEY, P_NORM, SQUARE_ROOT
from collmark.core.registry import Registry

MODELS = Registry("model", [(model.name, model) for model in (CONSTANT, HOCKNEY, P_NORM, SQUARE_ROOT)])
