"""Bounds of stored numbers, as annotations: they hold wherever something is decoded, and a fault has its place."""

from __future__ import annotations

from typing import Annotated

import msgspec

LARGEST = 2**63 - 1
"""Whole numbers are stored in int64 columns."""

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Ordinal = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
