"""Job scripts and site profiles for Slurm: package data, so that an installed wheel can render them."""

if __name__ != "collmark.slurm":
    raise ImportError(f"this folder is the package collmark.slurm: import collmark.slurm, not {__name__}")
