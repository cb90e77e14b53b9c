"""Where runs lie, and how they are named: a path, a label, or ``latest``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from collmark.core.errors import CollmarkError, UsageError, excerpt, nearest, short_path
from collmark.core.record import Run
from collmark.core.store import LATEST, RUN_FILE, RunFolder
from collmark.workflow.settings import RESULTS, read_settings

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class UnreadableRunWarning(UserWarning):
    """A folder has a run.json that cannot be read."""


def results_root(output: Path | None = None) -> Path:
    """Return the folder that holds runs: --output, else what is set as ``results``, else ./results."""
    setting = None if output else read_settings().get(RESULTS)
    return output or Path("results" if setting is None else setting.value)


def new_run_path(output: Path | None, label: str) -> Path:
    """Return the path of a new run: the root, a UTC stamp and the label.

    Raises
    ------
    UsageError
        If the label cannot be part of a file name.
    """
    if label == LATEST:
        raise UsageError(f"label {label!r} means the newest run: choose another")
    if label and not LABEL.fullmatch(label):
        msg = f"label {excerpt(label)!r}: use at most 64 letters, digits, dots, dashes and underscores"
        raise UsageError(msg)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{stamp}-{label}" if label else stamp
    path = results_root(output) / name
    attempt = 2
    while path.exists():
        path = path.with_name(f"{name}-{attempt}")
        attempt += 1
    return path


def run_folders(root: Path) -> Iterator[tuple[RunFolder, Run]]:
    """Yield the runs below a folder, oldest first; no folder has no runs.

    What is no run is passed over; a run that cannot be read is so too, with a warning, since it may be the latest.

    Raises
    ------
    UsageError
        If something else than a folder stands there.
    """
    if not root.exists():
        return
    if not root.is_dir():
        raise UsageError(f"{root} is no folder of runs but a file: name another with --output or COLLMARK_RESULTS")
    found = []
    for path in sorted(root.iterdir()):
        if (path / RUN_FILE).is_file():
            folder = RunFolder(path)
            try:
                found.append((folder, folder.read_run()))
            except CollmarkError as error:
                warnings.warn(f"passed over: {error}", UnreadableRunWarning, stacklevel=2)
    yield from sorted(found, key=lambda entry: entry[1].created)


def find_run(name: str, output: Path | None = None) -> RunFolder:
    """Return the run of a path, a label or ``latest``.

    Raises
    ------
    UsageError
        If there is no such run; the nearest label is named.
    """
    if not name.strip():
        raise UsageError(f"the name of a run is empty: give a path, a label or {LATEST}; collmark list shows all")
    path, root = Path(name), results_root(output)
    for place in (path, root / name):
        if (place / RUN_FILE).is_file():
            return RunFolder(place)
    runs = list(run_folders(root))
    labelled = [folder for folder, run in runs if run.label == name]
    if labelled:
        return labelled[-1]
    if path.is_dir():
        return RunFolder(path)  # to be told why it is no run
    if path.is_file():
        raise UsageError(f"{short_path(name)} is a file: a run is a folder that holds {RUN_FILE}")
    if not runs:
        msg = f"no run {short_path(name)!r}: there is none under {root}; collmark run or collmark demo makes one"
        raise UsageError(msg)
    if name == LATEST:
        return runs[-1][0]
    labels = dict.fromkeys(run.label for _folder, run in runs if run.label)
    close = nearest(name, (LATEST, *labels, *(folder.path.name for folder, _run in runs)))
    hint = f" did you mean {close!r}?" if close else ""
    raise UsageError(f"no run {short_path(name)!r} under {root};{hint} collmark list shows all")
