"""What is written down of hosts and settings; a planted token never is."""

from __future__ import annotations

import os
import socket
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.bench import environment
from collmark.bench.environment import ALLOWED_NAMES, ALLOWED_PREFIXES, allowed_environment, describe_host

ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def text_of(alphabet: str, length: int, longest: int = 0) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=length, max_size=longest or length)


def mixed(alphabet: str, length: int) -> st.SearchStrategy[str]:
    """Return keys with a small letter, a capital and a digit in any place."""
    rest = text_of(alphabet, length - 3)
    return st.tuples(rest, st.permutations(["a", "Z", "7"])).map(
        lambda parts: "".join(parts[1][:2]) + parts[0] + parts[1][2]
    )


TOKENS = {
    "GitHub": mixed(ALPHANUMERIC, 36).map("ghp_".__add__),
    "GitHub, fine-grained": mixed(ALPHANUMERIC, 22).map("github_pat_".__add__),
    "GitLab": text_of(ALPHANUMERIC + "_-", 20).map("glpat-".__add__),
    "Hugging Face": text_of(ALPHANUMERIC, 34).map("hf_".__add__),
    "OpenAI": text_of(ALPHANUMERIC, 32).map("sk-".__add__),
    "Stripe": text_of(ALPHANUMERIC, 24).map("sk_live_".__add__),
    "Slack": text_of(ALPHANUMERIC, 20).map("xoxb-1234-".__add__),
    "AWS, id": text_of(string.ascii_uppercase + string.digits, 16).map("AKIA".__add__),
    "AWS, key": mixed(ALPHANUMERIC + "/+", 40),
    "NVIDIA": mixed(ALPHANUMERIC + "_-", 64).map("nvapi-".__add__),
    "JSON Web Token, as Slurm's": mixed(ALPHANUMERIC + "_-.", 108).map("eyJ".__add__),
    "base64url": mixed(ALPHANUMERIC + "_-", 43),
    "SHA-1 or an API key": text_of(HEX, 40),
    "MD5": text_of(HEX, 32),
    "capital hexadecimal": text_of(HEX.upper(), 64),
    "transport key of Open MPI": st.tuples(text_of(HEX, 16), text_of(HEX, 16)).map("-".join),
    "user and password in a URL": text_of(ALPHANUMERIC, 1, 12).map("https://user:{}@host/path".format),
    "password alone in a URL": text_of(ALPHANUMERIC + "/", 1, 12).map("redis://:{}@host:6379/0".format),
    "key as a user in a URL": text_of(ALPHANUMERIC, 1, 30).map("https://{}@host".format),
    "named in the value": text_of(ALPHANUMERIC, 1, 30).map("host=a;password={}".format),
    "named in JSON": text_of(ALPHANUMERIC, 1, 30).map('{{"api_key": "{}"}}'.format),
    "option": text_of(ALPHANUMERIC, 1, 30).map("--token {}".format),
    "header": text_of(ALPHANUMERIC, 8, 30).map("Authorization: Bearer {}".format),
    "PEM": text_of(ALPHANUMERIC, 1, 64).map("-----BEGIN RSA PRIVATE KEY-----\n{}".format),
}  # fmt: skip

names = st.one_of(
    st.sampled_from(sorted(ALLOWED_NAMES)),
    st.builds(str.__add__, st.sampled_from(ALLOWED_PREFIXES), text_of(string.ascii_uppercase, 1, 8)),
)
before = st.sampled_from(["", " ", ",", ";", "\n", '"', "'", "=", "x=", "a b "])
after = st.sampled_from(["", " ", ",", ";", "\n", '"', "'", " x", ":", ")"])


@pytest.mark.parametrize("shape", TOKENS)
@given(st.data())
def test_a_planted_token_never_comes_through(shape: str, data: st.DataObject) -> None:
    value = data.draw(before) + data.draw(TOKENS[shape]) + data.draw(after)
    assert allowed_environment({data.draw(names): value}) == {}


