"""What a parallel loop of nothing costs: `python benchmarks/parallel_loop.py [--threads N]`.

The CPU's thread pool beside the OpenMP library that torch's loops run on, with as many threads, in
loops that follow each other immediately, and after pauses. Needs a C++ compiler, and torch for the
other side.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAUSES = (0.0, 5.0, 50.0, 1000.0)  # microseconds


def compiled() -> ctypes.CDLL:
    from infinicore.cli.config import root

    library = Path(tempfile.mkdtemp(prefix="infini-bench-")) / "parallel_loop_bench.so"
    includes = [f"-I{root() / 'include'}", f"-I{HERE.parent / 'csrc' / 'base'}"]
    command = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-pthread", *includes]
    command += [str(HERE / "native" / "parallel_loop_bench.cc"), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"parallel_loop_bench.cc does not compile:\n{done.stderr}")
    return ctypes.CDLL(str(library))


def openmp(threads: int) -> ctypes.c_void_p | None:
    """The entry point of the OpenMP library that torch has opened."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(threads)
    torch.ones(1 << 20).sum()
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split()[-1]
        if "omp" in Path(path).name and ".so" in path:
            entry = getattr(ctypes.CDLL(path), "GOMP_parallel", None)
            if entry:
                return ctypes.cast(entry, ctypes.c_void_p)
    return None


def main() -> int:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    processors = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=processors, help="of both sides")
    parser.add_argument("--loops", type=int, default=300, help="of each measurement")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    os.environ["INFINI_NUM_THREADS"] = str(options.threads)  # before the pool is made
    native, theirs = compiled(), openmp(options.threads)
    rows = []
    for pause in PAUSES:
        row: dict[str, float | None] = {"pause_us": pause, "torch_us": None, "torch_best_us": None}
        result, given = (ctypes.c_double * 2)(), (options.loops, ctypes.c_double(pause))
        native.bench_pool(*given, result)
        row |= {"ours_us": result[1], "ours_best_us": result[0]}
        time.sleep(0.02)  # the helpers fall asleep
        if theirs:
            native.bench_openmp(theirs, options.threads, *given, result)
            row |= {"torch_us": result[1], "torch_best_us": result[0]}
            time.sleep(0.02)
        rows.append(row)
        told = f"{row['torch_us']:.2f} us" if theirs else "not here"
        print(
            f"a loop of nothing, {options.threads} threads, {pause:g} us after the one before: "
            f"{row['ours_us']:.2f} us (best {row['ours_best_us']:.2f}); torch's OpenMP: {told}"
        )
    if options.json:
        options.json.write_text(json.dumps({"threads": options.threads, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
