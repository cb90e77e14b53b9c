"""Backends: one file for each piece of software that moves bytes, and one row for it in the index."""
