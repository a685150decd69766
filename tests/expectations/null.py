"""The null back end: work is done inside submit, so nothing can run concurrently."""

from spec.operators import OPERATORS

TAGS = {"host-readable", "core-words", "checked-handles"}
EXCLUDED = {
    "test_bad_calls.py": "made on the CPU: the checks are the core's, the same for every device",
    **{f"[{op.name}-": "needs a kernel of its own" for op in OPERATORS if op.kernel},
}
EXPECTED_FAILURES: dict[str, str] = {}
