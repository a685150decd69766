"""NVIDIA's run-time compiler from its wheel: needs no device."""

from __future__ import annotations

import ctypes
import re
import sys
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
        for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(path))

    def compile(self, source: str, architecture: str = "sm_90") -> Resources:
        """What the code takes; raises with the compiler's words if there is none."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
        )
        words = (f"--gpu-architecture={architecture}", "-std=c++20", "-default-device", "-w")
        options = [word.encode() for word in (*words, "--ptxas-options=-v")]
        array = (ctypes.c_char_p * len(options))(*options)
        failed = self.library.nvrtcCompileProgram(program, len(options), array)
        size = ctypes.c_size_t()
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetProgramLog(program, log)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        told = log.value.decode()
        if failed:
            raise RuntimeError(told)
        part = told[told.index("Function properties for infini_entry") :]
        stack, spilled = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill", part).groups()  # type: ignore[union-attr]
        registers = re.search(r"Used (\d+) registers", part).group(1)  # type: ignore[union-attr]
        return Resources(int(registers), int(stack), int(spilled))
