"""NVIDIA: streams, events, memory, pools and graphs are CUDA's own."""

from __future__ import annotations

import ctypes
import itertools
import os
from typing import Any

TAGS = {
    "asynchronous",  # a submit returns before its work is done
    "ipc",
    "managed",
    "peer",  # where there are two devices
}
EXCLUDED = {
    "test_bad_calls.py": "made on the CPU; CUDA follows wrong handles wherever they lead",
    "test_survival.py::test_fork[": "a child cannot use its parent's devices: CUDA's rule",
    "work_pending[a blocked": "CUDA waits for its host functions when the process ends",
    "work_pending[a graph": "CUDA waits for its host functions when the process ends",
    "work_pending[threads": "CUDA waits for its host functions when the process ends",
}
EXCLUDED |= {
    f"collectives/test_{name}": "about transports of the CPU"
    for name in ("processes", "mpi", "hosts", "launch", "bootstrap", "exchange", "links")
}
EXPECTED_FAILURES: dict[str, str] = {}

# All streams share eight hardware queues (CUDA_DEVICE_MAX_CONNECTIONS): a held stream blocks others
# in its queue.
HELD_STREAMS = 4


class Gate:
    """Holds a stream with a driver wait on a memory word."""

    def __init__(self, rt: Any, driver: ctypes.CDLL) -> None:
        self._rt, self._driver = rt, driver
        self._words = (ctypes.c_uint32 * 16384).from_address(rt.MallocHost(4 * 16384))
        ctypes.memset(self._words, 0, ctypes.sizeof(self._words))
        self._next = itertools.count(0, 2)

    def close(self, stream: int) -> tuple[ctypes.c_uint32, ctypes.c_uint32]:
        self._rt.SetDevice(self._rt.GetDevice())  # a new thread has no context yet
        first = next(self._next)
        there, gate = (
            ctypes.c_uint32.from_buffer(self._words, 4 * number) for number in (first, first + 1)
        )
        for function, word in (("Write", there), ("Wait", gate)):
            call = getattr(self._driver, f"cuStream{function}Value32_v2")
            call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint]
            code = call(stream, ctypes.addressof(word), 1, 0)  # a wait for 1 or more
            assert code == 0, f"cuStream{function}Value32: {code}"
        return there, gate


def make_gate(rt: Any) -> Gate | None:
    folder = os.environ.get("INFINI_NVIDIA_LIBRARIES", "").split(":")[0]
    driver = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"))
    return Gate(rt, driver) if hasattr(driver, "cuStreamWaitValue32_v2") else None
