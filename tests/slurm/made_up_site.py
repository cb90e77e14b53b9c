"""A Slurm controller alone, which knows a whole site that is not there: enough to say whether it would take a job."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
# Nodes of a cloud that are powered off count as there; no other state does without their daemons.
CONFIGURATION = """\
ClusterName=made_up
SlurmctldHost=localhost
SlurmctldPort={port}
SlurmUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/pid
SlurmctldLogFile={folder}/log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
EnforcePartLimits=ALL
MpiDefault=none
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=3600
"""
START_SECONDS = 20.0


def missing() -> str:
    """Return why there can be no controller here, with the remedy; empty where there can."""
    there = all(shutil.which(name, path=PATH) for name in ("slurmctld", "sbatch"))
    return "" if there else "Slurm is not installed: apt-get install slurmctld slurm-client"


@contextlib.contextmanager
def controller(folder: Path, lines: str) -> Iterator[Mapping[str, str]]:
    """Run a controller that knows nodes and partitions, and yield the environment of commands that ask it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "state").mkdir()
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(port=port, user=user, folder=folder) + lines, encoding="utf-8")
    environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(configuration)}
    with (folder / "out").open("wb") as output:
        words = ["slurmctld", "-D", "-c", "-f", str(configuration)]
        process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(["scontrol", "ping"], env=environment, capture_output=True, check=False).returncode:
            assert process.poll() is None, (folder / "out").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)
        yield environment
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
