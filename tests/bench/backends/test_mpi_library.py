"""Which MPI library is chosen, which launcher belongs to it, and which launchers are turned away."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mpi_libraries import FAMILIES, WHEEL, every_library, path_of

from collmark.bench.backends import mpi_library
from collmark.bench.backends.mpi_library import (
    MPICH,
    OPEN_MPI,
    MpiLibrary,
    candidates,
    check_launcher,
    choose,
    launcher_family,
    launcher_release,
    probe,
    started_by,
)
from collmark.core.errors import UnavailableError, UsageError

Install = Callable[..., Path]
VERSIONS = {MPICH: "HYDRA build details:", OPEN_MPI: "mpiexec (OpenRTE) 4.1.4"}


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Return a function that makes the folders of an installation, with a launcher that says what it is."""

    def make(name: str, family: str, *, library: str = "", launcher: str = "mpiexec", words: str = "") -> Path:
        prefix = tmp_path / name
        for folder in ("bin", "lib"):
            (prefix / folder).mkdir(parents=True, exist_ok=True)
        (prefix / "lib" / (library or ("libmpi.so.12" if family == MPICH else "libmpi.so.40"))).touch()
        path = prefix / "bin" / launcher
        path.write_text(f"#!/bin/sh\necho '{words or VERSIONS[family]}'\n")
        path.chmod(0o755)
        return prefix

    return make


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load nothing: a library is what its file name says."""
    mpi_library._said_by.cache_clear()
    probe.cache_clear()
    monkeypatch.setattr(mpi_library, "is_selectable", lambda: True)


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for loading a library."""

    def probe_by_name(path: Path) -> MpiLibrary:
        family = OPEN_MPI if path.name.endswith("40") else MPICH
        launcher = mpi_library._launcher_of(path, family)
        return MpiLibrary(path=str(path), family=family, version=family, mpiexec=launcher)

    monkeypatch.setattr(mpi_library, "probe", probe_by_name)


