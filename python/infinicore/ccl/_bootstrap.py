"""`ccl.init`: the communicator of all processes that were started together.

Ranks need an id that one of them creates. How it reaches the others depends on the launcher: over
TCP if the environment contains rank 0's address, through a file, or through MPI.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from infinicore import context
from infinicore._device import device as device_class
from infinicore.ccl import _by_file, _by_mpi, _by_slurm, _by_tcp
from infinicore.ccl._by_mpi import PAYLOAD_BYTES
from infinicore.ccl._communicator import Communicator, unique_id
from infinicore.ccl._library import CclError

INTERNAL_ERROR = 1  # INFINI_STATUS_INTERNAL_ERROR
DEFAULT_TIMEOUT = 300.0

# The variables that each launcher sets: rank, number of ranks, rank on this host.
LAUNCHERS = (
    ("torchrun or infini launch", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    (
        "Open MPI",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
    ),
    ("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("PMIx", "PMIX_RANK", "", ""),
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
EXCHANGES: dict[str, Callable[..., bytes]] = {
    "file": _by_file.exchange,
    "env": _by_tcp.exchange,
    "mpi": _by_mpi.exchange,
}
MPI_LAUNCHERS = ("Open MPI", "MPICH", "PMIx")


@dataclass(frozen=True)
class Place:
    """This process's rank and the number of ranks, as far as the environment contains them."""

    rank: int | None = None
    ranks: int | None = None
    local_rank: int | None = None
    launcher: str = ""


def init(
    method: str | None = None,
    *,
    rank: int | None = None,
    ranks: int | None = None,
    device: Any = None,
    timeout: float | None = None,
) -> Communicator:
    """The communicator of all processes that were started together. Makes its device current.

    `method` selects how ranks find each other; by default it is derived from the environment:

    - "file" or "file:///path": a file that all ranks can access; its path is INFINI_CCL_FILE.
    - "env" or "tcp://host:port": rank 0 listens at MASTER_ADDR and MASTER_PORT. torchrun and
      `infini launch` set both.
    - "mpi": the ranks were started by mpirun.

    Ranks started by plain srun meet at the first host of their step, at a port derived from the job
    and step ids.

    `rank` and `ranks` default to the launcher's variables. `device` defaults to the one of the
    current type whose index is this rank's number on its host. `timeout` is in seconds, for the
    rendezvous and for later operations; 0 waits forever.

    It is an error if no launcher started the process; `ranks=1` creates a world of one.

    >>> with ccl.init(ranks=1) as comm:
    ...     comm.rank
    0
    """
    place = find_place(os.environ)
    seconds = _default_timeout(os.environ) if timeout is None else float(timeout)
    if not 0 <= seconds < math.inf:
        raise ValueError(f"ccl.init: timeout is {timeout}: expected 0 or more seconds")
    rank = place.rank if rank is None else rank
    count = place.ranks if ranks is None else ranks
    if ranks == 1 and rank is None:
        rank = 0
    elif ranks == 1 and place.rank:
        raise ValueError(
            f"ccl.init: ranks is 1, but {place.launcher} has made this process rank {place.rank}: "
            "expected rank=0 with it for a world of its own"
        )
    chosen = _choose_device(device, place.local_rank)
    if count == 1 and rank == 0:
        context.set_device(chosen)
        return Communicator(ranks=1, id=unique_id(), rank=0, timeout=timeout)
    scheme, where = _choose_method(method, place, rank, os.environ)
    if scheme == "mpi":
        rank, count = _by_mpi.world(rank, count, seconds)
    rank, count = _checked(rank, count, scheme)
    context.set_device(chosen)
    payload = _make_payload() if rank == 0 else None
    try:
        got = EXCHANGES[scheme](where, rank, count, payload, seconds or None)
    except (TimeoutError, _by_tcp.RefusedError) as error:
        raise CclError(INTERNAL_ERROR, f"ccl.init: {error}") from None
    if not got[0]:
        reason = got[1:].rstrip(b"\0").decode(errors="replace")
        raise CclError(INTERNAL_ERROR, f"ccl.init: rank 0 could not make an id: {reason}")
    return Communicator(ranks=count, id=got[1:129], rank=rank, timeout=timeout)


def _make_payload() -> bytes:
    # A failure is sent to the others too: they would wait for an id that never comes.
    try:
        made = b"\1" + unique_id()
    except CclError as error:
        made = b"\0" + str(error).encode()[: PAYLOAD_BYTES - 1]
    return made.ljust(PAYLOAD_BYTES, b"\0")


# ---- The environment ------------------------------------------------------------------


