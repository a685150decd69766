"""The CPU: complete, so it is excluded from nothing."""

TAGS = {
    "core-words",  # arguments are checked by the core, whose messages name them
    "checked-handles",  # destroyed and invalid handles are recognised
    "parallel-host-functions",  # those of different streams run at the same time
    "host-work",  # the null stream waits for host functions as for all work
    "asynchronous",  # a submit returns before its work is done
    "unheld-graphs",  # a graph that allocates can be launched while other streams are blocked
    "host-readable",  # the host follows device pointers
    "ipc",
    "managed",
    "peer",  # devices reach each other's memory
    "many-devices",  # INFINI_CPU_DEVICES=n
}
EXCLUDED: dict[str, str] = {}
EXPECTED_FAILURES: dict[str, str] = {}
