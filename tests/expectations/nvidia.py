"""NVIDIA: streams, events, memory, pools and graphs are CUDA's own."""

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
EXPECTED_FAILURES: dict[str, str] = {}
