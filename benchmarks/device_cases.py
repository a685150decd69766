"""The rows of `benchmarks/operators.py --device KIND`: shapes of real models on an accelerator.

A case says which tensors it needs, and how infinicore and torch do it. Both get the same memory,
and results that are allocated before. Where torch has several ways, the fastest counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

BYTES = {"bf16": 2, "f16": 2, "f32": 4, "i64": 8, "i32": 4, "bool": 1}
Set = dict[str, Any]  # tensors by name
Way = Callable[[Set], Any]
Shapes = dict[str, tuple[tuple[int, ...], str]]  # by name: shape and type


@dataclass(frozen=True)
class Case:
    group: str
    name: str
    shape: str
    dtype: str
    tensors: Shapes
    ours: Way = field(repr=False)
    theirs: Sequence[tuple[str, Way]] = field(repr=False)
    reads: float = 0.0  # bytes that any implementation has to read
    writes: float = 0.0
    flops: float = 0.0
    unit: str = "TB/s"  # or "TFLOP/s", or "us"
    below: int = 0  # exclusive upper bound of integers
    close: float = 1.0  # times the tests' tolerance for the type; 0: the results are equal
    picks: str = ""  # results are indices into it: elements are compared

    @property
    def title(self) -> str:
        return f"{self.name} {self.shape} {self.dtype}"


def bytes_of(tensors: Shapes, *names: str) -> int:
    return sum(BYTES[tensors[name][1]] * math.prod(tensors[name][0]) for name in names)


def traffic(tensors: Shapes) -> dict[str, float]:
    """All tensors are read but `out`, which is written."""
    read = bytes_of(tensors, *(name for name in tensors if name != "out"))
    return {"reads": read, "writes": bytes_of(tensors, "out") if "out" in tensors else 0}


def text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def all_cases(ic: Any, torch: Any, tiny: bool = False) -> list[Case]:
    """`tiny`: the same with few elements, to test the benchmark itself."""
    made: list[Case] = []
    for group in (_maps, _norms, _folds, _copies, _products, _convolutions, _attention):
        made += group(ic, torch, tiny)
    return made


# ---- Maps ----------------------------------------------------------------------------------------


def _maps(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional = ic.nn.functional
    big, small = ((64, 256), (16, 64)) if tiny else ((16384, 8192), (64, 4096))
    made = []

    def add(
        name: str, inputs: str, ours: Way, label: str, theirs: Way, dtype: str = "bf16",
        shape: tuple[int, ...] = big,
    ) -> None:  # fmt: skip
        tensors = dict.fromkeys((*inputs.split(), "out"), (shape, dtype))
        way = [(label, theirs)]
        made.append(Case("map", name, text(shape), dtype, tensors, ours, way, **traffic(tensors)))

    plus = ("add", lambda t: torch.add(t["x"], t["y"], out=t["out"]))
    ours_plus = lambda t: ic.add(t["x"], t["y"], out=t["out"])  # noqa: E731
    silu = ("silu", lambda t: torch.ops.aten.silu.out(t["x"], out=t["out"]))
    ours_silu = lambda t: functional.silu(t["x"], out=t["out"])  # noqa: E731
    for dtype in ("bf16", "f16", "f32"):
        add("add", "x y", ours_plus, *plus, dtype=dtype)
        add("silu", "x", ours_silu, *silu, dtype=dtype)
    add("add", "x y", ours_plus, *plus, shape=small)
    gelu = lambda t: torch.ops.aten.gelu.out(t["x"], out=t["out"])  # noqa: E731
    add("gelu", "x", lambda t: functional.gelu(t["x"], out=t["out"]), "gelu", gelu)
    swiglu = lambda t: functional.swiglu(t["x"], t["y"], out=t["out"])  # noqa: E731
    two = lambda t: torch.mul(torch.nn.functional.silu(t["y"]), t["x"], out=t["out"])  # noqa: E731
    add("swiglu", "x y", swiglu, "silu, mul", two)
    for name in ("exp", "tanh", "rsqrt", "abs"):
        call, other = getattr(ic, name), getattr(torch, name, None)
        ours = lambda t, c=call: c(t["x"], out=t["out"])  # noqa: E731
        add(name, "x", ours, name, lambda t, c=other: c(t["x"], out=t["out"]))
    scaled = lambda t: torch.mul(t["x"], 0.5, out=t["out"])  # noqa: E731
    add("x * 0.5", "x", lambda t: ic.mul(t["x"], 0.5, out=t["out"]), "mul", scaled)
    return made


# ---- Rows: norms, softmax, folds -----------------------------------------------------------------


def _norms(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional, theirs = ic.nn.functional, torch.nn.functional if torch else None
    rows, size = (64, 256) if tiny else (16384, 8192)
    made = []
    for dtype in ("bf16", "f32"):
        x: Shapes = dict.fromkeys(("x", "out"), ((rows, size), dtype))
        weights: Shapes = {**x, "w": ((size,), dtype), "b": ((size,), dtype)}
        ways: dict[str, tuple[Shapes, Way, Way]] = {
            "rms_norm": (
                weights,
                lambda t: functional.rms_norm(t["x"], (size,), t["w"], 1e-5, out=t["out"]),
                lambda t: theirs.rms_norm(t["x"], (size,), t["w"], 1e-5),
            ),
            "layer_norm": (
                weights,
                lambda t: functional.layer_norm(
                    t["x"], (size,), t["w"], t["b"], 1e-5, out=t["out"]
                ),
                lambda t: theirs.layer_norm(t["x"], (size,), t["w"], t["b"], 1e-5),
            ),
            "softmax": (
                x,
                lambda t: functional.softmax(t["x"], -1, out=t["out"]),
                lambda t: torch.softmax(t["x"], -1),
            ),
            "log_softmax": (
                x,
                lambda t: functional.log_softmax(t["x"], -1, out=t["out"]),
                lambda t: torch.log_softmax(t["x"], -1),
            ),
        }
        for name, (tensors, ours, way) in ways.items():
            named = ("norm", name, text((rows, size)), dtype, tensors)
            made.append(Case(*named, ours, [(name, way)], **traffic(x)))
    return made


def _folds(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    rows, size = (64, 256) if tiny else (16384, 8192)
    shape, made = text((rows, size)), []
    for dtype in ("bf16", "f32"):
        for axis, count in ((-1, rows), (0, size)):
            tensors: Shapes = {"x": ((rows, size), dtype), "out": ((count,), dtype)}
            ours = lambda t, a=axis: ic.sum(t["x"], dim=a, out=t["out"])  # noqa: E731
            way = ("sum", lambda t, a=axis: torch.sum(t["x"], dim=a, out=t["out"]))
            name = f"sum over {'last' if axis else 'first'} axis"
            made.append(Case("fold", name, shape, dtype, tensors, ours, [way], **traffic(tensors)))
    tensors = {"x": ((rows, size), "bf16"), "out": ((rows,), "i64")}
    ours = lambda t: ic.argmax(t["x"], -1)  # noqa: E731
    way = ("argmax", lambda t: torch.argmax(t["x"], -1, out=t["out"]))
    # The largest value may occur several times: the values are compared, not the positions.
    more: dict[str, Any] = {**traffic(tensors), "close": 0.0, "picks": "x"}
    made.append(Case("fold", "argmax", shape, "bf16", tensors, ours, [way], **more))
    batch, words, best = (4, 1000, 5) if tiny else (64, 151936, 50)
    tensors = {"x": ((batch, words), "f32"), "out": ((batch, best), "f32")}
    more = {**traffic(tensors), "unit": "us", "close": 0.0}
    ours = lambda t: ic.topk(t["x"], best)  # noqa: E731
    way = ("topk", lambda t: torch.topk(t["x"], best))
    named = ("fold", f"top-{best}", text((batch, words)), "f32", tensors)
    made.append(Case(*named, ours, [way], **more))
    return made


# ---- Copies, gathers, running sums ---------------------------------------------------------------


def _copies(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    functional, theirs = ic.nn.functional, torch.nn.functional if torch else None
    size = 128 if tiny else 4096
    made = []
    for dtype in ("bf16", "f32"):
        tensors: Shapes = dict.fromkeys(("x", "out"), ((size, size), dtype))
        ours = lambda t: t["out"].copy_(t["x"].T)  # noqa: E731
        way = ("copy_", lambda t: t["out"].copy_(t["x"].T))
        named = ("copy", "transpose-copy", text((size, size)), dtype, tensors)
        made.append(Case(*named, ours, [way], **traffic(tensors), close=0.0))
    rows, width = (64, 128) if tiny else (16384, 4096)
    shape = text((rows, width))
    tensors = {"x": ((rows, width), "bf16"), "out": ((rows, width), "f32")}
    way = ("copy_", lambda t: t["out"].copy_(t["x"]))
    ours = lambda t: t["out"].copy_(t["x"])  # noqa: E731
    named = ("copy", "cast to f32", shape, "bf16", tensors)
    made.append(Case(*named, ours, [way], **traffic(tensors), close=0.0))
    words = 1000 if tiny else 151936
    tensors = {"i": ((rows,), "i64"), "x": ((words, width), "bf16"), "out": ((rows, width), "bf16")}
    ours = lambda t: functional.embedding(t["i"], t["x"], out=t["out"])  # noqa: E731
    way = ("embedding", lambda t: theirs.embedding(t["i"], t["x"]))
    moved = bytes_of(tensors, "out")
    more: dict[str, Any] = {"reads": moved, "writes": moved, "below": words, "close": 0.0}
    made.append(Case("copy", "embedding", shape, "bf16", tensors, ours, [way], **more))
    tensors = dict.fromkeys(("x", "out"), ((rows, width), "f32"))
    for name, close in (("cumsum", 1.0), ("sort", 0.0)):
        call, other = getattr(ic, name), getattr(torch, name, None)
        ours = lambda t, c=call: c(t["x"], -1)  # noqa: E731
        way = (name, lambda t, c=other: c(t["x"], -1))
        more = {**traffic(tensors), "close": close}
        made.append(Case("scan", name, shape, "f32", tensors, ours, [way], **more))
    return made


# ---- Products ------------------------------------------------------------------------------------


def _products(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    made = []
    sizes = [(4096, 4096, 4096), (16, 4096, 4096), (128, 11008, 4096)]
    sizes += [(1, 4096, 4096), (1024, 4096, 4096), (8192, 8192, 8192)]
    for m, n, k in sizes:
        if tiny:
            m, n, k = min(m, 16), n // 64, k // 64
        tensors: Shapes = {"x": ((m, k), "bf16"), "w": ((n, k), "bf16"), "out": ((m, n), "bf16")}
        ours = lambda t: ic.nn.functional.linear(t["x"], t["w"], out=t["out"])  # noqa: E731
        way = ("linear", lambda t: torch.mm(t["x"], t["w"].T, out=t["out"]))
        unit = "TFLOP/s" if m * n * k > 2 * 1024**3 else "us"
        more: dict[str, Any] = {**traffic(tensors), "flops": 2.0 * m * n * k, "unit": unit}
        made.append(
            Case("product", "gemm NT", text((m, n, k)), "bf16", tensors, ours, [way], **more)
        )
    batch, size = (2, 64) if tiny else (32, 1024)
    tensors = dict.fromkeys(("x", "w", "out"), ((batch, size, size), "bf16"))
    ours = lambda t: ic.bmm(t["x"], t["w"], out=t["out"])  # noqa: E731
    way = ("bmm", lambda t: torch.bmm(t["x"], t["w"], out=t["out"]))
    more = {**traffic(tensors), "flops": 2.0 * batch * size**3, "unit": "TFLOP/s"}
    made.append(Case("product", "bmm", f"{batch}x{size}^3", "bf16", tensors, ours, [way], **more))
    return made


def _convolutions(ic: Any, torch: Any, tiny: bool) -> list[Case]:
    image = (1, 8, 16, 16) if tiny else (8, 128, 64, 64)
    weight = (16, 8, 3, 3) if tiny else (256, 128, 3, 3)
    tensors: Shapes = {"x": (image, "f16"), "w": (weight, "f16")}
    ours = lambda t: ic.nn.functional.conv2d(t["x"], t["w"], padding=1)  # noqa: E731
    way = ("conv2d", lambda t: torch.nn.functional.conv2d(t["x"], t["w"], padding=1))
    results = image[0] * weight[0] * image[2] * image[3]
    more = {"reads": bytes_of(tensors, "x", "w"), "writes": 2.0 * results, "unit": "TFLOP/s"}
    more |= {"flops": 2.0 * results * weight[1] * 9}
    return [Case("product", "conv2d 3x3", text(image), "f16", tensors, ours, [way], **more)]


# ---- Attention -----------------------------------------------------------------------------------


def _attention(ic: Any, torch: Any, tiny: bool) -> list[Case]:
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

    attend = ic.nn.functional.scaled_dot_product_attention
    b, h, s, d = (1, 2, 64, 32) if tiny else (4, 32, 4096, 128)
    tensors: Shapes = dict.fromkeys(("q", "k", "v"), ((b, h, s, d), "bf16"))
    prefill = Case(
        *("attention", "causal attention", f"B{b} H{h} S{s} D{d}", "bf16", tensors),
        lambda t: attend(t["q"], t["k"], t["v"], is_causal=True),
        ways(is_causal=True),
        reads=bytes_of(tensors, "q", "k", "v"),
        writes=bytes_of(tensors, "q"),
        flops=2.0 * b * h * s * s * d,
        unit="TFLOP/s",
    )
    b, h, kh, s, d = (2, 4, 2, 64, 32) if tiny else (64, 32, 8, 4096, 128)
    tensors = {"q": ((b, h, 1, d), "bf16")}
    tensors |= dict.fromkeys(("k", "v"), ((b, kh, s, d), "bf16"))
    decode = Case(
        *("attention", "decode attention", f"B{b} H{h} KH{kh} S{s} D{d}", "bf16", tensors),
        lambda t: attend(t["q"], t["k"], t["v"], enable_gqa=True),
        ways(enable_gqa=True),
        reads=bytes_of(tensors, "q", "k", "v"),
        writes=bytes_of(tensors, "q"),
    )
    return [prefill, decode]
