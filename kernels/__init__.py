"""Local work on one device: fill, check, copy, reduce, delay, and the native timing loop."""

if __name__ != "collmark.kernels":
    raise ImportError(f"this folder is the package collmark.kernels: import collmark.kernels, not {__name__}")
