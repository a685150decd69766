"""The Triton and NineToothed kernels of examples/kernels: interpreted on the CPU, compiled for a
GPU that need not be present, and run on a present one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.place import KIND
from kit.requirements import need

need("triton")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "kernels"

# Against the back end's own kernels: layouts that a kernel supports, and others that it rejects.
CHECK = """
import sys
sys.path.insert(0, {examples!r})
import infinicore, triton_kernels
from infinicore import library
from infinicore.nn import functional as F

device = {device!r}
infinicore.set_default_device(device)
infinicore.manual_seed(1)
kernels = triton_kernels.register(device)

def check(call, name, served, limit, *tensors):
    with library.builtin():
        expected = call(*tensors)
    eager = call(*tensors)
    with infinicore.record() as made:
        replayed = call(*tensors)
    names = [node.name for node in made.graph.nodes]
    assert (name in names) == served, (name, names)
    made.graph.run()
    for result in (eager, replayed):
        assert result.dtype is expected.dtype and result.shape == expected.shape
        wide = expected.double()
        error = ((result.double() - wide).abs() / (1 + wide.abs())).max().item()
        assert error <= limit, (name, error, result.shape)

limits = {{"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}}
for name, limit in limits.items():
    kind = getattr(infinicore, name)

    def drawn(*shape):
        return infinicore.randn(*shape).to(kind)

    norm = lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-5)
    for shape in ((5, 100), (2, 1, 64), (7,), (1, 1), (3, 1025)):
        check(norm, "rms_norm[triton]", True, limit, drawn(*shape), drawn(shape[-1]))
    check(norm, "rms_norm[triton]", True, limit, drawn(4, 100)[:, :60], drawn(60))
    check(norm, "rms_norm[triton]", False, limit, drawn(2, 65537), drawn(65537))
    for shape in ((3, 5), (2049,), (2, 3, 700)):
        check(F.swiglu, "swiglu[triton]", True, limit, drawn(*shape), drawn(*shape))
    check(F.swiglu, "swiglu[triton]", False, limit, drawn(6, 4).T, drawn(4, 6))

    sizes = ((2, 2, 20, 20, 16), (4, 2, 3, 33, 32), (2, 1, 140, 140, 16))
    if device == "cpu" and name == "bfloat16":
        continue  # the interpreter's dot takes bits of bfloat16 for integers
    for heads, kv, queries, keys, size in sizes:
        for causal in (False, True):
            def attend(q, k, v, n):
                return F.flash_attention(q, k, v, n, is_causal=causal)

            q = drawn(2, heads, queries, size)
            k, v = drawn(2, kv, keys, size), drawn(2, kv, keys, size)
            for lengths in ([keys, keys - 2], [0, keys + 5], None):
                n = None if lengths is None else infinicore.tensor(lengths, dtype=infinicore.int32)
                served = kind is not infinicore.float32
                check(attend, "flash_attention[triton]", served, limit, q, k, v, n)
print("all agree")
"""

STAND_IN = """
import sys
sys.path.insert(0, {examples!r})
import triton

class Driver:  # NineToothed asks for the size of shared memory, interpreted or not
    get_current_device = staticmethod(lambda: 0)

    class utils:
        get_device_properties = staticmethod(lambda device: {{"max_shared_mem": 65536}})

triton.runtime.driver.set_active(Driver())
import ninetoothed_kernels
ninetoothed_kernels.main()
"""


# Triton up to 3.6 converts arrays of one element to numbers, which NumPy 2.4 no longer supports:
# https://github.com/triton-lang/triton/issues/9171
NUMBERS = """
from triton.runtime import interpreter

def patch(tensor, *rest, before=interpreter._patch_lang_tensor):
    before(tensor, *rest)
    tensor.__index__ = lambda self: int(self.handle.data.item())

interpreter._patch_lang_tensor = patch
"""


def script(name: str) -> str:
    return f"import runpy; runpy.run_path({str(EXAMPLES / name)!r}, None, '__main__')"


def run(program: str, interpreted: bool, **more: str) -> str:
    environment = {**os.environ, **more}
    environment.pop("TRITON_INTERPRET", None)
    if interpreted:
        environment |= {"TRITON_INTERPRET": "1", "INFINI_DEVICE": "cpu"}
        program = NUMBERS + program
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=220,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.host
def test_interpreted() -> None:
    said = run(CHECK.format(examples=str(EXAMPLES), device="cpu"), interpreted=True)
    assert said.endswith("all agree\n")


@pytest.mark.host
def test_the_example_interpreted() -> None:
    assert "rms_norm[triton]" in run(script("triton_kernels.py"), interpreted=True)


@pytest.mark.host
def test_ninetoothed_interpreted(tmp_path: Path) -> None:
    need("ninetoothed")
    said = run(STAND_IN.format(examples=str(EXAMPLES)), interpreted=True, HOME=str(tmp_path))
    assert "swiglu on cpu, ninetoothed" in said and "greatest difference" in said


@pytest.mark.host
def test_not_for_the_cpu_without_the_interpreter() -> None:
    from infinicore import library

    if os.environ.get("TRITON_INTERPRET"):
        pytest.skip("the interpreter is on")
    with pytest.raises(ValueError, match="TRITON_INTERPRET=1"):
        library.register("relu", lambda input, *, out: None, device="cpu", language="triton")


COMPILE = """
import sys
sys.path.insert(0, {examples!r})
import triton, triton_kernels as kernels
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

def compiled(function, types, **options):
    constants = {{n: v for n, v in types.items() if not isinstance(v, str)}}
    signature = {{n: "constexpr" if n in constants else t for n, t in types.items()}}
    source = ASTSource(fn=function, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert made.asm["cubin"], function

three = dict(a="*bf16", b="*bf16", c="*bf16", count="i32", BLOCK=2048)
compiled(kernels._swiglu, three, num_warps=8)
rows = dict(x="*bf16", w="*bf16", y="*bf16", x_row="i32", y_row="i32", size="i32", epsilon="fp32")
compiled(kernels._rms_norm, dict(**rows, BLOCK=8192), num_warps=16)
names = kernels._attention.arg_names
types = dict.fromkeys(names[:22], "i32") | dict.fromkeys(("q", "k", "v", "out"), "*bf16")
types |= dict(lengths="*i32", scale="fp32", CAUSAL=True, QUERIES=128, KEYS=64, SIZE=128)
compiled(kernels._attention, {{n: types[n] for n in names}}, num_warps=8, num_stages=2)
print("compiled")
"""


@pytest.mark.host
def test_compiled_for_a_gpu_that_is_not_here(tmp_path: Path) -> None:
    if importlib.util.find_spec("triton.backends.nvidia") is None:
        pytest.skip("this Triton has no compiler for the device")
    program = COMPILE.format(examples=str(EXAMPLES))
    assert run(program, False, TRITON_CACHE_DIR=str(tmp_path)).endswith("compiled\n")


@pytest.mark.requires("accelerator")
def test_on_the_device() -> None:
    import triton

    try:
        triton.runtime.driver.active  # noqa: B018
    except RuntimeError as error:
        pytest.skip(str(error))
    said = run(CHECK.format(examples=str(EXAMPLES), device=KIND), interpreted=False)
    assert said.endswith("all agree\n")
    if importlib.util.find_spec("ninetoothed"):
        assert "greatest difference" in run(script("ninetoothed_kernels.py"), interpreted=False)
