"""Fields of stored types carry their meaning and unit."""

from __future__ import annotations

import msgspec


def meaning(text: str, unit: str = "") -> msgspec.Meta:
    """Annotate a field with its meaning and unit."""
    return msgspec.Meta(description=text, extra={"unit": unit})
