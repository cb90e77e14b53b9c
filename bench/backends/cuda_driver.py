"""What the NVIDIA driver says of the GPUs that this process may use, and what torch lacks: without torch or a context.

Asked through ctypes of the driver's own library, which heeds CUDA_VISIBLE_DEVICES as torch will.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import runpy
import uuid
from pathlib import Path

import msgspec

LIBRARY = "libcuda.so.1"
LONGEST_NAME = 256
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE of cuda.h: the driver works, and shows no GPU


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU: its name, its memory in B, and the name that no other has."""

    name: str
    memory: int
    uuid: str = ""


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """The driver.

    Attributes
    ----------
    version : tuple of int
        Latest CUDA that it supports, major and minor.
    gpus : tuple of Gpu
        In the order in which torch numbers them.
    fault : str
        Why it shows none, where that is an error.
    """

    version: tuple[int, int]
    gpus: tuple[Gpu, ...] = ()
    fault: str = ""


@functools.cache
def find_driver() -> Driver | None:
    """Return what the driver says; None where there is none."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    number = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(number))
    # As cuda.h writes a version: 1000 x major + 10 x minor.
    version = (number.value // 1000, number.value % 1000 // 10)
    code = library.cuInit(0)
    if code:
        return Driver(version=version, fault="" if code == NO_DEVICE else _words_of(library, code))
    library.cuDeviceGetCount(ctypes.byref(number))
    return Driver(version=version, gpus=tuple(_gpu(library, index) for index in range(number.value)))


def _gpu(library: ctypes.CDLL, index: int) -> Gpu:
    device, name, memory = ctypes.c_int(), ctypes.create_string_buffer(LONGEST_NAME), ctypes.c_size_t()
    library.cuDeviceGet(ctypes.byref(device), index)
    library.cuDeviceGetName(name, LONGEST_NAME, device)
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    return Gpu(name=name.value.decode(errors="replace"), memory=memory.value, uuid=_uuid(library, device))


def _uuid(library: ctypes.CDLL, device: ctypes.c_int) -> str:
    """Return a device's UUID as nvidia-smi writes it; empty where the driver has no such function."""
    ask, value = getattr(library, "cuDeviceGetUuid_v2", None), (ctypes.c_ubyte * 16)()
    return "" if ask is None or ask(value, device) else f"GPU-{uuid.UUID(bytes=bytes(value))}"


def _words_of(library: ctypes.CDLL, code: int) -> str:
    words = ctypes.c_char_p()
    library.cuGetErrorString(code, ctypes.byref(words))
    return f"{(words.value or b'unknown error').decode(errors='replace')} ({code})"


def torch_cuda() -> str:
    """Return the version of CUDA that the installed torch is built for; empty where it is built without."""
    spec = importlib.util.find_spec("torch")
    folders = spec.submodule_search_locations if spec is not None else None
    if not folders:
        return ""
    return runpy.run_path(str(Path(folders[0], "version.py"))).get("cuda") or ""


def missing_for(built: str, driver: Driver | None) -> str:
    """Return what a torch lacks here to run on a GPU, with the remedy; empty where nothing is missing.

    Parameters
    ----------
    built : str
        CUDA that torch is built for, as ``13.0``.
    driver : Driver or None
        That of this host.
    """
    if not built:
        return (
            "this torch is built without CUDA: pip uninstall torch, and install the default wheel of the package index "
            "for Linux, which has it (pip install torch)"
        )
    if driver is None:
        return f"no NVIDIA driver was found ({LIBRARY}): install it, or give this container its GPUs"
    # Within one major version a program runs on any driver (CUDA's minor version compatibility).
    major = int(built.partition(".")[0])
    if driver.version[0] < major:
        has = ".".join(map(str, driver.version))
        return f"torch is built for CUDA {built} and the driver for {has}: update the driver, or take a torch for that"
    if driver.fault:
        return f"the NVIDIA driver shows no GPU: {driver.fault}"
    if not driver.gpus:
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = "" if chosen is None else f": CUDA_VISIBLE_DEVICES is {chosen!r}"
        return f"no GPU is seen{why or ': give this job or container its GPUs'}"
    return ""
