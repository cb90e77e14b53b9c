"""The index of cost models."""

from __future__ import annotations

from collmark.analysis.models.constant import CONSTANT
from collmark.analysis.models.hockney import HOCKNEY
from collmark.core.registry import Registry

MODELS = Registry("model", [(model.name, model) for model in (CONSTANT, HOCKNEY)])
