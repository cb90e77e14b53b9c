"""Which MPI library runs, and which launcher belongs to it: chosen by the user where there is a choice, and shown.

An MPI wheel inside the environment would otherwise win silently over the site's, and a launcher of another MPI starts
N processes that each believe to be alone. Nothing here loads MPI into this process.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.core.errors import UnavailableError, UsageError, one_line

MPICH, OPEN_MPI = "mpich", "openmpi"
ENVIRONMENT, SITE = "environment", "site"
FAMILY_NAMES = {MPICH: "MPICH", OPEN_MPI: "Open MPI"}
LIBRARY_NAMES = {
    MPICH: ("libmpi.so.12", "libmpich.so.12", "libmpi.12.dylib", "libmpi.so", "libmpi.dylib"),
    OPEN_MPI: ("libmpi.so.40", "libmpi.40.dylib", "libmpi.so.80", "libmpi.so", "libmpi.dylib"),
}
LAUNCHER_NAMES = {
    MPICH: ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
    OPEN_MPI: ("mpiexec.openmpi", "mpiexec", "mpirun"),
}
LAUNCHER_WORDS = {
    MPICH: ("HYDRA", "MPICH", "Intel(R) MPI"),
    OPEN_MPI: ("Open MPI", "OpenRTE", "PRRTE", "prte"),
}
RELEASE = re.compile(r"Open(?: MPI|RTE)\)? v?(\d+)\.")  # in the words of a library or launcher; PRRTE counts otherwise
ASK_SECONDS = 20.0  # for a launcher or a library to say what it is
VARIABLES = ("COLLMARK_MPI_LIBRARY", "MPI4PY_LIBMPI")

# What a process that loads the library as ranks do finds; mpi4py says which of its own files that was.
PROBE = """
import ctypes, json, mpi4py, sys
mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI
library = ctypes.CDLL(MPI.__file__)
info = (ctypes.c_char_p * 4)()  # of dladdr: the file's name comes first
ctypes.CDLL(None).dladdr(ctypes.cast(library.MPI_Get_version, ctypes.c_void_p), info)
name, version = MPI.get_vendor()
print(json.dumps({
    "path": info[0].decode(),
    "family": "openmpi" if hasattr(library, "ompi_mpi_comm_self") else "mpich",
    "version": f"{name} {'.'.join(map(str, version))}",
    "lacks": [name for name in sys.argv[1:] if not hasattr(library, name)],
}))
"""


class MpiLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """An MPI library that mpi4py can load.

    Attributes
    ----------
    path : str
        The shared library.
    family : str
        mpich (with all that share its binary interface and launcher) or openmpi.
    version : str
        In words.
    mpiexec : str
        The launcher that belongs to it; empty where none was found.
    """

    path: str
    family: str
    version: str
    mpiexec: str

    def __str__(self) -> str:
        return f"{self.version}, {self.path}"

    @property
    def release(self) -> str:
        """The first number of the version; empty where it tells none."""
        return _release(self.version)


def choose(asked: str, environ: Mapping[str, str]) -> MpiLibrary:
    """Return the library that a run uses.

    Parameters
    ----------
    asked : str
        ``environment``, ``site``, or the path of a library or of the folder it is installed in; empty for the only
        one there is.
    environ : mapping
        Environment variables: COLLMARK_MPI_LIBRARY, and MPI4PY_LIBMPI as mpi4py reads it, ask where `asked` is empty.

    Raises
    ------
    UsageError
        If there are several and none is asked for, or what is asked for is not there.
    UnavailableError
        If there is none, or it cannot be loaded.
    """
    asked = asked or next((environ[name] for name in VARIABLES if environ.get(name)), "")
    if not is_selectable():
        return _fixed(asked)
    if asked in (ENVIRONMENT, SITE, ""):
        found = dict(candidates(environ))
        if asked:
            return _only(found, asked)
        if len(found) == 1:
            return probe(next(iter(found.values())))
        if not found:
            raise UnavailableError(
                "no MPI library was found: install one (Debian: openmpi-bin), load its module so that mpiexec is on "
                "the path, name it with --mpi-library PATH, or pip install 'collmark[mpi-embedded]'"
            )
        several = " or ".join(f"--mpi-library {name} ({probe(path)})" for name, path in found.items())
        raise UsageError(f"several MPI libraries are here, and none is taken unasked: say {several}")
    path = Path(asked)
    if not path.is_absolute() or not path.exists():
        raise UsageError(f"--mpi-library {asked}: must be {ENVIRONMENT}, {SITE}, or an absolute path that exists")
    return probe(next(_libraries_under(path), path) if path.is_dir() else path)


def _only(found: Mapping[str, Path], asked: str) -> MpiLibrary:
    if asked not in found:
        there = ", ".join(found) or "none"
        where = f"{sys.prefix}/lib" if asked == ENVIRONMENT else "what mpiexec and mpicc on the path belong to"
        raise UsageError(f"--mpi-library {asked}: no MPI library in {where} (there is: {there})")
    return probe(found[asked])


def _fixed(asked: str) -> MpiLibrary:
    """Return the library that mpi4py was built for, which is the only one it can load."""
    library = probe(None)
    if asked not in ("", SITE) and Path(asked).resolve() != Path(library.path).resolve():
        raise UsageError(f"--mpi-library {asked}: mpi4py was built for {library.path} and loads nothing else")
    return library


def is_selectable() -> bool:
    """Whether mpi4py is one that loads the library it is told, as its wheels are, and not built for a single one."""
    from importlib.util import find_spec

    spec = find_spec("mpi4py")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    return any(folder.glob("MPI.mpich.*")) or any(folder.glob("MPI.openmpi.*")) or any(folder.glob("MPI.mpiabi.*"))


def candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the libraries that are here, by the name to ask for them with: the environment's, and the site's."""
    own = Path(sys.prefix)
    if own != Path("/usr"):
        for family, names in LIBRARY_NAMES.items():
            versioned = [own / "lib" / name for name in names[:2] if (own / "lib" / name).exists()]
            if versioned:
                # Two wheels in one environment share a launcher's name: the last one installed has it.
                yield (ENVIRONMENT if not _is_shadowed(own, family) else str(versioned[0])), versioned[0]
    for name in ("mpiexec", "mpirun", "mpicc"):
        found = shutil.which(name, path=_path_without(environ.get("PATH", os.defpath), own))
        prefix = Path(found).resolve().parent.parent if found else None
        library = next(_libraries_under(prefix), None) if prefix else None
        if library is not None:
            yield SITE, library
            return


