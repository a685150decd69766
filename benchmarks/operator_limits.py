"""What the machine can do at best: the limits that benchmarks/operators.py compares with.

A row cannot take less time than its traffic (bytes that must move, at the rate of a copy of as many
bytes; bytes that must be read, at the rate of reading) nor less than its arithmetic (vector
instructions at the measured rate). Rates are measured on touched memory, by native loops, with as
many threads as the operators have. Arithmetic counts only what any program has to issue: loads,
stores and loop overhead go to other units of the processor.
"""

from __future__ import annotations

import ctypes
import math
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

NATIVE = Path(__file__).parent / "native" / "operator_bench.cc"
KIB, MIB = 1 << 10, 1 << 20

# Vector instructions for a vector of F32 elements. A division counts as an estimate with two steps
# of Newton; the exponential is a reduction of the argument, a polynomial and a scaling.
DIVIDE, EXP = 5, 13
COSTS = {
    "copy": 0,
    "add": 1,
    "mul": 1,
    "sigmoid": EXP + 1 + DIVIDE,
    "silu": EXP + 1 + DIVIDE,
    "swiglu": EXP + 2 + DIVIDE,
    "tanh": EXP + 2 + DIVIDE,
    "gelu": EXP + 10,  # erf: an exponential and a polynomial
    "gelu_tanh": EXP + 6 + DIVIDE,
    "softplus": EXP + 12,
    "rms_norm": 3,
    "add_rms_norm": 4,
    "layer_norm": 6,
    "softmax": EXP + 4,
    "log_softmax": EXP + 4,
    "rope": 2,
    "sum": 1,
    "var": 3,
}


def widening(dtype: str) -> int:
    """Instructions to bring a vector of elements to F32."""
    return int(dtype != "F32")


def narrowing(dtype: str) -> int:
    """Instructions to round a vector of F32 to elements; BF16 is integer arithmetic on CPUs that
    have no instruction for it."""
    if dtype == "F32":
        return 0
    return 6 if dtype == "BF16" and "BF16" not in native_products() else 1


def cpu_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    names = ("flags", "Features")
    return {word for line in lines if line.startswith(names) for word in line.split(":")[1].split()}


def cpu_name() -> str:
    """The model, as lscpu knows it; else what the kernel says."""
    try:
        told = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in told.splitlines() if "Model name" in line]
    return next((name for name in named if name not in ("", "-")), platform.machine())


def native_products() -> set[str]:
    """Element types below F32 whose products this CPU has instructions for."""
    flags = cpu_flags()
    known = {
        "BF16": {"bf16", "avx512_bf16", "amx_bf16"},
        "F16": {"avx512_fp16", "amx_fp16", "fphp"},
    }
    found = {dtype for dtype, names in known.items() if flags & names}
    if platform.machine() == "aarch64":
        # Half floats add and multiply, but a sum of them is no sum in F32 (asimdfhm is).
        found.discard("F16")
        if "asimdfhm" in flags:
            found.add("F16")
    return found


@dataclass
class Machine:
    threads: int
    copy: dict[int, float] = field(default_factory=dict)  # bytes moved: bytes per second
    read: dict[int, float] = field(default_factory=dict)
    issue: float = 0.0  # vector instructions per second, all threads
    lanes: int = 4
    products: dict[str, float] = field(default_factory=dict)  # multiply-adds per second
    tiny: dict[str, float] = field(default_factory=dict)  # nanoseconds of a call from C

    def rate(self, table: dict[int, float], size: float) -> float:
        """Between the measured sizes, by the logarithm."""
        sizes = sorted(table)
        size = min(max(size, sizes[0]), sizes[-1])
        above = next(i for i, each in enumerate(sizes) if each >= size)
        if sizes[above] == size:
            return table[sizes[above]]
        low, high = sizes[above - 1], sizes[above]
        part = math.log(size / low) / math.log(high / low)
        return table[low] ** (1 - part) * table[high] ** part

    def traffic(self, reads: float, writes: float) -> float:
        """Seconds."""
        moved = reads + writes
        at_least = moved / self.rate(self.copy, moved)
        return max(at_least, reads / self.rate(self.read, moved))

    def arithmetic(self, elementwise: float, products: float, dtype: str) -> float:
        """Seconds, of instructions counted by element and of multiply-adds."""
        per_second = self.issue * self.lanes
        return elementwise / per_second + products / self.products.get(dtype, per_second)


class Native:
    """The timed loops, compiled against the installed package."""

    def __init__(self) -> None:
        from infinicore.cli.config import root

        folder = Path(tempfile.mkdtemp(prefix="infini-bench-"))
        library = folder / "operator_bench.so"
        include, lib = root() / "include", root() / "lib"
        compiler = ["g++", "-std=c++20", "-O3", "-march=native", "-ffp-contract=fast"]
        kind = ["-shared", "-fPIC", "-pthread", f"-I{include}"]
        libraries = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-linfiniop", "-linfinirt"]
        command = [*compiler, *kind, str(NATIVE), "-o", str(library), *libraries]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{NATIVE.name} does not compile:\n{done.stderr}")
        self._library = ctypes.CDLL(str(library))

    def __call__(self, name: str, *arguments: object) -> tuple[float, float]:
        result = (ctypes.c_double * 2)()
        getattr(self._library, name)(*arguments, result)
        return result[0], result[1]


def measure(native: Native, machine: Machine, quick: bool) -> None:
    """The rates, or better ones than those that are known: a busy moment must not lower a limit."""
    rounds = 3 if quick else 5
    least = ctypes.c_double(0.002 if quick else 0.008)
    for size in (64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB):
        arguments = (ctypes.c_size_t(size), machine.threads, rounds, least)
        copy, read = native("bench_traffic", *arguments)
        machine.copy[size] = max(copy, machine.copy.get(size, 0.0))
        machine.read[size] = max(read, machine.read.get(size, 0.0))
    issue, lanes = native("bench_issue", machine.threads, 3 * rounds)
    machine.issue, machine.lanes = max(issue, machine.issue), int(lanes)
    costs = native("bench_tiny", 3 * rounds, ctypes.c_long(10_000))
    for name, cost in zip(("add 8x8", "rms_norm 1x64"), costs, strict=True):
        machine.tiny[name] = min(cost, machine.tiny.get(name, cost))
