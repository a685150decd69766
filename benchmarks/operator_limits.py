"""What the machine can do at best: the limits that benchmarks/operators.py compares with.

A row cannot take less time than its traffic, nor less than its arithmetic (vector instructions and
multiply-adds at the best measured rates). Traffic is a copy and a rest that is only read or only
written, each at the best rate that was measured for as many bytes. Every rate is the best of
several ways: native loops with and without non-temporal stores or prefetches, our operator,
torch's, and the rows that only copy, read, write or multiply; all on touched memory, with as many
threads as the operators have. Arithmetic counts only what any program has to issue: loads, stores
and loop overhead go to other units of the processor.
"""

from __future__ import annotations

import ctypes
import math
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


def native_products() -> set[str]:
    """Element types below F32 whose products this CPU has instructions for."""
    flags = cpu_flags()
    known = {
        "BF16": {"bf16", "avx512_bf16", "amx_bf16"},
        "F16": {"avx512_fp16", "amx_fp16", "fphp"},
    }
    found = {dtype for dtype, names in known.items() if flags & names}
    if platform.machine() == "aarch64":
        # Half floats can be added and multiplied, but not accumulated in F32 (asimdfhm can).
        found.discard("F16")
        if "asimdfhm" in flags:
            found.add("F16")
    return found


@dataclass
class Machine:
    threads: int
    # Bytes that are moved in all: bytes per second. A copy of n bytes moves 2n.
    copy: dict[int, float] = field(default_factory=dict)
    read: dict[int, float] = field(default_factory=dict)
    write: dict[int, float] = field(default_factory=dict)
    issue: float = 0.0  # vector instructions per second, all threads
    lanes: int = 4
    products: dict[str, float] = field(default_factory=dict)  # multiply-adds per second
    tiny: dict[str, float] = field(default_factory=dict)  # nanoseconds of a call from C

    def raise_rate(self, name: str, size: int, rate: float) -> None:
        table = getattr(self, name)
        table[size] = max(table.get(size, 0.0), rate)

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
        moved, copied = reads + writes, 2 * min(reads, writes)
        rest = self.read if reads > writes else self.write
        return copied / self.rate(self.copy, moved) + (moved - copied) / self.rate(rest, moved)

    def arithmetic(self, elementwise: float, products: float, dtype: str) -> float:
        """Seconds, of instructions counted by element and of multiply-adds. A type below F32 can
        always be widened, so F32's rate holds for it, too."""
        per_second = self.issue * self.lanes
        fastest = max(per_second, self.products.get("F32", 0.0), self.products.get(dtype, 0.0))
        return elementwise / per_second + products / fastest

    def learn(
        self, group: str, dtype: str, amounts: tuple[float, float, float], best: float
    ) -> None:
        """A row that only copies, reads, writes or multiplies is another measurement of that
        rate."""
        reads, writes, products = amounts
        moved = int(reads + writes)
        if group == "gemm" and products:
            self.products[dtype] = max(self.products.get(dtype, 0.0), products / best)
        elif group in ("elementwise", "copy", "reduction", "rope", "norm") and moved >= MIB:
            share = reads / moved
            tables = ((0.98, 1.0, self.read), (0.48, 0.52, self.copy), (0.0, 0.02, self.write))
            for low, high, table in tables:
                if low <= share <= high:
                    table[moved] = max(self.rate(table, moved), moved / best)


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

    def __call__(self, name: str, *arguments: object) -> tuple[float, float, float]:
        result = (ctypes.c_double * 3)()
        getattr(self._library, name)(*arguments, result)
        return result[0], result[1], result[2]


SIZES = (64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB)


def measure(native: Native, machine: Machine, quick: bool) -> None:
    """The rates, or better ones than those that are known: a busy moment must not lower a limit."""
    rounds = 3 if quick else 5
    least = ctypes.c_double(0.002 if quick else 0.008)
    for size in SIZES:
        arguments = (ctypes.c_size_t(size), machine.threads, rounds, least)
        copy, read, write = native("bench_traffic", *arguments)
        machine.raise_rate("copy", size, copy)
        machine.raise_rate("read", size, read)
        machine.raise_rate("write", size, write)
    issue, lanes, _ = native("bench_issue", machine.threads, 3 * rounds)
    machine.issue, machine.lanes = max(issue, machine.issue), int(lanes)
    add, norm, _ = native("bench_tiny", 3 * rounds, ctypes.c_long(10_000))
    for name, cost in (("add 8x8", add), ("rms_norm 1x64", norm)):
        machine.tiny[name] = min(cost, machine.tiny.get(name, cost))


def measure_operators(tensors: Any, machine: Machine, best: Callable[..., list[float]]) -> None:
    """The same rates from our operators and torch's: copies, sums, fills, and large products."""
    torch = tensors.torch
    for size in SIZES[1:]:
        x, y = (tensors.normal(size // 8) for _ in range(2))  # of half the bytes each
        whole, total = tensors.normal(size // 4), tensors.empty(1)
        ways = {
            "copy": (tensors.plan("rearrange", [y], x), lambda y=y, x=x: y.copy_(x)),
            "read": (
                tensors.plan("sum", [total], whole, dim=[0], keepdim=True),
                lambda whole=whole: torch.sum(whole),
            ),
            "write": (lambda whole=whole: whole.fill_(1.0),),
        }
        for name, calls in ways.items():
            machine.raise_rate(name, size, size / min(best(calls)))
    for dtype in sorted({"F32"} | native_products()):
        for m, n, k in ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 1024)):
            a, b = tensors.normal(m, k, dtype=dtype), tensors.normal(k, n, dtype=dtype)
            c, d = (tensors.empty(m, n, dtype=dtype) for _ in range(2))
            ours = tensors.plan("gemm", [c], a, b, alpha=1.0, beta=0.0)
            theirs = lambda a=a, b=b, d=d: torch.mm(a, b, out=d)  # noqa: E731
            rate = m * n * k / min(best([ours, theirs]))
            machine.products[dtype] = max(rate, machine.products.get(dtype, 0.0))
