"""The rows of benchmarks/operators.py that walk over memory: maps, rows, copies, reductions.

A case is built when it is measured and freed afterwards, so that only one at a time needs memory.
torch gets its best form: preallocated results where it supports them, and the fastest of several
ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from operator_limits import COSTS, narrowing, widening

Call = Callable[[], Any]
FLOATS = ("F32", "BF16", "F16")
BYTES = {"F32": 4, "BF16": 2, "F16": 2}


@dataclass
class Work:
    """One row, ready to run."""

    ours: Call
    theirs: Sequence[tuple[str, Call]]  # how torch does it; its results, to be compared with:
    result: Any
    reads: float  # bytes
    writes: float
    elementwise: float = 0.0  # instructions, counted by element
    products: float = 0.0  # multiply-adds
    close: float = 1.0  # times the tests' tolerance for the type; 0: the results are equal
    check: Callable[[], str] | None = None  # what is wrong with ours, where there are many results


@dataclass(frozen=True)
class Case:
    group: str
    name: str
    shape: str
    dtype: str
    build: Callable[[Tensors], Work] = field(compare=False, repr=False)
    decode: bool = False  # a product with one row: the goal is bandwidth

    @property
    def title(self) -> str:
        return f"{self.group}/{self.name} {self.shape} {self.dtype}"


class Tensors:
    """Makes touched torch tensors, and plans on them."""

    def __init__(self, torch: Any, op: Any) -> None:
        self.torch, self.op = torch, op
        self.aten = torch.ops.aten
        self.types = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
        torch.manual_seed(1)
        self._numbers = {"F32": torch.randn(1_000_003)}

    def normal(self, *shape: int, dtype: str = "F32") -> Any:
        """Repeating normal random numbers, because drawing all of them takes long."""
        if dtype not in self._numbers:
            self._numbers[dtype] = self._numbers["F32"].to(self.types[dtype])
        made = self.torch.empty(shape, dtype=self.types[dtype])
        numbers = self._numbers[dtype]
        for part in made.view(-1).split(len(numbers)):
            part.copy_(numbers[: len(part)])
        return made

    def empty(self, *shape: int, dtype: str = "F32") -> Any:
        return self.torch.empty(shape, dtype=self.types[dtype]).fill_(0)

    def integers(self, high: int, *shape: int, dtype: Any = None, low: int = 0) -> Any:
        return self.torch.randint(low, high, shape, dtype=dtype or self.torch.int64)

    def plan(self, name: str, outputs: Sequence[Any], *inputs: Any, **attributes: Any) -> Call:
        """Creates a plan; the call runs it. The outputs come first, then the inputs."""
        given = list(outputs) if outputs else None
        plan = self.op.describe(name, *inputs, out=given, **attributes)
        data = (*outputs, *inputs)
        return lambda: plan(*data)


def every(dtypes: Sequence[str], *shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        for dtype in dtypes:
            yield shape, dtype


def text(*sizes: int) -> str:
    return "x".join(map(str, sizes))


# ---- Elementwise --------------------------------------------------------------------------------

SQUARE = (4096, 4096)
UNARY = ("silu", "gelu", "gelutanh", "tanh", "sigmoid", "softplus")
BINARY = ("add", "mul", "swiglu")
# Prefill of 128 tokens: the hidden state and the intermediate one.
LLAMA_HIDDEN, LLAMA_MIDDLE, QWEN_MIDDLE = (128, 4096), (128, 14336), (128, 4864)
SMOL_MIDDLE = (1, 1536)


def elementwise() -> Iterator[Case]:
    plain = ("silu", "gelu", "add")
    for name in (*UNARY, *BINARY):
        shapes: list[tuple[int, int]] = [SQUARE]
        if name == "swiglu":
            shapes = [LLAMA_MIDDLE, QWEN_MIDDLE, SMOL_MIDDLE, SQUARE]
        elif name == "add":
            shapes = [(8, 8), LLAMA_HIDDEN, SQUARE]
        elif name == "silu":
            shapes = [LLAMA_MIDDLE, SQUARE]
        for shape in shapes:
            most = name in plain or name == "swiglu"
            for dtype in FLOATS if most else ("F32", "BF16"):
                build = elementwise_work(name, shape, dtype)
                yield Case("elementwise", name, text(*shape), dtype, build)


def elementwise_work(name: str, shape: tuple[int, ...], dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        aten, inputs = t.aten, [t.normal(*shape, dtype=dtype) for _ in range(1 + (name in BINARY))]
        y, z = t.empty(*shape, dtype=dtype), t.empty(*shape, dtype=dtype)
        x, last = inputs[0], inputs[-1]
        calls: dict[str, tuple[str, Call]] = {
            "add": ("add", lambda: t.torch.add(x, last, out=z)),
            "mul": ("mul", lambda: t.torch.mul(x, last, out=z)),
            # c = a * silu(b), which torch does in two passes
            "swiglu": ("silu, mul", lambda: aten.mul.out(aten.silu.out(last, out=z), x, out=z)),
            "silu": ("silu", lambda: aten.silu.out(x, out=z)),
            "gelu": ("gelu", lambda: aten.gelu.out(x, out=z)),
            "gelutanh": ("gelu", lambda: aten.gelu.out(x, approximate="tanh", out=z)),
            "tanh": ("tanh", lambda: t.torch.tanh(x, out=z)),
            "sigmoid": ("sigmoid", lambda: t.torch.sigmoid(x, out=z)),
            "softplus": ("softplus", lambda: aten.softplus.out(x, out=z)),
        }
        size, count = BYTES[dtype], x.numel()
        cost = COSTS["gelu_tanh" if name == "gelutanh" else name]
        cost += len(inputs) * widening(dtype) + narrowing(dtype)
        return Work(
            ours=t.plan(name, [y], *inputs),
            theirs=[calls[name]],
            result=y,
            reads=len(inputs) * count * size,
            writes=count * size,
            elementwise=count * cost,
        )

    return build


# ---- Rows ---------------------------------------------------------------------------------------


def norms() -> Iterator[Case]:
    smol, qwen, llama = (128, 576), (128, 896), (128, 4096)
    yield Case("norm", "rms_norm", "1x64", "F32", norm_work("rms_norm", (1, 64), "F32"))
    for shape, dtype in every(FLOATS, smol, llama, SQUARE):
        yield Case("norm", "rms_norm", text(*shape), dtype, norm_work("rms_norm", shape, dtype))
    for shape, dtype in every(("F32", "BF16"), qwen, SQUARE):
        build = norm_work("add_rms_norm", shape, dtype)
        yield Case("norm", "add_rms_norm", text(*shape), dtype, build)
    for dtype in FLOATS:
        build = norm_work("layer_norm", SQUARE, dtype)
        yield Case("norm", "layer_norm", text(*SQUARE), dtype, build)


def norm_work(name: str, shape: tuple[int, int], dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        aten, functional = t.aten, t.torch.nn.functional
        x, w = t.normal(*shape, dtype=dtype), t.normal(shape[1], dtype=dtype)
        y, z = t.empty(*shape, dtype=dtype), t.empty(*shape, dtype=dtype)
        count, size = x.numel(), BYTES[dtype]
        reads, writes = count * size, count * size
        theirs: list[tuple[str, Call]]
        if name == "rms_norm":
            ours = t.plan(name, [y], x, w, epsilon=1e-5)
            theirs = [("rms_norm", lambda: functional.rms_norm(x, (shape[1],), w, 1e-5))]
        elif name == "add_rms_norm":
            b, r = t.normal(*shape, dtype=dtype), t.empty(*shape, dtype=dtype)
            ours = t.plan(name, [y, r], x, b, w, epsilon=1e-5)
            added = lambda: functional.rms_norm(t.torch.add(x, b, out=z), (shape[1],), w, 1e-5)  # noqa: E731
            theirs = [("add, rms_norm", added)]
            reads, writes = 2 * reads, 2 * writes
        else:
            bias = t.normal(shape[1], dtype=dtype)
            ours = t.plan(name, [y, None, None], x, w, bias, eps=1e-5)
            mean, scale = (t.empty(shape[0], 1, dtype=dtype) for _ in range(2))

            def prepared() -> Any:
                outs = {"out0": z, "out1": mean, "out2": scale}
                return aten.native_layer_norm.out(x, (shape[1],), w, bias, 1e-5, **outs)[0]

            plain = lambda: functional.layer_norm(x, (shape[1],), w, bias, 1e-5)  # noqa: E731
            theirs = [("layer_norm", prepared), ("layer_norm", plain)]
        inputs, outputs = reads // count // size, writes // count // size
        cost = COSTS[name] + inputs * widening(dtype) + outputs * narrowing(dtype)
        return Work(ours, theirs, y, reads, writes, count * cost)

    return build


def softmaxes() -> Iterator[Case]:
    for dtype in FLOATS:
        yield Case("softmax", "softmax", text(*SQUARE), dtype, softmax_work(SQUARE, dtype))
    for dtype in ("F32", "BF16"):
        name = "log_softmax"
        yield Case("softmax", name, "16x151936", dtype, softmax_work((16, 151936), dtype, name))
        name = "causal_softmax"  # 32 heads of Llama-3-8B, 512 tokens
        yield Case("softmax", name, "32x512x512", dtype, softmax_work((32, 512, 512), dtype, name))


def softmax_work(
    shape: tuple[int, ...], dtype: str, name: str = "softmax"
) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        x = t.normal(*shape, dtype=dtype)
        y, z = t.empty(*shape, dtype=dtype), t.empty(*shape, dtype=dtype)
        count, size = x.numel(), BYTES[dtype]
        cost = COSTS["softmax"] + widening(dtype) + narrowing(dtype)
        reads, instructions = count * size, float(count * cost)
        theirs: Call
        if name == "softmax":
            ours = t.plan(name, [y], x, axis=-1)
            theirs = lambda: t.aten._softmax.out(x, -1, False, out=z)  # noqa: E731
        elif name == "log_softmax":
            ours = t.plan(name, [y], x, dim=-1)
            theirs = lambda: t.aten._log_softmax.out(x, -1, False, out=z)  # noqa: E731
        else:
            ours = t.plan(name, [y], x)
            hidden = t.torch.ones(shape[-2:], dtype=t.torch.bool).triu(1)
            masked = t.empty(*shape, dtype=dtype)

            def theirs() -> Any:
                t.aten.masked_fill.Scalar_out(x, hidden, float("-inf"), out=masked)
                return t.aten._softmax.out(masked, -1, False, out=z)

            reads, instructions = reads // 2, instructions / 2  # half of it is masked
        label = "masked_fill, softmax" if name == "causal_softmax" else name
        return Work(ours, [(label, theirs)], y, reads, count * size, instructions)

    return build


def ropes() -> Iterator[Case]:
    heads = {"Llama q": (32, 128), "Qwen q": (14, 64), "SmolLM2 q": (9, 64)}
    for who, (count, size) in heads.items():
        for tokens in (2048,) if who == "Llama q" else (128,):
            for dtype in FLOATS if who == "Llama q" else ("F32", "BF16"):
                build = rope_work(tokens, count, size, dtype)
                yield Case("rope", f"rope {who}", text(tokens, count, size), dtype, build)


def rope_work(tokens: int, heads: int, size: int, dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        torch = t.torch
        x, y = t.normal(tokens, heads, size, dtype=dtype), t.empty(tokens, heads, size, dtype=dtype)
        angles = torch.outer(torch.arange(tokens), 1e4 ** -(torch.arange(0, size, 2) / size))
        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
        ours = t.plan("rope", [y], x, torch.arange(tokens), sin, cos, algo=1)
        # As the transformers library writes it, with tables as wide as a head.
        wide_sin, wide_cos = (torch.cat((half, half), -1)[:, None] for half in (sin, cos))

        def theirs() -> Any:
            turned = torch.cat((-x[..., size // 2 :], x[..., : size // 2]), -1)
            return x * wide_cos + turned * wide_sin

        count = x.numel()
        cost = COSTS["rope"] + widening(dtype) + narrowing(dtype)
        moved = count * BYTES[dtype]
        made: list[tuple[str, Call]] = [("cat, mul, add", theirs)]
        return Work(ours, made, y, moved, moved, count * cost)

    return build


# ---- Copies and reductions ----------------------------------------------------------------------


def copies() -> Iterator[Case]:
    for dtype in FLOATS:
        build = copy_work(lambda x: x.t(), SQUARE, SQUARE, dtype)
        yield Case("copy", "rearrange transpose", text(*SQUARE), dtype, build)
    for dtype in ("F32", "BF16"):
        # Heads before tokens: 2048 tokens of Llama-3-8B.
        build = copy_work(lambda x: x.transpose(0, 1), (2048, 32, 128), (32, 2048, 128), dtype)
        yield Case("copy", "rearrange heads", "2048x32x128", dtype, build)
        build = copy_work(lambda x: x.expand(*SQUARE), (1, 4096), SQUARE, dtype)
        yield Case("copy", "rearrange broadcast row", text(*SQUARE), dtype, build)
        build = copy_work(lambda x: x.expand(*SQUARE), (4096, 1), SQUARE, dtype)
        yield Case("copy", "rearrange broadcast column", text(*SQUARE), dtype, build)
    build = copy_work(lambda x: x[:, ::2], (4096, 8192), SQUARE, "F32")
    yield Case("copy", "rearrange every second", text(*SQUARE), "F32", build)


def copy_work(
    view: Callable[[Any], Any], given: tuple[int, ...], shape: tuple[int, ...], dtype: str
) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        memory = t.normal(*given, dtype=dtype)
        x, y, z = view(memory), t.empty(*shape, dtype=dtype), t.empty(*shape, dtype=dtype)
        ours = t.plan("rearrange", [y], x)
        theirs: list[tuple[str, Call]] = [("copy_", lambda: z.copy_(x))]
        reads = memory.numel() * BYTES[dtype]
        return Work(ours, theirs, y, reads, y.numel() * BYTES[dtype], close=0.0)

    return build


def reductions() -> Iterator[Case]:
    for name, dim in (("sum", 1), ("sum", 0), ("var", 1)):
        for dtype in FLOATS if name == "sum" else ("F32", "BF16"):
            build = reduction_work(name, dim, dtype)
            yield Case("reduction", f"{name} dim {dim}", text(*SQUARE), dtype, build)


def reduction_work(name: str, dim: int, dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        x = t.normal(*SQUARE, dtype=dtype)
        y, z = t.empty(4096, dtype=dtype), t.empty(4096, dtype=dtype)
        theirs: list[tuple[str, Call]]
        if name == "sum":
            ours = t.plan(name, [y], x, dim=[dim], keepdim=False)
            theirs = [("sum", lambda: t.torch.sum(x, dim, out=z))]
        else:
            ours = t.plan(name, [y], x, dim=[dim], unbiased=True, keepdim=False)
            theirs = [("var", lambda: t.torch.var(x, dim, out=z))]
        count = x.numel()
        cost = COSTS[name] + widening(dtype)
        size = BYTES[dtype]
        return Work(ours, theirs, y, count * size, 4096 * size, count * cost)

    return build


def walking() -> Iterator[Case]:
    for group in (elementwise, norms, softmaxes, ropes, copies, reductions):
        yield from group()
