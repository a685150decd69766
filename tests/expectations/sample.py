"""The sample back end of tests/backends: simulated hardware with streams that run, and nothing
optional."""

TAGS = {
    *("asynchronous", "core-words", "checked-handles"),
    *("parallel-host-functions", "host-work"),
}
EXCLUDED = {
    "test_survival.py::test_fork": "its threads do not survive a fork; no driver's do",
    "test_bad_calls.py": "made on the CPU: the checks are the core's, the same for every device",
    "test_device.py::test_limits": "it answers DeviceGetLimit by a function of its own",
    "test_a_limit_that": "it answers DeviceGetLimit by a function of its own",
}
EXPECTED_FAILURES: dict[str, str] = {}