def find_place(environment: Mapping[str, str]) -> Place:
    """From the first launcher whose rank variable is set."""
    for name, rank, ranks, local in LAUNCHERS:
        if rank in environment:
            return Place(
                _number(environment, rank),
                _number(environment, ranks),
                _number(environment, local),
                name,
            )
    return Place()


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name) if name else None
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise ValueError(f"ccl.init: {name} is {text!r}: expected a whole number, 0 or more")
    return int(text)


def _default_timeout(environment: Mapping[str, str]) -> float:
    # The native side falls back in the same way, with a warning.
    try:
        seconds = float(environment.get("INFINI_CCL_TIMEOUT") or DEFAULT_TIMEOUT)
    except ValueError:
        return DEFAULT_TIMEOUT
    return seconds if 0 <= seconds < math.inf else DEFAULT_TIMEOUT


def _choose_method(
    method: str | None, place: Place, rank: int | None, environment: Mapping[str, str]
) -> tuple[str, Any]:
    """The way to exchange the id, and the place for it."""
    if method is None:
        method = _shown_method(place, rank, environment)
    if method == "file":
        path = environment.get("INFINI_CCL_FILE")
        if not path:
            raise ValueError(
                'ccl.init: method is "file", but INFINI_CCL_FILE is not set: expected it, or '
                'method="file:///path"'
            )
        return "file", path
    if method.startswith("file://"):
        return "file", urlsplit(method).path
    if method == "env":
        absent = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not environment.get(name)]
        if absent:
            raise ValueError(f'ccl.init: method is "env", but {" and ".join(absent)} not set')
        return "env", _by_tcp.Meeting.of(
            environment["MASTER_ADDR"], environment["MASTER_PORT"], environment
        )
    if method.startswith("tcp://"):
        parts = urlsplit(method)
        if not parts.hostname or ":" not in parts.netloc.rpartition("]")[2]:
            raise ValueError(f"ccl.init: method is {method!r}: expected tcp://host:port")
        port = parts.netloc.rpartition(":")[2]
        return "env", _by_tcp.Meeting.of(parts.hostname, port, environment)
    if method == "mpi":
        return "mpi", None
    raise ValueError(
        f'ccl.init: method is {method!r}: expected "env", "file", "file:///path", '
        '"tcp://host:port" or "mpi"'
    )


def _shown_method(place: Place, rank: int | None, environment: Mapping[str, str]) -> str:
    if environment.get("INFINI_CCL_FILE"):
        return "file"
    if rank is not None and environment.get("MASTER_ADDR") and environment.get("MASTER_PORT"):
        return "env"
    if place.launcher in MPI_LAUNCHERS:
        return "mpi"
    if place.launcher == "Slurm" and (derived := _by_slurm.meeting(environment)):
        return derived
    names = ["INFINI_CCL_FILE", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"]
    names += [each[1] for each in LAUNCHERS[1:]]
    shown = [f"{name}={environment[name]}" for name in names if environment.get(name)]
    raise RuntimeError(
        "ccl.init: nothing tells how to find the other ranks. Looked for INFINI_CCL_FILE; for "
        "MASTER_ADDR and MASTER_PORT with RANK and WORLD_SIZE (torchrun, infini launch); for "
        f"{', '.join(each[1] for each in LAUNCHERS[1:])} (mpirun, srun); found "
        f"{', '.join(shown) or 'none of them'}. Start the program with `infini launch -n 2 ...`, "
        "or ask for a world of one with ccl.init(ranks=1)"
    )


def _checked(rank: int | None, ranks: int | None, scheme: str) -> tuple[int, int]:
    absent = [
        f"{word} ({name})"
        for word, name, value in (("rank", "RANK", rank), ("ranks", "WORLD_SIZE", ranks))
        if value is None
    ]
    if rank is None or ranks is None:
        raise ValueError(
            f'ccl.init: method "{scheme}" needs {" and ".join(absent)}: expected it as an argument '
            "or from the launcher's environment"
        )
    if ranks < 1 or not 0 <= rank < ranks:
        raise ValueError(
            f"ccl.init: rank {rank} of {ranks}: expected at least one rank, and a rank below "
            "their number"
        )
    return rank, ranks


def _choose_device(device: Any, local_rank: int | None) -> device_class:
    if device is not None:
        return device_class(device)
    here = context.get_device()
    if local_rank is None:
        return here
    count = context.get_device_count(here.type)
    # Ranks may share CPU devices; and some launchers make only one accelerator visible to each
    # rank.
    if here.type == "cpu" or count == 1:
        return device_class(here.type, local_rank % max(count, 1))
    if local_rank >= count:
        raise ValueError(
            f"ccl.init: this is rank {local_rank} of its host, which has {count} {here.type} "
            "devices: expected one for each rank, or the argument device"
        )
    return device_class(here.type, local_rank)
