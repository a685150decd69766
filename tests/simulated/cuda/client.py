"""A small client of CUDA's libraries by their C functions, for testing the simulation."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

Pointer = ctypes.c_void_p


class CudaError(RuntimeError):
    pass


class CompileError(RuntimeError):
    pass


class Cuda:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = ctypes.CDLL(str(folder / "libcuda.so.1"))
        self.runtime = ctypes.CDLL(str(folder / "libcudart.so.12"))
        self.compiler = ctypes.CDLL(str(folder / "libnvrtc.so.12"))
        self.call("SetDevice", 0)
        self.runtime.cudaGetErrorName.restype = ctypes.c_char_p

    def check(self, code: int) -> None:
        if code:
            self.runtime.cudaGetLastError()
            raise CudaError(self.runtime.cudaGetErrorName(code).decode())

    def call(self, name: str, *arguments: Any) -> None:
        self.check(getattr(self.runtime, f"cuda{name}")(*arguments))

    def make(self, name: str, *arguments: Any) -> Pointer:
        """The handle that a function returns through its first parameter."""
        made = Pointer()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def make_last(self, name: str, *arguments: Any) -> Pointer:
        """The same for a function that has it as its last parameter."""
        made = Pointer()
        self.call(name, *arguments, ctypes.byref(made))
        return made

    def compile(self, source: str, name: str = "test.cu") -> bytes:
        program = Pointer()
        nvrtc = self.compiler
        nvrtc.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), name.encode(), 0, None, None
        )
        options = (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_90")
        try:
            failed = nvrtc.nvrtcCompileProgram(program, 1, options)
            part = "ProgramLog" if failed else "CUBIN"
            size = ctypes.c_size_t()
            getattr(nvrtc, f"nvrtcGet{part}Size")(program, ctypes.byref(size))
            code = ctypes.create_string_buffer(size.value)
            getattr(nvrtc, f"nvrtcGet{part}")(program, code)
            if failed:
                raise CompileError(code.value.decode())
            return code.raw
        finally:
            nvrtc.nvrtcDestroyProgram(ctypes.byref(program))

    def function(self, code: bytes, name: str = "kernel") -> Pointer:
        module, function = Pointer(), Pointer()
        self.check(self.driver.cuModuleLoadData(ctypes.byref(module), code))
        self.check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        return function

    def kernel(self, body: str, *, head: str = "", threads: int = 1024) -> Pointer:
        """A kernel with the parameters `int *out; const int *in; int n` (as p) and this body."""
        source = f"""
            struct Params {{ int *out; const int *in; int n; }};
            {head}
            INFINI_SIMULATED_ENTRY(kernel, Params, {threads}) {{ {body} }}"""
        return self.function(self.compile(source))

    def launch(
        self,
        function: Pointer,
        out: Pointer,
        *,
        given: Pointer | None = None,
        n: int = 0,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        shared: int = 0,
        stream: Pointer | None = None,
    ) -> None:
        class Params(ctypes.Structure):
            _fields_ = [("out", Pointer), ("given", Pointer), ("n", ctypes.c_int)]

        params = Params(out, given, n)
        each = (Pointer * 1)(ctypes.addressof(params))
        code = self.driver.cuLaunchKernel(function, *grid, *block, shared, stream, each, None)
        self.check(code)

    def memory(self, count: int, values: list[int] | None = None) -> Pointer:
        made = self.make("Malloc", ctypes.c_size_t(4 * count))
        if values is not None:
            host = (ctypes.c_int * count)(*values)
            self.call("Memcpy", made, host, ctypes.c_size_t(4 * count), 1)
        return made

    def read(self, memory: Pointer, count: int) -> list[int]:
        host = (ctypes.c_int * count)()
        self.call("Memcpy", host, memory, ctypes.c_size_t(4 * count), 2)
        return list(host)
