"""Common expectations of the back ends based on backends/vendor_runtime."""

from __future__ import annotations

from spec.operators import OPERATORS

TAGS = {
    *("asynchronous", "core-words", "checked-handles"),
    *("parallel-host-functions", "host-work"),
    "partial-operators",  # those without a program, in some cases; others are rejected with reasons
}
ALWAYS = {
    "test_survival.py::test_fork": "its threads do not survive a fork; no driver's do",
    "test_bad_calls.py": "made on the CPU: the checks are the core's, the same for every device",
    "[gemm-F64": "the vendors' libraries take no F64",
    "test_a_rank_that_does_not_come_the_first_time": "about NCCL: ranks connect when they join",
    "test_two_ranks_on_one_device": "about NCCL's words",
} | {
    f"collectives/test_{name}": "about transports of the CPU"
    for name in ("processes", "mpi", "hosts", "launch", "bootstrap", "exchange", "links")
}
# Supported by the plain engine although they have no program.
BY_ENGINE = ("rearrange", "random_uniform", "random_normal", "random_integers")
EXPECTED_FAILURES: dict[str, str] = {}


def excluded(*by_library: str) -> dict[str, str]:
    """Operators without a program that the vendor's library does not support either."""
    kernels = {op.name for op in OPERATORS if op.kernel} - {*by_library, *BY_ENGINE, "gemm"}
    found = ALWAYS | {f"[{name}-": "needs a kernel of its own" for name in kernels}
    if lacking := {"rope", "kv_caching"} & kernels:
        words = f"a decoder's layer needs {' and '.join(sorted(lacking))}"
        found["test_replays_equal_eager_over_100_changing_inputs"] = words
    return found
