"""Builds the simulated CUDA: one folder with libcudart.so.12, libcuda.so.1, libnvrtc.so.12 and
libnccl.so.2.

    python build.py --root ROOT [--include FOLDER]... OUTPUT

Needs only a C++ compiler and an installed InfiniRT. Tests call `folder()`, which builds once for
each state of the sources and keeps the result.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CXX = os.environ.get("CXX", "c++")
WARNINGS = ["-Wall", "-Wextra"]
FLAGS = ["-std=c++20", "-O1", "-g", "-fPIC", "-fvisibility=hidden", "-pthread", *WARNINGS]

# Kernels: the header included before all of them is precompiled with exactly the same flags.
KERNEL_FLAGS = [
    *("-std=c++20", "-O1", "-g1", "-fPIC", "-w", "-pipe"),
    *("-fno-exceptions", "-fno-rtti", "-fwrapv", "-fno-strict-aliasing"),
    "-fstack-clash-protection",  # large frames hit the guard page of their stack
    # Each kernel is a library, and all define the same names.
    *("-fno-gnu-unique", "-fno-semantic-interposition"),
    "-D__CUDACC_RTC__",
]
KERNEL_HEADERS = ["environment.h", "services.h", "place.h", "barriers.h", "bits.h", "arithmetic.h"]
KERNEL_HEADERS += [
    "atomics.h",
    "checks.h",
    "tensor_core.h",
    "copies.h",
    "instructions.h",
    "wgmma.h",
]

LIBRARIES = {
    "libcudart.so.12": ["runtime.cc", "entries.cc"],
    "libcuda.so.1": [
        "driver.cc",
        "launch.cc",
        "module.cc",
        "grid.cc",
        "services.cc",
        "checks.cc",
        "reports.cc",
        "faults.cc",
        "fiber.cc",
    ],
    "libnvrtc.so.12": ["compiler.cc"],
    "libnccl.so.2": ["nccl.cc", "nccl_run.cc"],
    "products/libcublasLt.so.12": ["products.cc"],
    "products/libcusolver.so.11": ["solver.cc", "solver_typed.cc"],
    "products/libcufft.so.11": ["fft.cc"],
    "products/libcudnn.so.9": ["primitives.cc", "primitives_run.cc", "convolutions.cc"],
    "engine/backends/libinfini_simulated.so": ["device.cc"],
}
# Whose functions are all exported.
PLAIN = (
    "products.cc",
    "primitives.cc",
    "convolutions.cc",
    "solver.cc",
    "solver_typed.cc",
    "fft.cc",
)


def run(*command: str | Path) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    sys.stderr.write(done.stderr)


def build(output: Path, root: Path, includes: Iterable[Path] = ()) -> None:
    (output / "engine/backends").mkdir(parents=True, exist_ok=True)
    (output / "products").mkdir(exist_ok=True)
    if not (beside := output / "products/libcudart.so.12").is_symlink():
        beside.symlink_to("../libcudart.so.12")
    work = output / "work"
    work.mkdir(exist_ok=True)
    run(sys.executable, "-B", HERE / "generate.py", work / "entries.cc")
    run(sys.executable, "-B", HERE / "engine.py", root / "lib", output / "engine")
    (work / "kernel_flags.inc").write_text("".join(f'"{flag}",\n' for flag in KERNEL_FLAGS))
    folders = [HERE, work, *includes, root / "include"]
    search = [f"-I{folder}" for folder in folders]

    def compile_one(source: str) -> None:
        path = HERE / source if (HERE / source).exists() else work / source
        export = ["-fvisibility=default"] if source in PLAIN else []
        run(CXX, *FLAGS, *export, *search, "-c", path, "-o", work / f"{source}.o")

    def precompile() -> None:
        for header in KERNEL_HEADERS:
            (output / header).write_bytes((HERE / header).read_bytes())
        header = output / "environment.h"
        made = output / "environment.h.gch"
        run(CXX, *KERNEL_FLAGS, "-x", "c++-header", header, "-o", f"{made}.new")
        Path(f"{made}.new").replace(made)

    with ThreadPoolExecutor() as pool:
        sources = [source for parts in LIBRARIES.values() for source in parts]
        jobs = [pool.submit(compile_one, source) for source in sources] + [pool.submit(precompile)]
        for job in jobs:
            job.result()
    for name, parts in LIBRARIES.items():
        objects = [work / f"{source}.o" for source in parts]
        new = output / f"{name}.new"  # the old one may be in use
        soname = f"-Wl,-soname,{Path(name).name}"
        run(CXX, "-shared", "-pthread", soname, *objects, "-o", new, "-ldl", "-Wl,--no-undefined")
        new.replace(output / name)


def folder(root: Path) -> Path:
    """The built libraries, for the installed InfiniRT in `root`; or INFINI_SIMULATED_CUDA."""
    if built := os.environ.get("INFINI_SIMULATED_CUDA"):
        return Path(built)
    key = hashlib.sha256(CXX.encode())
    for path in sorted([*HERE.glob("*.[chp]*"), *(HERE.parents[2] / "spec/runtime").glob("*.py")]):
        key.update(path.read_bytes())
    for library in ("libinfinirt.so", "backends/libinfini_cpu.so"):
        key.update((root / "lib" / library).read_bytes())
    name = f"infini-simulated-cuda-{os.getuid()}-{key.hexdigest()[:16]}"
    output = Path(tempfile.gettempdir()) / name
    output.mkdir(mode=0o700, exist_ok=True)
    # Tests may run in several processes at once.
    with (output / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (output / "done").exists():
            build(output, root)
            (output / "done").touch()
    return output


def use(root: Path) -> None:
    """Lets this process and its children find the simulation instead of CUDA.

    INFINI_SIMULATED_PRODUCTS=1: cuBLASLt, cuDNN, cuSOLVER and cuFFT are simulated, too; without
    them our own kernels do their work.
    """
    libraries = folder(root)
    products = f":{libraries / 'products'}" if "INFINI_SIMULATED_PRODUCTS" in os.environ else ""
    os.environ["INFINI_NVIDIA_LIBRARIES"] = f"{libraries}{products}"
    # Kernels compiled with checks differ from the others.
    kind = "checked" if "INFINI_SIMULATED_CHECK" in os.environ else "plain"
    os.environ.setdefault("INFINI_CACHE", str(libraries / f"cache-{kind}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="an installed InfiniRT")
    parser.add_argument("--include", type=Path, action="append", default=[])
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    build(options.output, options.root, options.include)


if __name__ == "__main__":
    main()
