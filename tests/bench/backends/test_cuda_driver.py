"""What is said where torch, its CUDA, the driver or the GPUs are missing; the driver is one that is built here."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from collmark.bench.backends import cuda_driver
from collmark.bench.backends.cuda_driver import Driver, Gpu, find_driver, missing_for, torch_cuda

GIB = 2**30
# The functions of the driver's library that are asked, as its header (cuda.h) declares them.
SOURCE = """\
#include <stddef.h>
#include <string.h>

int cuDriverGetVersion(int *version) { *version = 13010; return 0; }
int cuInit(unsigned flags) { return flags ? 1 : CODE; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 40 + ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, device == 40 ? "GPU of the first place" : "another", length);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)(device - 38) << 33; return 0; }
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    for (int place = 0; place < 16; ++place) uuid[place] = device;
    return 0;
}
int cuGetErrorString(int code, const char **words) { *words = "system not yet initialized"; return 0; }
"""


UUIDS = [f"GPU-{4 * byte}-{2 * byte}-{2 * byte}-{2 * byte}-{6 * byte}" for byte in ("28", "29")]


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let the driver be asked anew."""
    find_driver.cache_clear()
    yield
    find_driver.cache_clear()


def build(folder: Path, code: int) -> str:
    """Return a library that answers as a driver would, whose start gives a code."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is installed (Debian: apt-get install gcc)")
    (folder / "driver.c").write_text(SOURCE)
    library = folder / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", f"-DCODE={code}", "-o", str(library), str(folder / "driver.c")]
    subprocess.run(command, check=True)
    return str(library)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            0,
            Driver(
                version=(13, 1),
                gpus=(
                    Gpu(name="GPU of the first place", memory=16 * GIB, uuid=UUIDS[0]),
                    Gpu(name="another", memory=24 * GIB, uuid=UUIDS[1]),
                ),
            ),
        ),
        (100, Driver(version=(13, 1))),
        (802, Driver(version=(13, 1), fault="system not yet initialized (802)")),
    ],
)
def test_a_driver_says_what_there_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, expected: Driver
) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", build(tmp_path, code))
    assert find_driver() == expected


@pytest.mark.usefixtures("fresh")
def test_no_library_is_no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", str(tmp_path / "libcuda.so.1"))
    assert find_driver() is None


@pytest.mark.parametrize(
    ("built", "driver", "words"),
    [
        ("", Driver(version=(13, 1)), "this torch is built without CUDA: .* the default wheel"),
        ("13.0", None, "no NVIDIA driver was found .*: install it, or give this container its GPUs"),
        ("13.0", Driver(version=(12, 8)), "built for CUDA 13.0 and the driver for 12.8: update the driver"),
        ("13.0", Driver(version=(13, 0), fault="not permitted (800)"), "the NVIDIA driver shows no GPU: not permitted"),
        ("13.0", Driver(version=(13, 0)), "no GPU is seen: CUDA_VISIBLE_DEVICES is ''"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, built: str, driver: Driver | None, words: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = missing_for(built, driver)
    assert re.search(words, found), found
    assert "\n" not in found


def test_nothing_is_missing_within_a_major_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpus = (Gpu(name="one", memory=GIB),)
    for version in ((13, 0), (13, 2), (14, 0)):
        assert missing_for("13.1", Driver(version=version, gpus=gpus)) == ""
    assert missing_for("13.1", Driver(version=(13, 2))) == "no GPU is seen: give this job or container its GPUs"


@pytest.mark.parametrize(("line", "built"), [("cuda = '12.8'", "12.8"), ("cuda = None", "")])
def test_what_torch_is_built_for_stands_in_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, built: str
) -> None:
    (tmp_path / "version.py").write_text(f"__version__ = '9.9'\n{line}\n")
    spec = importlib.machinery.ModuleSpec("torch", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    assert torch_cuda() == built


def test_what_this_torch_is_built_for_is_what_it_says() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install torch)")
    assert torch_cuda() == (torch.version.cuda or "")
