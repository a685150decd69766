"""Exchange of the id through MPI: by mpi4py if the program uses it, else by the CPU back end."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from infinicore import rt
from infinicore.ccl._library import CclError

INTERNAL_ERROR = 1  # INFINI_STATUS_INTERNAL_ERROR
# The message to the other ranks: a byte that tells whether there is an id, then the id or the
# reason.
PAYLOAD_BYTES = 512


def world(rank: int | None, ranks: int | None, timeout: float) -> tuple[int, int]:
    """Checks that MPI's rank and number of ranks are the requested ones."""
    imported = _imported()
    if imported is not None:
        here, all_ranks = imported.Get_rank(), imported.Get_size()
    else:
        numbers = ctypes.c_int(), ctypes.c_int()
        _call("infini_mpi_world", *map(ctypes.byref, numbers), ctypes.c_double(timeout))
        here, all_ranks = (number.value for number in numbers)
    if (rank, ranks) not in {(here, all_ranks), (here, None), (None, all_ranks), (None, None)}:
        raise ValueError(
            f"ccl.init: this is rank {here} of {all_ranks} for MPI: expected no other, got rank "
            f"{rank} of {ranks}"
        )
    return here, all_ranks


def exchange(
    where: None, rank: int, ranks: int, payload: bytes | None, timeout: float | None
) -> bytes:
    """Returns rank 0's `payload` on all ranks."""
    imported = _imported()
    if imported is not None:
        return bytes(imported.bcast(payload, root=0))
    data = ctypes.create_string_buffer(payload or b"", PAYLOAD_BYTES)
    _call(
        "infini_mpi_broadcast",
        data,
        ctypes.c_size_t(PAYLOAD_BYTES),
        0,
        ctypes.c_double(timeout or 0),
    )
    return data.raw


def _imported() -> Any:
    """mpi4py's world communicator, if the program has initialized it."""
    module = sys.modules.get("mpi4py.MPI")
    ready = module is not None and module.Is_initialized() and not module.Is_finalized()
    return module.COMM_WORLD if module is not None and ready else None


@cache
def _library() -> ctypes.CDLL:
    # The library is always present and already open: this returns the same handle.
    return ctypes.CDLL(next(each.path for each in rt.backends() if each.name == "cpu"))


def _call(name: str, *arguments: Any) -> None:
    function = getattr(_library(), name, None)
    if function is None:
        raise CclError(
            INTERNAL_ERROR,
            'ccl.init: method is "mpi", but this installation has no MPI part: expected mpi4py '
            'to be imported, or method="env"',
        )
    problem = ctypes.create_string_buffer(1024)
    if function(*arguments, problem, ctypes.c_size_t(len(problem))):
        reason = problem.value.decode(errors="replace")
        raise CclError(INTERNAL_ERROR, f"ccl.init: MPI cannot be used: {reason}")
