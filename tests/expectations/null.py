"""The null back end: work is done inside submit, so nothing that needs two things at a time."""

TAGS = {"host-readable", "core-words", "checked-handles"}
EXCLUDED = {
    "test_bad_calls.py": "made on the CPU: the checks are the core's, the same for every device",
}
EXPECTED_FAILURES: dict[str, str] = {}