def _is_shadowed(prefix: Path, family: str) -> bool:
    launcher = prefix / "bin" / "mpiexec"
    return launcher.exists() and launcher_family(str(launcher)) != family


def _path_without(path: str, prefix: Path) -> str:
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if Path(folder).parent != prefix)


def _libraries_under(prefix: Path) -> Iterator[Path]:
    """Yield the MPI libraries of an installation, those that belong to its launcher first."""
    launchers = (prefix / "bin" / name for name in ("mpiexec", "mpirun"))
    launcher = next((str(path) for path in launchers if path.exists()), "")
    family = launcher_family(launcher) if launcher else ""
    triple = sysconfig.get_config_var("MULTIARCH") or "lib"
    for kind in (family, *(other for other in LIBRARY_NAMES if other != family)):
        for name in LIBRARY_NAMES.get(kind, ()):
            for folder in ("lib", "lib64", f"lib/{triple}", "lib/release"):
                if (prefix / folder / name).exists():
                    yield prefix / folder / name


@functools.cache
def probe(path: Path | None) -> MpiLibrary:
    """Load a library in a process of its own, as ranks will, and return what it is with the launcher beside it."""
    facts = _load(path)
    if path is not None and Path(facts["path"]).resolve() != path.resolve():
        raise UnavailableError(f"{path} was asked for, and {facts['path']} is what mpi4py loads")
    return MpiLibrary(
        path=str(path or facts["path"]),
        family=facts["family"],
        version=facts["version"],
        mpiexec=_launcher_of(Path(facts["path"]), facts["family"], _release(facts["version"])),
    )


def lacking(library: MpiLibrary, names: Sequence[str]) -> frozenset[str]:
    """Return those functions that a library has not; it is loaded in a process of its own, if any are asked for."""
    return frozenset(_load(Path(library.path), names)["lacks"]) if names else frozenset()


