"""Expectations that all simulated CUDA-like vendors share: tests/expectations/<kind>.py.

The core implements the aligned face over the vendor's streams, so messages and checks are the
core's.
"""

TAGS = {
    *("asynchronous", "core-words", "checked-handles", "parallel-host-functions", "host-work"),
    *("managed", "peer"),
}
EXCLUDED = {
    "test_bad_calls.py": "made on the CPU: the checks are the core's, the same for every device",
    "test_survival.py::test_fork[": "a child cannot use its parent's devices",
    "collectives/test_nccl": "of NVIDIA's library, with processes of its own",
    "test_failures_are_told_by_the_replay": "the library waits in the call until all ranks connect",
    "test_one_process.py::test_recorded": "the core captures streams here: collectives are refused",
}
EXCLUDED |= {
    f"collectives/test_{name}": "about transports of the CPU"
    for name in ("processes", "mpi", "hosts", "launch", "bootstrap", "exchange", "links")
}
EXPECTED_FAILURES: dict[str, str] = {}
# For vendors whose attributes have CUDA's numbers, so that all of them can be queried.
BY_NUMBERS = {
    "test_device.py::test_properties_and_attributes_agree": "the core describes a device by fewer"
    " facts than the vendor's attributes tell",
}