@pytest.mark.parametrize(
    "name",
    ["SLURM_JWT", "COLLMARK_SECRET", "NCCL_AUTH_TOKEN", "OMPI_PASSWORD", "OMPI_PASSWD", "UCX_PASSPHRASE", "PMI_PASS",
     "I_MPI_CREDENTIALS", "SLURM_CRED_FILE", "TORCH_API_KEY", "NVIDIA_APIKEY", "CUDA_ACCESS_KEY_ID", "FI_PRIVATE_DATA",
     "MPICH_COOKIE", "PMIX_SIGNATURE", "HYDRA_KEY", "HYDRA_KEY_FILE", "OMPI_PWD", "nccl_token", "SLURM_BEARER"],
)  # fmt: skip
def test_a_name_that_says_secret_is_enough(name: str) -> None:
    assert allowed_environment({name: "x"}) == {}
    assert allowed_environment({"SLURM_" + name.lower(): "x"}) == {}


@pytest.mark.parametrize(
    "name", ["HOME", "PATH", "USER", "HF_HOME", "AWS_REGION", "MY_NCCL_DEBUG", "LD_LIBRARY_PATH", "SSH_CLIENT"]
)  # fmt: skip
def test_only_listed_names_are_kept(name: str) -> None:
    assert allowed_environment({name: "x"}) == {}


# What a reader needs to judge a figure.
KEPT = {
    "CUDA_VISIBLE_DEVICES": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,MIG-8932f937-d72c-4106-c12f-20bd9faed9f6",
    "NVIDIA_VISIBLE_DEVICES": "0,1,2,3",
    "NCCL_SOCKET_IFNAME": "=eth0,^docker",
    "NCCL_DEBUG_SUBSYS": "INIT,NET,TUNING",
    "NCCL_IB_HCA": "mlx5_0:1,mlx5_1:1",
    "NCCL_NET_PLUGIN": "/opt/amazon/ofi-nccl/lib64/libnccl-net.so",
    "UCX_TLS": "rc_x,self,sm,cuda_copy",
    "UCX_NET_DEVICES": "mlx5_0:1",
    "OMPI_MCA_btl": "^openib",
    "OMPI_MCA_orte_hnp_uri": "1234567890.0;tcp://10.0.0.1,192.168.0.1:41235",
    "PMIX_SERVER_URI41": "prterun-node1-12345@0.0;tcp4://127.0.0.1:38473",
    "SLURM_JOB_NODELIST": "node-[001-128],gpu7",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x0000000000000000000000FF000000FF,0xFF",
    "SLURM_SUBMIT_DIR": "/home/some-user/projects/Collective-Communication-2030/runs",
    "TORCHELASTIC_RUN_ID": "none",
    "LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2:/opt/Intel2024/lib/libmpi.so",
    "OMP_PLACES": "{0:4}:4:4",
    "MASTER_ADDR": "ip-10-0-12-34.eu-west-1.compute.internal",
    "RANK": "0",
}


@pytest.mark.parametrize("name", KEPT)
def test_ordinary_settings_are_kept(name: str) -> None:
    assert allowed_environment({name: KEPT[name]}) == {name: KEPT[name]}


def test_settings_are_sorted() -> None:
    assert list(allowed_environment(dict(reversed(KEPT.items())))) == sorted(KEPT)


def test_this_host_is_described() -> None:
    host = describe_host([0, 2])
    assert host.name == socket.gethostname()
    assert host.ranks == [0, 2]
    assert host.cores == environment.usable_cores() >= 1
    assert host.memory is None or host.memory > 1 << 20
    assert host.system.startswith(os.uname().sysname)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot bind processes to cores")
def test_cores_are_those_that_may_be_used() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert environment.usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert environment.usable_cores() == len(before)


def test_without_proc_a_host_is_still_described(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_path: Path, **_options: object) -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "read_text", gone)
    host = describe_host([0])
    assert host.governor == ""
    assert host.name
    assert socket.gethostname() in environment.boot_id()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces")
def test_processes_of_one_host_share_clock_and_loopback() -> None:
    program = "from collmark.bench import environment as e; print(e.clock_id(), e.network_id(), sep='\\n')"
    command = [sys.executable, "-c", program]
    other = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert other == [environment.clock_id(), environment.network_id()]
    assert environment.boot_id() in environment.clock_id()


@pytest.mark.skipif(sys.platform != "linux", reason="interfaces are found through Linux's ioctl")
def test_an_interface_is_found_by_its_address() -> None:
    assert environment.interface_of("127.0.0.1") == "lo"
    assert environment.interface_of("192.0.2.77") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a boot id")
def test_two_processes_of_one_boot_say_the_same() -> None:
    assert environment.boot_id() == environment.boot_id()
    assert len(environment.boot_id()) == 36
