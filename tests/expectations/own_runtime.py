"""What the back ends over backends/vendor_runtime have in common."""

from spec.operators import OPERATORS

TAGS = {
    *("asynchronous", "core-words", "checked-handles"),
    *("parallel-host-functions", "host-work"),
}
BY_LIBRARY = {"gemm"}  # operators that are the vendor's
EXCLUDED = {
    "test_survival.py::test_fork": "its threads do not survive a fork; no driver's do",
    "test_bad_calls.py": "made on the CPU: the checks are the core's, the same for every device",
    "[gemm-F64": "the vendors' libraries take no F64",
    **{
        f"[{op.name}-": "needs a kernel of its own"
        for op in OPERATORS
        if op.kernel and op.name not in BY_LIBRARY
    },
}
EXCLUDED |= {
    f"collectives/test_{name}": "about transports of the CPU"
    for name in ("processes", "mpi", "hosts", "launch", "bootstrap", "exchange", "links")
}
EXCLUDED |= {
    "test_a_rank_that_does_not_come_the_first_time": "about NCCL: ranks are connected when they join",
    "test_two_ranks_on_one_device": "about NCCL's words",
}
EXPECTED_FAILURES: dict[str, str] = {}