@pytest.mark.usefixtures("unloaded")
def test_of_two_libraries_none_is_taken_unasked(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    own, site = install("venv", MPICH), install("site", OPEN_MPI)
    monkeypatch.setattr(sys, "prefix", str(own))
    environ = {"PATH": f"{own}/bin:{site}/bin"}
    with pytest.raises(UsageError) as caught:
        choose("", environ)
    assert str(caught.value) == (
        "several MPI libraries are here, and none is taken unasked: say --mpi-library environment "
        f"(mpich, {own}/lib/libmpi.so.12) or --mpi-library site (openmpi, {site}/lib/libmpi.so.40)"
    )
    assert choose("environment", environ).mpiexec == f"{own}/bin/mpiexec"
    assert choose("site", environ).mpiexec == f"{site}/bin/mpiexec"
    assert choose("", environ | {"COLLMARK_MPI_LIBRARY": "site"}).family == OPEN_MPI
    assert choose("", environ | {"MPI4PY_LIBMPI": f"{own}/lib/libmpi.so.12"}).family == MPICH
    assert choose(str(site), environ).path == f"{site}/lib/libmpi.so.40"


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("where", ["venv", "site"])
def test_the_only_library_is_taken(
    install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    prefix = install(where, OPEN_MPI)
    assert choose("", {"PATH": f"{prefix}/bin"}).path == f"{prefix}/lib/libmpi.so.40"


@pytest.mark.usefixtures("unloaded")
def test_two_wheels_in_one_environment_are_told_apart(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    # The second wheel's mpiexec has replaced the first's.
    own = install("venv", MPICH)
    install("venv", OPEN_MPI)
    monkeypatch.setattr(sys, "prefix", str(own))
    assert dict(candidates({"PATH": f"{own}/bin"})) == {
        f"{own}/lib/libmpi.so.12": own / "lib" / "libmpi.so.12",
        "environment": own / "lib" / "libmpi.so.40",
    }
    assert choose(f"{own}/lib/libmpi.so.12", {}).mpiexec == ""


@pytest.mark.parametrize("asked", ["environment", "site"])
def test_what_is_asked_for_and_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: str) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(UsageError, match=rf"--mpi-library {asked}: no MPI library in .* \(there is: none\)"):
        choose(asked, {"PATH": str(tmp_path)})


def test_no_library_at_all_is_missing_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"no MPI library was found: install one \(Debian: openmpi-bin\), load"):
        choose("", {"PATH": str(tmp_path)})


@pytest.mark.parametrize("asked", ["somewhere", "lib/libmpi.so", "/not/there/libmpi.so"])
def test_a_place_that_is_none_is_refused(asked: str) -> None:
    with pytest.raises(UsageError, match=f"--mpi-library {asked}: must be environment, site, or an absolute path"):
        choose(asked, {})


def test_a_file_that_is_no_library_cannot_be_loaded(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    (tmp_path / "libmpi.so.12").write_text("text")
    with pytest.raises(UnavailableError, match=r"libmpi\.so\.12 cannot be loaded"):
        choose(str(tmp_path / "libmpi.so.12"), {})


@pytest.mark.parametrize("launcher", ["mpiexec.openmpi", "mpiexec"])
def test_the_launcher_is_the_nearest_of_the_same_family(install: Install, launcher: str) -> None:
    prefix = install("usr", OPEN_MPI, launcher=launcher)
    install("usr", MPICH, launcher="mpiexec.mpich")
    assert mpi_library._launcher_of(prefix / "lib" / "x86_64" / "libmpi.so.40", OPEN_MPI) == f"{prefix}/bin/{launcher}"


def test_the_launcher_of_another_release_does_not_belong_to_a_library(install: Install) -> None:
    site = install("usr", OPEN_MPI, words="mpirun (Open MPI) 5.0.8")
    own = install("usr/opt", OPEN_MPI)  # of release 4
    library = own / "lib" / "libmpi.so.40"
    assert mpi_library._launcher_of(library, OPEN_MPI, "4") == f"{own}/bin/mpiexec"
    assert mpi_library._launcher_of(library, OPEN_MPI, "5") == f"{site}/bin/mpiexec"
    assert mpi_library._launcher_of(library, OPEN_MPI, "6") == ""


@pytest.mark.parametrize(
    ("words", "release"),
    [
        ("mpiexec (OpenRTE) 4.1.4", "4"),
        ("mpirun (Open MPI) 5.0.10", "5"),
        ("mpirun (Open MPI) 10.0.0rc1", "10"),
        ("prterun (PRRTE) 3.0.9", ""),  # which counts otherwise than Open MPI
        ("HYDRA build details:\n    Version: 5.0.2", ""),
    ],
)
def test_the_release_is_that_of_open_mpi(install: Install, words: str, release: str) -> None:
    assert launcher_release(f"{install('a', OPEN_MPI, words=words)}/bin/mpiexec") == release


@pytest.mark.parametrize(("theirs", "turned_away"), [("4", False), ("5", True)])
def test_a_launcher_of_another_release_is_turned_away(install: Install, theirs: str, turned_away: bool) -> None:  # noqa: FBT001
    # Open MPI 4 is started by orterun, 5 by prterun, beside which mpiexec lies.
    prefix = install("site", OPEN_MPI, words=f"mpirun (Open MPI) {theirs}.0.1")
    library = MpiLibrary(path="/a/libmpi.so.40", family=OPEN_MPI, version="Open MPI 4.1.4", mpiexec="/a/mpiexec")
    environ = {"OMPI_COMM_WORLD_SIZE": "2"}
    check_launcher(library, "mpiexec", environ, "/no/such/prterun")
    if not turned_away:
        check_launcher(library, "mpiexec", environ, f"{prefix}/bin/prterun")
        return
    with pytest.raises(UnavailableError) as caught:
        check_launcher(library, "mpiexec", environ, f"{prefix}/bin/prterun")
    assert str(caught.value) == (
        f"{prefix}/bin/mpiexec of Open MPI 5 has started these ranks, and the MPI library is Open MPI 4.1.4, "
        "/a/libmpi.so.40: one release does not start ranks of another; its own launcher is /a/mpiexec; use that, or "
        "choose the library with --mpi-library"
    )


def test_words_that_are_no_text_do_not_break_the_question(install: Install) -> None:
    prefix = install("site", OPEN_MPI)
    (prefix / "bin" / "mpiexec").write_bytes(b"#!/bin/sh\nprintf 'Open MPI \\377'\n")
    assert launcher_family(f"{prefix}/bin/mpiexec") == OPEN_MPI


@every_library
def test_real_libraries_say_what_they_are_and_have_their_launcher(library: str) -> None:
    found = probe(Path(path_of(library)))
    assert found.family == FAMILIES[library]
    assert launcher_family(found.mpiexec) == found.family
    assert launcher_release(found.mpiexec) == found.release
    assert found.version.split(".")[0].endswith(found.release)
    assert found.path == path_of(library)


@pytest.mark.parametrize(
    ("environ", "family"),
    [
        ({}, ""),
        ({"PMI_RANK": "0"}, MPICH),
        ({"OMPI_COMM_WORLD_SIZE": "2"}, OPEN_MPI),
        ({"PMI_RANK": "0", "SLURM_PROCID": "0"}, ""),  # srun serves both, with the right --mpi
    ],
)
def test_launchers_are_known_by_what_they_tell_ranks(environ: dict[str, str], family: str) -> None:
    assert started_by(environ) == family


def test_a_foreign_launcher_is_turned_away_with_the_right_one() -> None:
    library = MpiLibrary(path="/a/libmpi.so.12", family=MPICH, version="MPICH 5.0.2", mpiexec="/a/mpiexec")
    check_launcher(library, "mpiexec", {"PMI_RANK": "0"})
    check_launcher(library, "srun", {"SLURM_PROCID": "0"})
    with pytest.raises(UnavailableError) as caught:
        check_launcher(library, "mpiexec", {"OMPI_COMM_WORLD_SIZE": "2"})
    assert str(caught.value) == (
        "the mpiexec of Open MPI has started these ranks, and the MPI library is MPICH 5.0.2, /a/libmpi.so.12: every "
        "process would be rank 0; its own launcher is /a/mpiexec; use that, or choose the library with --mpi-library"
    )
    with pytest.raises(UnavailableError, match="torchrun starts no MPI"):
        check_launcher(library, "torchrun", {})


def test_an_mpi4py_of_one_library_loads_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    only = MpiLibrary(path=path_of(WHEEL), family=MPICH, version="MPICH", mpiexec="")
    monkeypatch.setattr(mpi_library, "is_selectable", lambda: False)
    monkeypatch.setattr(mpi_library, "probe", lambda _path: only)
    assert choose("", {}) == choose("site", {}) == choose(only.path, {}) == only
    with pytest.raises(UsageError, match=r"mpi4py was built for .* and loads nothing else"):
        choose("environment", {})
