"""rms_norm, swiglu and flash attention in Triton, as implementations of infinicore's operators.

python examples/kernels/triton_kernels.py                       # on the GPU
TRITON_INTERPRET=1 python examples/kernels/triton_kernels.py    # on the CPU, slowly
"""

# Compile-time constants of kernels are in capitals.

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

import infinicore
from infinicore import library
from infinicore.nn import functional as F  # noqa: N812

HALVES = (infinicore.float16, infinicore.bfloat16, infinicore.float32)

# ---- RMS norm: a row for each program ------------------------------------------------------------


@triton.jit
def _rms_norm(x, w, y, x_row, y_row, size, epsilon, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < size
    values = tl.load(x + row * x_row + at, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(values * values, 0) / size + epsilon)
    weight = tl.load(w + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * y_row + at, (values * scale * weight).to(y.dtype.element_ty), mask=inside)


def rms_norm_fits(x: Any, w: Any, *, out: Any) -> bool:
    """Contiguous rows that fit into registers."""
    sizes = list(zip(x.shape, x.stride(), out.stride(), strict=True))
    rows = [row for row in sizes[:-1] if row[0] > 1]
    return len(rows) <= 1 and sizes[-1][1:] == (1, 1) and w.stride(-1) == 1 and x.shape[-1] <= 65536


def rms_norm(x: Any, w: Any, *, epsilon: float, out: Any) -> None:
    rows = [dim for dim in range(x.ndim - 1) if x.shape[dim] > 1]
    count = x.shape[rows[0]] if rows else 1
    steps = (x.stride(rows[0]), out.stride(rows[0])) if rows else (0, 0)
    size = x.shape[-1]
    block = triton.next_power_of_2(size)
    warps = min(max(block // 512, 1), 16)
    _rms_norm[(count,)](x, w, out, *steps, size, epsilon, BLOCK=block, num_warps=warps)


# ---- SwiGLU --------------------------------------------------------------------------------------


@triton.jit
def _swiglu(a, b, c, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    up = tl.load(a + at, mask=inside, other=0.0).to(tl.float32)
    gate = tl.load(b + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(c + at, (up * gate * tl.sigmoid(gate)).to(c.dtype.element_ty), mask=inside)


def swiglu_fits(a: Any, b: Any, *, out: Any) -> bool:
    return a.is_contiguous() and b.is_contiguous() and out.is_contiguous()


def swiglu(a: Any, b: Any, *, out: Any) -> None:
    count = out.numel()
    _swiglu[(triton.cdiv(count, 2048),)](a, b, out, count, BLOCK=2048, num_warps=8)


# ---- Flash attention: a block of queries of one head for each program ----------------------------


@triton.jit
def _attention(  # type: ignore[no-untyped-def]
    q, k, v, lengths, out,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row,
    o_batch, o_head, o_row,
    heads, group, queries, keys, scale,
    CAUSAL: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    batch, head = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    columns = tl.arange(0, SIZE)
    length = keys
    if lengths is not None:
        length = tl.minimum(tl.maximum(tl.load(lengths + batch), 0), keys)
    q += batch * q_batch + head * q_head
    k += batch * k_batch + (head // group) * k_head
    v += batch * v_batch + (head // group) * v_head
    out += batch * o_batch + head * o_head
    asked = rows[:, None] < queries
    query = tl.load(q + rows[:, None] * q_row + columns[None, :], mask=asked, other=0.0)

    highest = tl.full([QUERIES], float("-inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    sums = tl.zeros([QUERIES, SIZE], tl.float32)
    end = length
    if CAUSAL:  # the last query of the block attends to the most keys
        last = (tl.program_id(0) + 1) * QUERIES + length - queries
        end = tl.minimum(length, tl.maximum(last, 0))
    for begin in range(0, end, KEYS):
        at = begin + tl.arange(0, KEYS)
        there = at < length
        key = tl.load(k + at[None, :] * k_row + columns[:, None], mask=there[None, :], other=0.0)
        scores = tl.dot(query, key) * (scale * 1.4426950408889634)
        seen = there[None, :]
        if CAUSAL:
            seen = seen & (at[None, :] <= rows[:, None] + length - queries)
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        base = tl.where(higher == float("-inf"), 0.0, higher)  # no key so far
        weights = tl.exp2(scores - base[:, None])
        shrink = tl.exp2(highest - base)
        total = total * shrink + tl.sum(weights, 1)
        value = tl.load(v + at[:, None] * v_row + columns[None, :], mask=there[:, None], other=0.0)
        sums = sums * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
        highest = higher
    result = sums / tl.where(total == 0.0, 1.0, total)[:, None]
    place = out + rows[:, None] * o_row + columns[None, :]
    tl.store(place, result.to(out.dtype.element_ty), mask=asked)


def attention_fits(q: Any, k: Any, v: Any, total_kv_len: Any, *, out: Any) -> bool:
    """Contiguous heads of 16, 32, 64 or 128 elements."""
    dense = all(tensor.stride(-1) == 1 for tensor in (q, k, v, out))
    known = total_kv_len is None or total_kv_len.is_contiguous()
    return dense and known and q.shape[-1] in (16, 32, 64, 128)


def attention(
    q: Any, k: Any, v: Any, total_kv_len: Any, *, scale: float, is_causal: int, out: Any
) -> None:
    batches, heads, queries, size = q.shape
    block = 128 if queries >= 128 else max(16, triton.next_power_of_2(queries))
    grid = (triton.cdiv(queries, block), batches * heads)
    steps = [step for tensor in (q, k, v, out) for step in tensor.stride()[:3]]
    _attention[grid](
        *(q, k, v, total_kv_len, out),
        *steps,
        *(heads, heads // k.shape[1], queries, k.shape[2], scale),
        CAUSAL=bool(is_causal),
        QUERIES=block,
        KEYS=64 if size > 64 else 128,
        SIZE=size,
        num_warps=8 if block == 128 else 4,
        num_stages=2,
    )


def register(device: Any) -> list[library.Kernel]:
    """Register them for their operators on a device."""
    options = {"device": device, "language": "triton", "dtypes": HALVES}
    return [
        library.register("rms_norm", rms_norm, when=rms_norm_fits, **options),
        library.register("swiglu", swiglu, when=swiglu_fits, **options),
        library.register(
            "flash_attention", attention, when=attention_fits, **{**options, "dtypes": HALVES[:2]}
        ),
    ]


# ---- Demonstration -------------------------------------------------------------------------------


def main() -> None:
    is_there = infinicore.get_device_count("cuda") > 0
    device = "cuda" if is_there and not triton.knobs.runtime.interpret else "cpu"
    infinicore.set_default_device(device)
    x, w = infinicore.randn(8, 1000), infinicore.randn(1000)
    q, k, v = (infinicore.randn(1, 4, 100, 64).to(infinicore.float16) for _ in range(3))
    length = infinicore.tensor([100], dtype=infinicore.int32)

    def work() -> list[Any]:
        return [
            F.rms_norm(x, (1000,), w),
            F.swiglu(x, x + 1),
            F.flash_attention(q, k, v, length, is_causal=True),
        ]

    expected = work()
    kernels = register(device)
    print(*kernels, sep="\n")
    with infinicore.record() as made:
        recorded = work()
    made.graph.run()
    print(made.graph)
    for eager, replayed, wanted in zip(work(), recorded, expected, strict=True):
        for result in (eager, replayed):
            error = (result.float() - wanted.float()).abs().max().item()
            print(f"greatest difference {error:.2e}")
            assert error < 1e-2
    for kernel in kernels:
        kernel.unregister()


if __name__ == "__main__":
    main()
