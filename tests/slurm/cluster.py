"""A real Slurm cluster on this machine: one slurmctld, and a slurmd on each of several emulated hosts.

The hosts are those of :mod:`collmark.bench.emulated.hosts`; the login node is their switch. Everything lies in one
folder; every process ends with the one that started the cluster, however that ends. What the nodes claim to have is
made up, the network between them is shaped, and all else, from submission to the end of a job, is Slurm's own.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.multiprocess.program import clean_environment

from collmark.bench.emulated.hosts import Hosts, emulated_hosts, refusal
from collmark.bench.emulated.link import Link, Network

PROGRAMS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client", "munged": "munge"}
LAN, SIDE = "lan", "side"
"""Names of hosts mean addresses of the first network; the second joins the same hosts."""
UNSHAPED = Link(rate=1.25e9)  # 10 Gbit/s: more than two cores forward
NODES, CPUS, MEMORY = 4, 4, 4000  # claimed of each node, MB
CONTROLLER_PORT, NODE_PORT = 17800, 17801
START_SECONDS, END_SECONDS, POLL = 30.0, 10.0, 0.05
LONGEST_FOLDER = 70  # letters: the names of Unix sockets below it end at 107
OVER = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED"}
)

# What is unusual, and what happens without it (Slurm 22.05): CgroupPlugin lets slurmd start whatever /sys/fs/cgroup
# holds; config_overrides lets nodes claim more than there is; after cred_expire a requeued job starts (default 120 s);
# PMIx makes folders of equal names under TmpFS; EnforcePartLimits refuses at once what could never run.
CONFIGURATION = """\
ClusterName=collmark
SlurmctldHost={login}({controller})
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/%n.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/%n
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={memory_per_cpu}
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1
KillWait=3
SlurmdTimeout=10
MessageTimeout=10
ReturnToService=2
EnforcePartLimits=ALL
MinJobAge=3600
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Return why there can be no cluster here, with the remedy; empty where there can."""
    reason = refusal()
    lacking = [package for name, package in PROGRAMS.items() if not shutil.which(name, path=_path())]
    if not reason and lacking:
        reason = f"Slurm is not installed: apt-get install {' '.join(lacking)}"
    return reason


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


class Cluster:
    """A cluster, as :func:`started` starts it.

    Parameters
    ----------
    folder : Path
        Takes everything.
    hosts : Hosts
        The nodes.
    stack : ExitStack
        Ends the daemons.

    Attributes
    ----------
    nodes : list of str
        Names of the nodes.
    """

    def __init__(self, folder: Path, hosts: Hosts, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self.hosts = hosts
        self.nodes = [hosts.name(host) for host in range(hosts.count)]
        self._stack = stack
        self._configuration = folder / "slurm.conf"
        self._configure()
        self._munge()
        login = [*hosts.switch_words(), "env", f"SLURM_CONF={self._configuration}"]
        self._login_daemon("slurmctld", *login, "slurmctld", "-D", "-c", "-f", str(self._configuration))
        for node in self.nodes:
            self._slurmd(node)
        self.wait_until(self._all_idle, "all nodes to be idle")

    def _configure(self) -> None:
        of_nodes = [f"{of}/{node}" for of in ("tmp", "spool") for node in self.nodes]
        for name in ("munge", "state", "run", "log", *of_nodes):
            (self.folder / name).mkdir(parents=True)
        shares = f"CPUs={CPUS} Sockets=1 CoresPerSocket={CPUS} ThreadsPerCore=1 RealMemory={MEMORY}"
        addresses = {node: self.hosts.address(LAN, host) for host, node in enumerate(self.nodes)}
        lines = [f"NodeName={node} NodeAddr={address} Port={NODE_PORT} {shares}" for node, address in addresses.items()]
        text = CONFIGURATION.format(
            folder=self.folder,
            login=socket.gethostname(),
            controller=self.hosts.switch_address(LAN),
            controller_port=CONTROLLER_PORT,
            memory_per_cpu=MEMORY // CPUS,
            nodes="\n".join(lines),
        )
        self._configuration.write_text(text, encoding="utf-8")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="utf-8")
        names = {"localhost": "127.0.0.1", socket.gethostname(): self.hosts.switch_address(LAN), **addresses}
        lines = [f"{address} {name}\n" for name, address in names.items()]
        (self.folder / "hosts").write_text("".join(lines), encoding="utf-8")

    def _munge(self) -> None:
        folder = self.folder / "munge"
        key = folder / "key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        words = [f"--{option}={folder / name}" for option, name in files.items()]
        # It refuses folders that not everybody may enter, as those of tests are, unless it is forced.
        self._login_daemon("munged", "munged", "--force", "--foreground", "--num-threads=2", *words)
        self.wait_until((folder / "socket").exists, "munged")

    def _daemon(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log" / f"{name}.out").open("ab") as output:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=clean_environment(PATH=_path()),
                start_new_session=True,
            )

    def _login_daemon(self, name: str, *words: str) -> None:
        process = self._daemon(name, "setpriv", "--pdeathsig", "TERM", *words)  # it dies with this process
        self._stack.callback(_end, process)

    def _slurmd(self, node: str) -> None:
        host = self.nodes.index(node)
        script = f"mount --bind {self.folder}/hosts /etc/hosts && exec slurmd -D -N {node} -f {self._configuration}"
        process = self._daemon(node, *self.hosts.words(host), f"SLURM_CONF={self._configuration}", "sh", "-c", script)
        # It dies with its host, and nsenter once it has reaped it: nobody else would.
        self._stack.callback(process.wait, END_SECONDS)
        self._stack.callback(self.hosts.crash, host)

    def _all_idle(self) -> bool:
        # Right after the start nobody answers.
        done = self.run("sinfo", "-h", "-N", "-o", "%T")
        return done.returncode == 0 and done.stdout.split() == ["idle"] * len(self.nodes)

    def wait_until(self, is_so: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
        """Wait until something is so, and fail where it takes too long."""
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}: {self.logs()}"
            time.sleep(POLL)

    def logs(self) -> str:
        """Return the last line that every daemon has written."""
        logs = sorted((self.folder / "log").iterdir())
        lines = [f"{log.name}: {line}" for log in logs for line in log.read_text(errors="replace").splitlines()[-1:]]
        return "\n".join(lines)

    def words(self, *words: str) -> list[str]:
        """Return a command line that runs on the login node; signals reach the command itself."""
        return [*self.hosts.switch_words(), *words]

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of commands on the login node."""
        # MPI would use both networks at once.
        own = {"SLURM_CONF": str(self._configuration), "UCX_NET_DEVICES": LAN, "OMPI_MCA_btl_tcp_if_include": LAN}
        return clean_environment(**{**own, **(more or {})})

    def run(
        self,
        *words: str,
        timeout: float = 60.0,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the login node, in the folder unless another is named, and return what came of it."""
        return self._done(self.words(*words), timeout, cwd, environment)

    def on(self, node: str, *words: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a command on a node, outside Slurm."""
        return self._done([*self.hosts.words(self.nodes.index(node)), *words], timeout, None, None)

    def _done(
        self, words: list[str], timeout: float, cwd: Path | None, environment: Mapping[str, str] | None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=cwd or self.folder,
            env=self.environment(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def rate(self, node: str, bits_per_second: float | None, network: str = LAN) -> None:
        """Shape the link of a node, both ways; None takes the shape away."""
        link = UNSHAPED if bits_per_second is None else Link(rate=bits_per_second / 8)
        self.hosts.shape(Network(name=network, link=link), [self.nodes.index(node)])

    def crash(self, node: str) -> None:
        """Turn a node off, and let Slurm know at once, which would else take 30 s."""
        self.hosts.crash(self.nodes.index(node))
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=crashed")

    def boot(self, node: str) -> None:
        """Turn a node off, if it is not, and on again, and wait until it takes jobs."""
        self.crash(node)
        self.hosts.boot(self.nodes.index(node))
        self._slurmd(node)
        self.wait_until(self._all_idle, f"{node} to be idle")

    def submit(self, *words: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
        """Submit a job by sbatch and return its id."""
        done = self.run("sbatch", "--parsable", *words, cwd=cwd, environment=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().split(";")[0]

    def job(self, job: str) -> dict[str, str]:
        """Return what Slurm tells of a job."""
        text = self.run("scontrol", "-o", "show", "job", job).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait(self, job: str, timeout: float = 60.0) -> str:
        """Wait until a job is over and return its last state."""
        self.wait_until(lambda: self.job(job).get("JobState") in OVER, f"job {job} to end: {self.job(job)}", timeout)
        return self.job(job)["JobState"]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(END_SECONDS)


@contextlib.contextmanager
def started(folder: Path, nodes: int = NODES) -> Iterator[Cluster]:
    """Start a cluster in a folder, and take all of it away at the end but the folder."""
    assert len(str(folder)) <= LONGEST_FOLDER, f"{folder} is too long for the names of sockets below it"
    networks = [Network(name=name, link=UNSHAPED) for name in (LAN, SIDE)]
    with emulated_hosts(nodes, networks) as hosts, contextlib.ExitStack() as stack:
        yield Cluster(folder, hosts, stack)
