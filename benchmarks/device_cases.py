"""The rows of `benchmarks/operators.py --device KIND`: shapes of real models on an accelerator.

A case says which tensors it needs, and how infinicore and torch do it. Both get the same memory,
and results that are made before. Where torch has several ways, the fastest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

BYTES = {"bf16": 2, "f16": 2, "f32": 4, "i64": 8, "i32": 4, "bool": 1}
Set = dict[str, Any]  # tensors by name
Way = Callable[[Set], Any]


@dataclass(frozen=True)
class Case:
    name: str
    shape: str
    dtype: str
    tensors: dict[str, tuple[tuple[int, ...], str]]  # shape and type; of "i64", numbers from 0 on
    ours: Way = field(repr=False)
    theirs: Sequence[tuple[str, Way]] = field(repr=False)
    result: str = "out"  # the tensor that has the result
    moved: float = 0.0  # bytes that any program has to move
    flops: float = 0.0
    unit: str = "TB/s"  # or "TFLOP/s", or "us"
    below: int = 0  # integers of the tensors are smaller
    tolerance: float | None = 0.05  # None: the results are not compared
    issue: bool = False  # a row of the table that is to be beaten
    figure: str = ""  # torch's there

    @property
    def title(self) -> str:
        return f"{self.name} {self.shape} {self.dtype}"


def _bytes(tensors: dict[str, tuple[tuple[int, ...], str]]) -> int:
    total = 0
    for shape, dtype in tensors.values():
        count = BYTES[dtype]
        for size in shape:
            count *= size
        total += count
    return total


def all_cases(ic: Any, torch: Any, tiny: bool = False) -> list[Case]:
    """Those of the issue first. `tiny`: the same with few elements, to try the program itself."""
    made: list[Case] = []
    for group in (_maps, _rows, _copies, _products, _attention):
        made += group(ic, torch, tiny)
    return sorted(made, key=lambda case: not case.issue)


# ---- Maps ----------------------------------------------------------------------------------------


def _maps(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional = ic.nn.functional
    big = (64, 256) if tiny else (16384, 8192)
    made = []

    def add(
        name: str,
        inputs: str,
        ours: Way,
        *theirs: tuple[str, Way],
        dtype: str = "bf16",
        shape: tuple[int, ...] = big,
        issue: bool = False,
        figure: str = "",
    ) -> None:
        tensors = dict.fromkeys((*inputs.split(), "out"), (shape, dtype))
        text = "x".join(map(str, shape))
        more = {"moved": _bytes(tensors), "issue": issue, "figure": figure}
        made.append(Case(name, text, dtype, tensors, ours, theirs, **more))

    plus = ("add", lambda t: torch.add(t["x"], t["y"], out=t["out"]))
    add(
        "add",
        "x y",
        lambda t: ic.add(t["x"], t["y"], out=t["out"]),
        plus,
        issue=True,
        figure="4.38",
    )
    silu = ("silu", lambda t: torch.ops.aten.silu.out(t["x"], out=t["out"]))
    gelu = ("gelu", lambda t: torch.ops.aten.gelu.out(t["x"], out=t["out"]))
    for name, way, figure in (("silu", silu, "3.96"), ("gelu", gelu, "3.09")):
        call = getattr(functional, name)
        add(name, "x", lambda t, c=call: c(t["x"], out=t["out"]), way, issue=True, figure=figure)
    two = (
        "silu, mul",
        lambda t: torch.mul(torch.nn.functional.silu(t["y"]), t["x"], out=t["out"]),
    )
    swiglu = lambda t: functional.swiglu(t["x"], t["y"], out=t["out"])  # noqa: E731
    add("swiglu", "x y", swiglu, two, issue=True, figure="2.52")
    for dtype in ("f16", "f32"):
        add("add", "x y", lambda t: ic.add(t["x"], t["y"], out=t["out"]), plus, dtype=dtype)
        add("silu", "x", lambda t: functional.silu(t["x"], out=t["out"]), silu, dtype=dtype)
    for name in ("exp", "tanh", "rsqrt", "abs"):
        call, other = getattr(ic, name), getattr(torch, name, None)
        way = (name, lambda t, c=other: c(t["x"], out=t["out"]))
        add(name, "x", lambda t, c=call: c(t["x"], out=t["out"]), way)
    scaled = ("mul", lambda t: torch.mul(t["x"], 0.5, out=t["out"]))
    add("x * 0.5", "x", lambda t: ic.mul(t["x"], 0.5, out=t["out"]), scaled)
    small = (16, 64) if tiny else (64, 4096)
    add("add", "x y", lambda t: ic.add(t["x"], t["y"], out=t["out"]), plus, shape=small)
    return made


# ---- Rows: norms, softmax, folds -----------------------------------------------------------------


def _rows(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional, theirs = ic.nn.functional, torch.nn.functional if torch else None
    rows, size = (64, 256) if tiny else (16384, 8192)
    made = []
    for dtype in ("bf16", "f32"):
        main = dtype == "bf16"
        x = {"x": ((rows, size), dtype), "out": ((rows, size), dtype)}
        moved = _bytes(x)
        text = f"{rows}x{size}"
        weight = {**x, "w": ((size,), dtype), "b": ((size,), dtype)}
        norms = (
            (
                "rms_norm",
                "2.69",
                lambda t: functional.rms_norm(t["x"], (size,), t["w"], 1e-5, out=t["out"]),
                lambda t: theirs.rms_norm(t["x"], (size,), t["w"], 1e-5),
            ),
            (
                "layer_norm",
                "2.41",
                lambda t: functional.layer_norm(
                    t["x"], (size,), t["w"], t["b"], 1e-5, out=t["out"]
                ),
                lambda t: theirs.layer_norm(t["x"], (size,), t["w"], t["b"], 1e-5),
            ),
        )
        for name, figure, ours, way in norms:
            more = {"moved": moved, "issue": main, "figure": figure}
            made.append(Case(name, text, dtype, weight, ours, [(name, way)], **more))
        for name, figure in (("softmax", "1.07"), ("log_softmax", "1.28")):
            call, other = getattr(functional, name), getattr(torch, name, None)
            ours = lambda t, c=call: c(t["x"], -1, out=t["out"])  # noqa: E731
            way = (name, lambda t, c=other: c(t["x"], -1))
            more = {"moved": moved, "issue": main, "figure": figure}
            made.append(Case(name, text, dtype, x, ours, [way], **more))
        for axis, count, figure in ((-1, rows, "2.66"), (0, size, "3.66")):
            tensors = {"x": ((rows, size), dtype), "out": ((count,), dtype)}
            ours = lambda t, a=axis: ic.sum(t["x"], dim=a, out=t["out"])  # noqa: E731
            way = ("sum", lambda t, a=axis: torch.sum(t["x"], dim=a, out=t["out"]))
            more = {"moved": _bytes(tensors), "issue": main, "figure": figure, "tolerance": 0.5}
            name = f"sum over {'last' if axis else 'first'} axis"
            made.append(Case(name, text, dtype, tensors, ours, [way], **more))
    tensors = {"x": ((rows, size), "bf16"), "out": ((rows,), "i64")}
    more = {"moved": _bytes(tensors), "issue": True, "figure": "1.14", "tolerance": None}
    ours = lambda t: ic.argmax(t["x"], -1)  # noqa: E731
    way = ("argmax", lambda t: torch.argmax(t["x"], -1, out=t["out"]))
    made.append(Case("argmax", f"{rows}x{size}", "bf16", tensors, ours, [way], **more))
    batch, words, best = (4, 1000, 5) if tiny else (64, 151936, 50)
    tensors = {"x": ((batch, words), "f32"), "out": ((batch, best), "f32")}
    more = {"moved": _bytes(tensors), "unit": "us", "issue": True, "figure": "153", "result": ""}
    ours = lambda t: ic.topk(t["x"], best)  # noqa: E731
    way = ("topk", lambda t: torch.topk(t["x"], best))
    made.append(Case(f"top-{best}", f"{batch}x{words}", "f32", tensors, ours, [way], **more))
    return made


# ---- Copies, gathers, running sums ---------------------------------------------------------------


def _copies(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional, theirs = ic.nn.functional, torch.nn.functional if torch else None
    size = 128 if tiny else 4096
    made = []
    for dtype in ("bf16", "f32"):
        tensors = {"x": ((size, size), dtype), "out": ((size, size), dtype)}
        more = {"moved": _bytes(tensors), "issue": dtype == "bf16", "figure": "0.60"}
        ours = lambda t: t["out"].copy_(t["x"].T)  # noqa: E731
        way = ("copy_", lambda t: t["out"].copy_(t["x"].T))
        made.append(Case("transpose-copy", f"{size}x{size}", dtype, tensors, ours, [way], **more))
    rows, width = (64, 128) if tiny else (16384, 4096)
    x = {"x": ((rows, width), "bf16"), "out": ((rows, width), "f32")}
    text = f"{rows}x{width}"
    cast = ("copy_", lambda t: t["out"].copy_(t["x"]))
    ours = lambda t: t["out"].copy_(t["x"])  # noqa: E731
    made.append(Case("cast to f32", text, "bf16", x, ours, [cast], moved=_bytes(x)))
    words = 1000 if tiny else 151936
    tensors = {"i": ((rows,), "i64"), "x": ((words, width), "bf16"), "out": ((rows, width), "bf16")}
    ours = lambda t: functional.embedding(t["i"], t["x"], out=t["out"])  # noqa: E731
    way = ("embedding", lambda t: theirs.embedding(t["i"], t["x"]))
    moved = 2 * _bytes({"out": tensors["out"]})
    more = {"moved": moved, "below": words}
    made.append(Case("embedding", text, "bf16", tensors, ours, [way], **more))
    line = {"x": ((rows, width), "f32"), "out": ((rows, width), "f32")}
    for name in ("cumsum", "sort"):
        call, other = getattr(ic, name), getattr(torch, name, None)
        ours = lambda t, c=call: c(t["x"], -1)  # noqa: E731
        way = (name, lambda t, c=other: c(t["x"], -1))
        more = {"moved": _bytes(line), "result": "", "tolerance": 1e-2}
        made.append(Case(name, text, "f32", line, ours, [way], **more))
    return made


# ---- Products ------------------------------------------------------------------------------------


def _products(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional, theirs = ic.nn.functional, torch.nn.functional if torch else None
    made = []
    sizes: list[tuple[int, int, int, str]] = [
        (4096, 4096, 4096, "594"),
        (16, 4096, 4096, "10.1"),
        (128, 11008, 4096, "26.2"),
        (1, 4096, 4096, ""),
        (1024, 4096, 4096, ""),
        (8192, 8192, 8192, ""),
    ]
    for m, n, k, figure in sizes:
        if tiny:
            m, n, k = min(m, 16), n // 64, k // 64
        tensors = {"x": ((m, k), "bf16"), "w": ((n, k), "bf16"), "out": ((m, n), "bf16")}
        ours = lambda t: functional.linear(t["x"], t["w"], out=t["out"])  # noqa: E731
        way = ("linear", lambda t: torch.mm(t["x"], t["w"].T, out=t["out"]))
        large = m * n * k > 2 * 1024**3 or tiny
        more = {"moved": _bytes(tensors), "flops": 2.0 * m * n * k, "tolerance": None}
        more |= {"unit": "TFLOP/s" if large else "us", "issue": bool(figure), "figure": figure}
        made.append(Case("gemm NT", f"{m}x{n}x{k}", "bf16", tensors, ours, [way], **more))
    batch, size = (2, 64) if tiny else (32, 1024)
    shape = (batch, size, size)
    tensors = dict.fromkeys(("x", "w", "out"), (shape, "bf16"))
    ours = lambda t: ic.bmm(t["x"], t["w"], out=t["out"])  # noqa: E731
    way = ("bmm", lambda t: torch.bmm(t["x"], t["w"], out=t["out"]))
    more = {"moved": _bytes(tensors), "flops": 2.0 * batch * size**3, "unit": "TFLOP/s"}
    more |= {"tolerance": None}
    made.append(Case("bmm", f"{batch}x{size}^3", "bf16", tensors, ours, [way], **more))
    sizes_4 = (1, 8, 16, 16) if tiny else (8, 128, 64, 64)
    weight = (16, 8, 3, 3) if tiny else (256, 128, 3, 3)
    tensors = {"x": (sizes_4, "f16"), "w": (weight, "f16")}
    ours = lambda t: functional.conv2d(t["x"], t["w"], padding=1)  # noqa: E731
    way = ("conv2d", lambda t: theirs.conv2d(t["x"], t["w"], padding=1))
    area = sizes_4[0] * sizes_4[2] * sizes_4[3]
    more = {"moved": _bytes(tensors), "unit": "TFLOP/s", "result": "", "tolerance": None}
    more |= {"flops": 2.0 * area * weight[0] * weight[1] * 9}
    made.append(
        Case("conv2d 3x3", "x".join(map(str, sizes_4)), "f16", tensors, ours, [way], **more)
    )
    return made


# ---- Attention -----------------------------------------------------------------------------------


def _attention(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional = ic.nn.functional
    made = []

    def ways(**keywords: Any) -> list[tuple[str, Way]]:
        if not torch:
            return []
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def way(backend: Any) -> Way:
            def call(t: Set) -> Any:
                with sdpa_kernel(backend):
                    return torch.nn.functional.scaled_dot_product_attention(
                        t["q"], t["k"], t["v"], **keywords
                    )

            return call

        named = (("flash", "FLASH_ATTENTION"), ("cuDNN", "CUDNN_ATTENTION"))
        return [(label, way(getattr(SDPBackend, name))) for label, name in named]

    for batch, heads, length, size, figure in ((4, 32, 4096, 128, "311 / 520"),):
        shape = (1, 2, 64, 32) if tiny else (batch, heads, length, size)
        tensors = dict.fromkeys(("q", "k", "v"), (shape, "bf16"))
        ours = lambda t: functional.scaled_dot_product_attention(  # noqa: E731
            t["q"], t["k"], t["v"], is_causal=True
        )
        b, h, s, d = shape
        more = {"moved": _bytes(tensors), "flops": 2.0 * b * h * s * s * d, "unit": "TFLOP/s"}
        more |= {"issue": True, "figure": figure, "result": "", "tolerance": 0.05}
        text = f"B{b} H{h} S{s} D{d}"
        made.append(
            Case("causal attention", text, "bf16", tensors, ours, ways(is_causal=True), **more)
        )
    b, h, kh, s, d = (2, 4, 2, 64, 32) if tiny else (64, 32, 8, 4096, 128)
    tensors = {"q": ((b, h, 1, d), "bf16")}
    tensors |= dict.fromkeys(("k", "v"), ((b, kh, s, d), "bf16"))
    ours = lambda t: functional.scaled_dot_product_attention(  # noqa: E731
        t["q"], t["k"], t["v"], enable_gqa=True
    )
    more = {"moved": _bytes(tensors), "issue": True, "figure": "2.39 / 4.43", "result": ""}
    text = f"B{b} H{h} KH{kh} S{s} D{d}"
    made.append(
        Case("decode attention", text, "bf16", tensors, ours, ways(enable_gqa=True), **more)
    )
    return made
