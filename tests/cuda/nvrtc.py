"""NVIDIA's run-time compiler from its wheel: needs no device.

It works in a process of its own because the simulated library of tests/simulated exports the same
function names.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Resources:
    registers: int
    stack: int  # bytes of local memory
    spilled: int  # bytes


def find() -> Path | None:
    for folder in map(Path, sys.path):
        for path in sorted(folder.glob("nvidia/*/lib/libnvrtc.so.*")):
            if "builtins" not in path.name and "alt" not in path.name:
                return path
    return None


class Compiler:
    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CUDA_CACHE_DISABLE": "1"},  # cached results have no report
        )

    def __enter__(self) -> Compiler:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def compile(self, source: str, architecture: str = "sm_90") -> Resources:
        """The resources that the code uses; raises with the compiler's message on failure."""
        options = (f"--gpu-architecture={architecture}", "-std=c++20", "-default-device", "-w")
        return self.compile_with(source, options)

    def compile_with(self, source: str, options: Sequence[str]) -> Resources:
        assert self.process.stdin and self.process.stdout
        print(json.dumps([source, list(options)]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the compiler died: exit status {self.process.wait()}")
        failed, told = json.loads(answer)
        if failed:
            raise RuntimeError(told)
        part = told[told.index("Function properties for infini_entry") :]
        stack, spilled = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill", part).groups()  # type: ignore[union-attr]
        registers = re.search(r"Used (\d+) registers", part).group(1)  # type: ignore[union-attr]
        return Resources(int(registers), int(stack), int(spilled))


def compile_here(library: ctypes.CDLL, source: str, words: list[str]) -> tuple[int, str]:
    """The status, and the compiler's output."""
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    options = [word.encode() for word in (*words, "--ptxas-options=-v")]
    array = (ctypes.c_char_p * len(options))(*options)
    failed = library.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return failed, log.value.decode()


def main(path: Path) -> None:
    for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(path))
    for line in sys.stdin:
        print(json.dumps(compile_here(library, *json.loads(line))), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
