"""`infini doctor`: a report to paste into a bug report."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from infinicore import rt
from infinicore.cli import config, info, settings
from infinicore.cli.package import version
from infinicore.cli.table import table


def run() -> int:
    print("infinicore doctor\n")
    print(table(("what", "value"), versions()), end="\n\n")
    print(info.text(info.collect()), end="\n\n")
    rows = [
        (b.name, str(b.device_count), b.version, b.path, b.reason or "in use")
        for b in rt.backends()
    ]
    print(table(("back end", "devices", "version", "library", "state"), rows), end="\n\n")
    if doubts := unverified():
        print(table(("device type", "not confirmed by a header or a device"), doubts), end="\n\n")
    results = self_test()  # first, so that libraries() lists what it opens
    print(table(("setting", "value", "from", "meaning"), settings.effective()), end="\n\n")
    if known := facts():
        print(table(("device type", "fact", "value"), known), end="\n\n")
    print(table(("library", "opened from"), libraries()), end="\n\n")
    print(table(("self-test", "result"), results))
    failed = sum(result != "pass" for _, result in results)
    print(f"\n{failed} of {len(results)} failed" if failed else f"\nall {len(results)} passed")
    return 1 if failed else 0


def facts() -> list[tuple[str, str, str]]:
    """Facts that back ends report: threads, instruction sets, quotas."""
    rows = []
    for backend in rt.backends():
        for line in text_of(backend, "infini_backend_facts").splitlines():
            what, _, value = line.partition(": ")
            rows.append((backend.name, what, value.strip()))
    return rows


# Parts of the names of libraries to list in addition to our own.
LIBRARIES = ("blas", "lapack", "mkl", "cuda", "cublas", "cudnn", "cusolver", "nvrtc", "nccl", "mpi")


def libraries() -> list[tuple[str, str]]:
    """The loaded libraries: ours, and those for linear algebra, accelerators and collectives."""
    paths = set()
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        path = line.partition("/")[2]
        name = path.rpartition("/")[2]
        ours = name.startswith(("libinfini", "_core.", "_rt."))
        if ".so" in name and (ours or any(word in name for word in LIBRARIES)):
            paths.add(f"/{path}")
    return sorted((path.rpartition("/")[2], path.rpartition("/")[0]) for path in paths)


def text_of(backend: rt.Backend, function: str, *arguments: int) -> str:
    """The result of a function of the back end's library; empty if it has no such function."""
    try:
        ask = getattr(ctypes.CDLL(backend.path), function)
    except (OSError, AttributeError):
        return ""
    ask.restype = ctypes.c_char_p
    return str(ask(*arguments).decode())


def unverified() -> list[tuple[str, str]]:
    """The names and numbers in vendors' tables that are based on weak evidence."""
    rows = []
    for backend in rt.backends():
        lines = text_of(backend, "infini_backend_unverified").splitlines()
        rows += [(backend.name, line) for line in lines]
    return rows


def versions() -> list[tuple[str, str]]:
    rows = [
        ("infinicore", version()),
        ("API", f"CUDA {_version(rt.RuntimeGetVersion())}"),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("system", platform.platform()),
        ("processor", f"{platform.machine()}, {_cores()} cores for this process"),
        ("C library", " ".join(platform.libc_ver())),
        ("root", str(config.root())),
        ("executable", sys.executable),
    ]
    for name in ("numpy", "torch", "scipy-openblas32"):
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---- The self-test ------------------------------------------------------------------------------


def self_test() -> list[tuple[str, str]]:
    """A few basic checks, each with "pass" or what went wrong."""
    results = []
    for test in (allocate, copy, order, host_function, replay, refuse):
        name = (test.__doc__ or "").rstrip(".")
        results.append((name, _attempt(test)))
    return results


def _attempt(test: Callable[[], None]) -> str:
    try:
        test()
    except Exception as error:  # whatever it is, continue the report
        return f"FAIL: {type(error).__name__}: {error}"
    return "pass"


def _expect(condition: bool, words: str) -> None:
    if not condition:
        raise AssertionError(words)


def allocate() -> None:
    """Device memory, pinned memory, stream-ordered memory."""
    with rt.Stream() as stream:
        for memory in (rt.Memory(4096), rt.Memory.host(4096), rt.Memory.ordered(4096, stream)):
            _expect(memory.ptr != 0, "the address is null")


def copy() -> None:
    """A copy to the device and back."""
    memory = rt.Memory(1 << 16)
    pattern = bytes(range(256)) * 256
    memory.copy_from(pattern)
    _expect(memory.to_bytes() == pattern, "the bytes read back differ")


def order() -> None:
    """Two streams ordered by an event."""
    with rt.Stream() as first, rt.Stream() as second:
        memory, result = rt.Memory(4096), rt.Memory(4096)
        memory.fill(5, stream=first)
        second.wait(first.record())
        result.copy_from(memory, stream=second)
        second.synchronize()
    _expect(result.to_bytes() == b"\5" * 4096, "the second stream did not wait")


def host_function() -> None:
    """A Python function called by a stream."""
    called = threading.Event()
    with rt.Stream() as stream:
        stream.launch(called.set)
    _expect(called.is_set(), "it was not called")


def replay() -> None:
    """A captured graph, launched ten times."""
    calls: list[int] = []
    with rt.Stream() as stream:
        with rt.capture(stream) as graph:
            stream.launch(lambda: calls.append(1))
        _expect(not calls, "the work ran during the capture")
        for _ in range(10):
            graph.launch(stream)
    _expect(len(calls) == 10, f"it ran {len(calls)} times")


def refuse() -> None:
    """An invalid call raises an error with a reason."""
    try:
        rt.SetDevice(12345)
    except rt.InfiniRTError as error:
        _expect(error.argument == "device", f"the message does not name the argument: {error}")
    else:
        raise AssertionError("nothing was raised")
