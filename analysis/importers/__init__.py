"""Other tools' results: read by content, converted to the canonical quantities, never guessed."""
