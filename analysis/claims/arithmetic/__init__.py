"""Predicates that work a figure out: of links (kind S) and of workloads (kind W)."""
