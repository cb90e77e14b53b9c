"""Which GPU a rank has, and the test arrangement in which several ranks share one.

NCCL wants a GPU for each rank of a host. Where each rank has an NCCL_HOSTID of its own, NCCL believes every rank on a
host of its own and moves everything over sockets: right results, and times that mean nothing, for the GPU takes turns
between processes, milliseconds each. It is there so that the code can be tested on one GPU; what is recorded in it has
a tier of its own and enters no fit, claim or ratio.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from collmark.core.errors import UnavailableError, UsageError
from collmark.core.numeral import counted

VARIABLE = "COLLMARK_SHARED_GPU"
SHARED = f"ranks share a GPU ({VARIABLE}): a test arrangement, in which no figure is a measurement"


def is_asked(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the user asks for the arrangement; any value but an empty one and 0 does."""
    return environ.get(VARIABLE, "") not in ("", "0")


def choose_gpu(local_rank: int, visible: int, *, shared: bool) -> int:
    """Return the index of a rank's GPU among those that its process sees.

    Parameters
    ----------
    local_rank : int
        Index on the host.
    visible : int
        GPUs that the process sees, at least one. Where it is one, a launcher has given each rank its own, as
        ``srun --gpus-per-task=1`` does; that they differ is checked once all ranks are there.
    shared : bool
        Ranks take turns where there are more of them than GPUs.

    Raises
    ------
    UnavailableError
        If there is none for this rank.
    """
    if shared or visible == 1:
        return local_rank % visible
    if local_rank >= visible:
        raise UnavailableError(
            f"rank {local_rank} of this host has no GPU: {visible} are seen here, and NCCL wants one for each rank; "
            f"start {visible} ranks a host"
        )
    return local_rank


def sharing_environment(rank: int, host: str, *, one_host: bool) -> dict[str, str]:
    """Return the variables under which NCCL lets ranks share a GPU; all but the first only where they are not set."""
    variables = {"NCCL_HOSTID": f"{host}-rank-{rank}", "NCCL_NET": "Socket"}
    return variables | ({"NCCL_SOCKET_IFNAME": "lo"} if one_host else {})


def shared_words(gpus: Sequence[str]) -> str:
    """Return which ranks have the same GPU, with the remedy; empty where none have.

    Parameters
    ----------
    gpus : sequence of str
        A name of each rank's GPU that no other has, by rank.
    """
    for gpu in gpus:
        ranks = [rank for rank, other in enumerate(gpus) if other == gpu]
        if len(ranks) > 1:
            return (
                f"ranks {', '.join(map(str, ranks))} have the same GPU, and NCCL wants one for each: use fewer ranks a "
                f"host, or check CUDA_VISIBLE_DEVICES; {VARIABLE}=1 lets them share it, to test and never to measure"
            )
    return ""


def check_local_ranks(ranks: int, gpus: int) -> None:
    """Raise UsageError where more ranks are to be started on this host than it has GPUs."""
    if ranks > gpus:
        raise UsageError(
            f"{counted(ranks, 'rank')} on {counted(gpus, 'GPU')}, and NCCL wants one for each: use --ranks {gpus}; "
            f"{VARIABLE}=1 lets them share it, to test and never to measure"
        )
