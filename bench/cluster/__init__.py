"""Slurm: render, submit, watch and collect jobs."""
