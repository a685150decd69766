"""The sample back end of tests/backends: simulated hardware with streams that run, and nothing
optional."""

TAGS = {
    *("asynchronous", "core-words", "checked-handles"),
    *("parallel-host-functions", "host-work"),
}
_LIMIT = "it answers DeviceGetLimit by a function of its own"
EXCLUDED = {
    "test_survival.py::test_fork": "its threads do not survive a fork; no driver's do",
    "test_bad_calls.py": "made on the CPU: the checks are the core's, the same for every device",
    "test_device.py::test_limits": _LIMIT,
    "test_a_limit_that": _LIMIT,
    "test_device.py::test_the_old_names_of_settings": _LIMIT,
}
EXPECTED_FAILURES: dict[str, str] = {}
