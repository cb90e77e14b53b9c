"""How the fields of what is stored carry their meaning and unit."""

from __future__ import annotations

import msgspec

S, B = "s", "B"


def meaning(text: str, unit: str = "") -> msgspec.Meta:
    """Annotate a field with its meaning and unit."""
    return msgspec.Meta(description=text, extra={"unit": unit})
