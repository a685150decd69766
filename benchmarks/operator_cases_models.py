"""The rows of benchmarks/operators.py that compute with models' shapes: products, attention,
convolution, and operators that select by index or by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from operator_cases import BYTES, FLOATS, Call, Case, Tensors, Work, every, text
from operator_limits import EXP, widening

Theirs = list[tuple[str, Call]]

# ---- Products -----------------------------------------------------------------------------------


def products() -> Iterator[Case]:
    """M x K times K x N; the weights are stored as [N, K], as in linear layers."""
    yield Case("gemm", "gemm", "8x8x8", "F32", gemm_work(8, 8, 8, "F32", layer=False))
    square = (1024, 1024, 1024)
    qwen, smol, llama = (128, 4864, 896), (128, 1536, 576), (128, 14336, 4096)
    for dtype in FLOATS:
        yield Case("gemm", "gemm", text(*square), dtype, gemm_work(*square, dtype, layer=False))
    for shape, dtype in every(FLOATS, qwen, smol):
        yield Case("gemm", "gemm layer", text(*shape), dtype, gemm_work(*shape, dtype))
    yield Case("gemm", "gemm layer", text(*llama), "F32", gemm_work(*llama, "F32"))
    for shape, dtype in every(FLOATS, (1, 14336, 4096), (1, 4096, 14336), (1, 49152, 576)):
        build = gemm_work(*shape, dtype)
        yield Case("gemv", "gemm layer", text(*shape), dtype, build, decode=True)
    for shape in ((1, 14336, 4096), (1, 4864, 896)):
        yield Case("gemv", "int8_gemm", text(*shape), "BF16", int8_work(*shape), decode=True)
        for dtype in ("F32", "BF16"):
            build = mxfp4_work(*shape, dtype)
            yield Case("gemv", "linear_mxfp4", text(*shape), dtype, build, decode=True)


def gemm_work(
    rows: int, columns: int, depth: int, dtype: str, layer: bool = True
) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        a = t.normal(rows, depth, dtype=dtype)
        b = (
            t.normal(columns, depth, dtype=dtype).t()
            if layer
            else t.normal(depth, columns, dtype=dtype)
        )
        c, d = t.empty(rows, columns, dtype=dtype), t.empty(rows, columns, dtype=dtype)
        ours = t.plan("gemm", [c], a, b, alpha=1.0, beta=0.0)
        theirs: Theirs = [("mm", lambda: t.torch.mm(a, b, out=d))]
        if rows == 1:
            theirs.insert(0, ("mv", lambda: t.torch.mv(b.t(), a[0], out=d[0])))
        size = BYTES[dtype]
        return Work(
            ours=ours,
            theirs=theirs,
            result=c,
            reads=(rows * depth + depth * columns) * size,
            writes=rows * columns * size,
            # One row: every widened weight is used only once.
            elementwise=float(columns) * depth * widening(dtype) if rows == 1 else 0.0,
            products=float(rows) * columns * depth,
        )

    return build


def int8_work(rows: int, columns: int, depth: int) -> Callable[[Tensors], Work]:
    """Torch: its product of BF16 with 8-bit weights, and of weights expanded to BF16 before."""

    def build(t: Tensors) -> Work:
        torch = t.torch
        x = t.integers(128, rows, depth, dtype=torch.int8, low=-127)
        w = t.integers(128, columns, depth, dtype=torch.int8, low=-127)
        x_scale, w_scale = torch.full((rows,), 0.01), torch.rand(columns) * 0.01
        out = t.empty(rows, columns, dtype="BF16")
        given = (x, x_scale, w.t(), w_scale, None)
        plan = t.op.describe("int8_gemm", *given, out=out)
        data = (out, None, *given[:-1])
        wide = (x * x_scale[:, None]).bfloat16()
        expanded = (w * w_scale[:, None]).bfloat16().t()
        scales = w_scale.bfloat16()
        theirs: Theirs = [
            ("mv of expanded weights", lambda: torch.mv(expanded.t(), wide[0])),
            ("mm of expanded weights", lambda: torch.mm(wide, expanded)),
        ]
        if hasattr(torch, "_weight_int8pack_mm"):
            packed = lambda: torch._weight_int8pack_mm(wide, w, scales)  # noqa: E731
            theirs.append(("_weight_int8pack_mm", packed))
        return Work(
            ours=lambda: plan(*data),
            theirs=theirs,
            result=out,
            reads=columns * depth + rows * depth + 4 * columns,
            writes=2 * rows * columns,
        )

    return build


def mxfp4_work(rows: int, columns: int, depth: int, dtype: str) -> Callable[[Tensors], Work]:
    """Torch has no MXFP4 on the CPU: it gets weights expanded before."""

    def build(t: Tensors) -> Work:
        torch = t.torch
        x, out = t.normal(rows, depth, dtype=dtype), t.empty(rows, columns, dtype=dtype)
        packed = t.integers(256, columns, depth // 2, dtype=torch.uint8)
        scale = t.integers(127, columns, depth // 32, dtype=torch.uint8, low=120)
        ours = t.plan("linear_mxfp4", [out], x, packed, scale, None, alpha=1.0)
        expanded = torch.empty(columns, depth, dtype=t.types[dtype])
        t.op.describe("mxfp4_dequantize", packed, scale, out=expanded)(expanded, packed, scale)
        weights = expanded.t()
        return Work(
            ours=ours,
            theirs=[
                ("mv of expanded weights", lambda: torch.mv(expanded, x[0])),
                ("mm of expanded weights", lambda: torch.mm(x, weights)),
            ],
            result=out,
            reads=packed.numel() + scale.numel() + x.numel() * BYTES[dtype],
            writes=out.numel() * BYTES[dtype],
            # With F32 a code becomes a float and a product; with less, dot products of bytes do.
            elementwise=float(columns) * depth if dtype == "F32" else 0.0,
            products=float(columns) * depth if dtype == "F32" else 0.0,
        )

    return build


# ---- Attention ----------------------------------------------------------------------------------


def attentions() -> Iterator[Case]:
    llama, qwen, smol = (32, 8, 128), (14, 2, 64), (9, 3, 64)
    for (who, heads), dtype in every(FLOATS, ("Llama", llama), ("Qwen", qwen)):
        if who == "Qwen" or dtype != "BF16":  # which takes torch a minute on some CPUs
            name = f"flash_attention prefill {who}"
            yield Case("attention", name, "512x512", dtype, flash_work(512, 512, *heads, dtype))
    build = flash_work(128, 128, *smol, "F32")
    yield Case("attention", "flash_attention prefill SmolLM2", "128x128", "F32", build)
    for dtype in FLOATS:
        build = flash_work(1, 4096, *llama, dtype)
        yield Case("attention", "flash_attention decode Llama", "1x4096", dtype, build)
    for dtype in ("BF16", "F16"):
        build = paged_work(4, 2048, *llama, 128, dtype)
        yield Case("attention", "paged_attention Llama", "4x2048", dtype, build)
        build = paged_work(1, 2048, 16, 1, 576, 512, dtype)
        yield Case("attention", "paged_attention MLA 576/512", "1x2048", dtype, build)


def flash_work(
    queries: int, keys: int, heads: int, groups: int, size: int, dtype: str
) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        q, out = (t.normal(1, heads, queries, size, dtype=dtype) for _ in range(2))
        k, v = (t.normal(1, groups, keys, size, dtype=dtype) for _ in range(2))
        scale, causal = size**-0.5, queries > 1
        total = t.torch.full((1,), keys, dtype=t.torch.int32)
        ours = t.plan("flash_attention", [out], q, k, v, total, scale=scale, is_causal=int(causal))
        attend = t.torch.nn.functional.scaled_dot_product_attention
        wide_k, wide_v = (x.repeat_interleave(heads // groups, 1) for x in (k, v))
        theirs: Theirs = [
            ("sdpa, enable_gqa", lambda: attend(q, k, v, is_causal=causal, enable_gqa=True)),
            ("sdpa, repeated heads", lambda: attend(q, wide_k, wide_v, is_causal=causal)),
        ]
        scores = heads * queries * keys / (2 if causal else 1)
        return Work(
            ours=ours,
            theirs=theirs,
            result=out,
            reads=(q.numel() + k.numel() + v.numel()) * BYTES[dtype],
            writes=out.numel() * BYTES[dtype],
            elementwise=scores * (EXP + 3),
            products=2.0 * scores * size,
        )

    return build


def paged_work(
    sequences: int, keys: int, heads: int, groups: int, size: int, values: int, dtype: str
) -> Callable[[Tensors], Work]:
    """Torch has no pages: it gets dense keys and values."""

    def build(t: Tensors) -> Work:
        torch, block = t.torch, 16
        count = sequences * keys // block
        q, out = (
            t.normal(sequences, heads, size, dtype=dtype),
            t.empty(sequences, heads, values, dtype=dtype),
        )
        k_cache = t.normal(count, groups, block, size, dtype=dtype)
        v_cache = t.normal(count, groups, block, values, dtype=dtype)
        tables = torch.randperm(count).view(sequences, -1).contiguous()
        lengths = torch.full((sequences,), keys)
        given = (q, k_cache, v_cache, tables, lengths, None)
        ours = t.plan("paged_attention", [out], *given, scale=size**-0.5)
        dense = (sequences, groups, keys, -1)
        k, v = (c[tables].transpose(1, 2).reshape(dense) for c in (k_cache, v_cache))
        attend = torch.nn.functional.scaled_dot_product_attention
        by_group = q.view(sequences, groups, heads // groups, size)
        wide_k, wide_v = (x.repeat_interleave(heads // groups, 1) for x in (k, v))
        theirs: Theirs = [
            ("sdpa, enable_gqa", lambda: attend(q[:, :, None], k, v, enable_gqa=True)),
            ("sdpa, repeated heads", lambda: attend(q[:, :, None], wide_k, wide_v)),
            ("sdpa, heads as queries", lambda: attend(by_group, k, v)),
        ]
        scores = float(sequences * heads * keys)
        return Work(
            ours=ours,
            theirs=theirs,
            result=out,
            reads=(q.numel() + k.numel() + v.numel()) * BYTES[dtype],
            writes=out.numel() * BYTES[dtype],
            elementwise=scores * (EXP + 3),
            products=scores * (size + values),
        )

    return build


# ---- Convolution --------------------------------------------------------------------------------


def convolutions() -> Iterator[Case]:
    """Layers of ResNet-50: channels in and out, image, kernel, stride."""
    layers = [(3, 64, 224, 7, 2), (64, 64, 56, 3, 1), (256, 64, 56, 1, 1), (512, 512, 7, 3, 1)]
    for into, out, image, kernel, stride in layers:
        for dtype in FLOATS if kernel == 3 and image == 56 else ("F32",):
            shape = f"{into}->{out} {kernel}x{kernel}/{stride} on {image}x{image}"
            build = conv_work(into, out, image, kernel, stride, dtype)
            yield Case("conv", "conv", shape, dtype, build)


def conv_work(
    into: int, out: int, image: int, kernel: int, stride: int, dtype: str
) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        x = t.normal(1, into, image, image, dtype=dtype)
        w, bias = t.normal(out, into, kernel, kernel, dtype=dtype), t.normal(out, dtype=dtype)
        pad, side = kernel // 2, (image + 2 * (kernel // 2) - kernel) // stride + 1
        y = t.empty(1, out, side, side, dtype=dtype)
        ours = t.plan("conv", [y], x, w, bias, pads=[pad] * 2, strides=[stride] * 2)
        convolve = t.torch.nn.functional.conv2d
        theirs: Theirs = [("conv2d", lambda: convolve(x, w, bias, stride, pad))]
        size = BYTES[dtype]
        return Work(
            ours=ours,
            theirs=theirs,
            result=y,
            reads=(x.numel() + w.numel()) * size,
            writes=y.numel() * size,
            products=float(y.numel()) * into * kernel * kernel,
        )

    return build


# ---- By index, by size --------------------------------------------------------------------------


def selections() -> Iterator[Case]:
    tables = {"Llama": (32000, 4096), "SmolLM2": (49152, 576)}
    for who, (entries, size) in tables.items():
        for dtype in ("F32", "BF16"):
            name, shape = f"embedding {who}", text(512, size)
            yield Case("index", name, shape, dtype, embedding_work(entries, size, dtype))
    for dtype in ("F32", "BF16"):
        yield Case("index", "scatter", "1024x4096", dtype, scatter_work(dtype))
        yield Case("index", "paged_caching Llama", "128x8x128", dtype, caching_work(dtype))
    for vocabulary in (151936, 128256):
        for dtype in ("F32", "BF16"):
            build = topk_work(1, vocabulary, 50, dtype)
            yield Case("sort", "topk 50", text(1, vocabulary), dtype, build)
    yield Case("sort", "topk 8", "128x256", "F32", topk_work(128, 256, 8, "F32"))
    yield Case("sort", "kthvalue", "256x4096", "F32", kthvalue_work())
    for vocabulary, dtype in ((151936, "F32"), (128256, "BF16"), (49152, "F32")):
        yield Case("sort", "random_sample", str(vocabulary), dtype, sample_work(vocabulary, dtype))


def embedding_work(entries: int, size: int, dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        weight, ids = t.normal(entries, size, dtype=dtype), t.integers(entries, 512)
        y, z = t.empty(512, size, dtype=dtype), t.empty(512, size, dtype=dtype)
        ours = t.plan("embedding", [y], ids, weight)
        theirs: Theirs = [
            ("embedding", lambda: t.torch.nn.functional.embedding(ids, weight)),
            ("index_select", lambda: t.torch.index_select(weight, 0, ids, out=z)),
        ]
        moved = 512 * size * BYTES[dtype]
        return Work(ours, theirs, y, moved, moved, close=0.0)

    return build


def scatter_work(dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        rows, columns = 1024, 4096
        x, updates = (t.normal(rows, columns, dtype=dtype) for _ in range(2))
        y, z = (t.empty(rows, columns, dtype=dtype) for _ in range(2))
        places = t.torch.stack([t.torch.randperm(columns) for _ in range(rows)])
        ours = t.plan("scatter", [y], x, places, updates, axis=1, reduction=0)
        theirs: Theirs = [("scatter", lambda: t.torch.scatter(x, 1, places, updates, out=z))]
        size = x.numel() * BYTES[dtype]
        return Work(ours, theirs, y, 2 * size + 8 * x.numel(), size, close=0.0)

    return build


def caching_work(dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        tokens, heads, size, block = 128, 8, 128, 16
        caches = [t.empty(256, heads, block, size, dtype=dtype) for _ in range(4)]
        k, v = (t.normal(tokens, heads, size, dtype=dtype) for _ in range(2))
        slots = t.torch.randperm(256 * block)[:tokens]
        plan = t.op.describe("paged_caching", caches[0], caches[1], k, v, slots)
        blocks, rows = slots // block, slots % block

        def theirs() -> Any:
            caches[2][blocks, :, rows] = k
            caches[3][blocks, :, rows] = v
            return caches[2]

        moved = 2 * k.numel() * BYTES[dtype]
        made: Theirs = [("indexed assignment", theirs)]
        ours = lambda: plan(caches[0], caches[1], k, v, slots)  # noqa: E731
        return Work(ours, made, caches[0], moved, moved, close=0.0)

    return build


def topk_work(rows: int, columns: int, count: int, dtype: str) -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        x = t.normal(rows, columns, dtype=dtype)
        values = t.empty(rows, count, dtype=dtype)
        where = t.torch.zeros(rows, count, dtype=t.torch.int32)
        plan = t.op.describe("topk", x, out=[values, where], k=count, dim=1)
        theirs: Theirs = [("topk", lambda: t.torch.topk(x, count, 1)[0])]
        reads, writes = x.numel() * BYTES[dtype], values.numel() * (BYTES[dtype] + 4)
        ours = lambda: plan(values, where, x)  # noqa: E731
        return Work(ours, theirs, values, reads, writes, close=0.0)

    return build


def kthvalue_work() -> Callable[[Tensors], Work]:
    def build(t: Tensors) -> Work:
        x, values = t.normal(256, 4096), t.empty(256)
        where = t.integers(1, 256)
        plan = t.op.describe("kthvalue", x, out=[values, where], k=2048, dim=1)
        theirs: Theirs = [("kthvalue", lambda: t.torch.kthvalue(x, 2048, 1)[0])]
        ours = lambda: plan(values, where, x)  # noqa: E731
        return Work(ours, theirs, values, x.numel() * 4, 256 * 12, close=0.0)

    return build


def sample_work(vocabulary: int, dtype: str) -> Callable[[Tensors], Work]:
    """Samples from the top 50 and from a total probability of 0.8."""

    def build(t: Tensors) -> Work:
        torch, logits = t.torch, t.normal(vocabulary, dtype=dtype)
        drawn = torch.zeros((), dtype=torch.int64)
        settings = {"random_val": 0.5, "topp": 0.8, "topk": 50, "temperature": 0.7}
        plan = t.op.describe("random_sample", logits, out=drawn, **settings)

        def theirs() -> Any:
            best, where = torch.topk(logits, 50)
            shares = torch.softmax(best.float() / 0.7, 0)
            kept = shares * (torch.cumsum(shares, 0) - shares <= 0.8)
            return where[torch.multinomial(kept, 1)]

        def check() -> str:
            best, where = torch.topk(logits, 50)
            shares = torch.softmax(best.float() / 0.7, 0)
            kept = where[torch.cumsum(shares, 0) - shares <= 0.8]
            # Equal logits may be ordered in any way.
            fits = bool((logits[kept] == logits[drawn]).any())
            return "" if fits else f"drew {int(drawn)}, which torch would not draw"

        made: Theirs = [("topk, softmax, cumsum, multinomial", theirs)]
        reads = logits.numel() * BYTES[dtype]
        return Work(lambda: plan(drawn, logits), made, drawn, reads, 8, check=check)

    return build


def computing() -> Iterator[Case]:
    for group in (products, attentions, convolutions, selections):
        yield from group()
