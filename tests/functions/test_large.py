"""Sizes at which kernels work in blocks, vectors and threads, with remainders."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from kit import ref
from kit.functions import I, Run, T, case, runs
from kit.place import put

A, C = 67, 259
HALF = "f32 f16 bf16"


def _sizes_of_logsumexp(x: Any, dim: int) -> Any:
    """Exponents are off by a unit of their argument, a relative error of the sum, whose logarithm
    is added to the maximum."""
    return 1 + x.abs().amax(dim)


CASES = [
    case("add", T(A, C), T(C), kinds="f32 f16 bf16 f64 i32 u8"),
    case("mul", T(A, 1), T(C), kinds="f32 f16 i64"),
    case("div", T(A, C), T(A, C, low=1), kinds=HALF),
    case("exp", T(A, C), kinds="f32 f16 bf16 f64"),
    case("where", I(A, C, below=2, kind="bool"), T(A, C), T(C), kinds="f32 i8", skip="method"),
    case("sum", T(A, C), 1, kinds="f32 f16 bf16 i32", length=C),
    case("sum", T(A, C), 0, kinds="f32 f16 bf16 i32", length=A),
    case("sum", T(A, C), kinds="f32 f64 i32", length=A * C),
    case("mean", T(A, C), -1, kinds=HALF, length=C),
    case("amax", T(A, C), 0, kinds="f32 f16 i32"),
    case("argmax", T(A, C, distinct=True), 1, kinds="f32 i32"),
    case("var", T(A, C), 1, kinds=HALF, length=C, terms=ref.var, skip="out"),
    case("cumsum", T(A, C), 1, kinds="f32 i64", length=C),
    case("logsumexp", T(A, C), 1, kinds=HALF, length=C, terms=_sizes_of_logsumexp),
    case("sort", T(A, C, distinct=True), 1, kinds="f32 i32"),
    case("topk", T(A, C, distinct=True), 20, kinds="f32 i32", exact_type=False),
    case("matmul", T(A, C), T(C, A), kinds="f32 f64 f16 bf16", length=C),
    case("matmul", T(3, A, C), T(3, C, 5), kinds="f32", length=C),
    case("matmul", T(2, 3, 9, 33), T(3, 33, 17), kinds="f32", length=33),
    case("addmm", T(A), T(A, C), T(C, A), kinds="f32", length=C + 1),
    case("cat", [T(A, C), T(A, 3), T(A, 100)], dim=1, kinds="f32 i8"),
    case("flip", T(A, C), (0, 1), kinds="f32 u8", skip="out"),
    case("roll", T(A, C), (5, -100), (0, 1), kinds="f32"),
    case("tril", T(A, C), 30, kinds="f32 bf16"),
    case("index_select", T(A, C), 1, I(300, below=C), kinds="f32 f16"),
    case("gather", T(A, C), 1, I(A, 40, below=C), kinds="f32 i64"),
    case("scatter_add", T(A, C), 0, I(A, C, below=A), T(A, C), kinds="f32 i64", length=A),
    case("quantile", T(A, C), 0.7, dim=1, kinds="f32"),
    case("isin", T(A, C, low=0, high=500), T(40, low=0, high=500), kinds="i32"),
    case("cdist", T(A, C), T(31, C), kinds="f32", length=C, terms=ref.cdist, skip="out"),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


def chain(f: Any, x: Any, y: Any, w: Any) -> Any:
    """Elementwise operators, reductions and a product, as in models."""
    h = f.tanh(x * y + 0.5) - f.abs(y)
    h = h / (f.sqrt(f.mean(h * h, -1, True)) + 1e-3)
    s = f.matmul(h, w)
    s = f.exp(s - f.amax(s, -1, True))
    p = s / f.sum(s, -1, True)
    return f.cat([p, f.clamp(h, -0.5, 0.5)], -1)


@pytest.mark.parametrize("dtype", [ref.float32, ref.float64])
def test_chains(dtype: Any) -> None:
    x, y, w = (ref.randn(*s, seed=3, dtype=dtype) for s in ((A, C), (C,), (C, 40)))
    ours = [put(each.clone()) for each in (x, y, w)]
    expected = chain(ref, x, y, w / 16)
    ours[2] /= 16
    ref.assert_close(ref.of(chain(infinicore, *ours)), expected, rtol=1e-4, atol=1e-4)
    infinicore.start_graph_recording()
    made = chain(infinicore, *ours)
    graph = infinicore.stop_graph_recording()
    for _ in range(3):
        ours[0].copy_(ours[0] * 0.5)
        x = x * 0.5
        graph.run()
        expected = chain(ref, x, y, w / 16)
        ref.assert_close(ref.of(made), expected, rtol=1e-4, atol=1e-4)