def _load(path: Path | None, names: Sequence[str] = ()) -> dict[str, Any]:
    environ = _outside(os.environ)
    if path is not None:
        environ |= {"MPI4PY_LIBMPI": str(path)}
        environ.pop("MPI4PY_MPIABI", None)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", PROBE, *names],
            env=environ,
            capture_output=True,
            errors="replace",
            timeout=ASK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        msg = f"{path or 'the MPI of mpi4py'} was not loaded within {ASK_SECONDS:g} s: choose another --mpi-library"
        raise UnavailableError(msg) from error
    if done.returncode:
        why = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "it says nothing")
        raise UnavailableError(f"{path or 'the MPI of mpi4py'} cannot be loaded: {one_line(why)}")
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def _outside(environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables without those that a launcher gives its ranks, which lead others astray."""
    # OPAL_PREFIX is the user's own where no launcher has been at work: of an Open MPI that was moved.
    of_ranks = ("PMI_", "PMIX_", "OMPI_", *(["OPAL_PREFIX"] if started_by(environ) == OPEN_MPI else []))
    return {name: value for name, value in environ.items() if not name.startswith(of_ranks)}


def _launcher_of(library: Path, family: str, release: str = "") -> str:
    """Return the launcher that belongs to a library: the nearest above it of the same family, and release."""
    places = [library.parents, library.resolve().parents]
    for parent in dict.fromkeys(parent for parents in places for parent in list(parents)[:5]):
        mpiexec = _launcher_in(parent / "bin", family)
        if mpiexec and not _differ(launcher_release(mpiexec), release, family):
            return mpiexec
    return ""


def _launcher_in(folder: Path, family: str) -> str:
    paths = (str(folder / name) for name in LAUNCHER_NAMES[family])
    return next((path for path in paths if Path(path).exists() and launcher_family(path) == family), "")


def _release(words: str) -> str:
    found = RELEASE.search(words)
    return found[1] if found else ""


def _differ(one: str, other: str, family: str) -> bool:
    """Whether two releases do not understand each other; where one is not known, they may.

    Ranks of Open MPI 4 talk to ORTE and those of 5 to PRRTE; all of MPICH's kin speak the same PMI with Hydra.
    """
    return family == OPEN_MPI and bool(one and other) and one != other


@functools.cache
def _said_by(mpiexec: str) -> str:
    """Return what a launcher says of its version; empty where it does not start, or says nothing."""
    try:
        done = subprocess.run(
            [mpiexec, "--version"],
            env=_outside(os.environ),
            capture_output=True,
            errors="replace",
            timeout=ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def launcher_family(mpiexec: str) -> str:
    """Return the family that a launcher says it is of; empty where it says nothing known."""
    words = _said_by(mpiexec)
    return next((family for family, known in LAUNCHER_WORDS.items() if any(word in words for word in known)), "")


def launcher_release(mpiexec: str) -> str:
    """Return the first number of the version of Open MPI that a launcher says it is of; empty where it says none."""
    return _release(_said_by(mpiexec))


def started_by(environ: Mapping[str, str]) -> str:
    """Return the family of the launcher that started this process; empty where it was none of theirs, or srun."""
    if "OMPI_COMM_WORLD_SIZE" in environ:
        return OPEN_MPI
    if "PMI_RANK" in environ and "SLURM_PROCID" not in environ:
        return MPICH
    return ""


def check_launcher(library: MpiLibrary, launcher: str, environ: Mapping[str, str], program: str = "") -> None:
    """Raise UnavailableError where ranks were started by something that the library does not understand.

    Parameters
    ----------
    library : MpiLibrary
        The one that the ranks would load.
    launcher : str
        As :mod:`collmark.bench.launchers.joined` names it.
    environ : mapping
        Environment variables of this rank.
    program : str
        The launcher's executable, beside which lies the mpiexec that tells its release; empty where it is not known.
    """
    own = f"; its own launcher is {library.mpiexec}" if library.mpiexec else ""
    if launcher == "torchrun":
        raise UnavailableError(f"torchrun starts no MPI: every process would be rank 0 of {library.version}{own}")
    family = started_by(environ)
    if family and family != library.family:
        raise UnavailableError(
            f"the mpiexec of {FAMILY_NAMES[family]} has started these ranks, and the MPI library is {library}: every "
            f"process would be rank 0{own}; use that, or choose the library with --mpi-library"
        )
    mpiexec = _launcher_in(Path(program).parent, family) if family and program else ""
    release = launcher_release(mpiexec) if mpiexec else ""
    if _differ(release, library.release, library.family):
        raise UnavailableError(
            f"{mpiexec} of {FAMILY_NAMES[family]} {release} has started these ranks, and the MPI library is {library}: "
            f"one release does not start ranks of another{own}; use that, or choose the library with --mpi-library"
        )
