"""Products, matrices, statistics, BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from kit import ref
from kit.bounds import assert_within, bound
from kit.functions import I, Run, T, case, runs
from kit.place import put

FLOATS = "f32 f16 bf16 f64"
ALL = "f32 f16 bf16 f64 i32 i64 u8"
EXACT = "f32 f64"


def square(n: int) -> Any:
    return T(n, n)


def well(x: ref.Tensor) -> ref.Tensor:
    """A matrix that has an inverse."""
    return x + 8 * ref.eye(x.shape[-1], dtype=x.dtype)


def matmul_alpha(a: Any, b: Any, alpha: float) -> Any:
    return alpha * (a @ b)


CASES = [
    case("matmul", T(3, 4), T(4, 5), kinds=ALL, length=4),
    case("matmul", T(4), T(4), kinds=ALL, length=4),
    case("matmul", T(3, 4), T(4), kinds=ALL, length=4),
    case("matmul", T(4), T(4, 5), kinds=FLOATS, length=4),
    case("matmul", T(2, 3, 4), T(4, 5), kinds=ALL, length=4),
    case("matmul", T(2, 3, 4), T(2, 4, 5), kinds=ALL, length=4),
    case("matmul", T(2, 1, 3, 4), T(3, 4, 5), kinds=ALL, length=4),
    case("matmul", T(3, 4), T(2, 4, 5), kinds=FLOATS, length=4),
    case("matmul", T(2, 3, 4), T(4), kinds=FLOATS, length=4),
    case("matmul", T(4), T(2, 4, 5), kinds=FLOATS, length=4),
    case("matmul", T(4, 4), T(4, 4), kinds=FLOATS, length=4),
    case("matmul", T(0, 4), T(4, 5), kinds="f32"),
    case("matmul", T(3, 0), T(0, 5), kinds="f32"),
    case("matmul", T(3, 4), T(4, 5), alpha=0.5, reference=matmul_alpha, length=4),
    case("mm", T(3, 4), T(4, 5), kinds=ALL, length=4),
    case("bmm", T(2, 3, 4), T(2, 4, 5), kinds=ALL, length=4),
    case("mv", T(3, 4), T(4), kinds=ALL, length=4),
    case("dot", T(7), T(7), kinds=ALL, length=7),
    case("vdot", T(7), T(7), kinds=FLOATS, length=7),
    case("inner", T(7), T(7), kinds=FLOATS, length=7),
    case("inner", T(2, 3, 4), T(5, 4), kinds=FLOATS, length=4),
    case("inner", T(2, 3), T(), kinds="f32"),
    case("outer", T(3), T(4), kinds=ALL),
    case("addmm", T(3, 5), T(3, 4), T(4, 5), beta=0.5, alpha=2.0, length=5, roundings=1),
    case("addmm", T(5), T(3, 4), T(4, 5), kinds="f32 f64 i32 i64", length=5, roundings=1),
    case("addmm", T(5), T(3, 4), T(4, 5), beta=0, kinds="f32", length=5, roundings=1),
    case("baddbmm", T(2, 3, 5), T(2, 3, 4), T(2, 4, 5), beta=0.5, alpha=2.0, length=5, roundings=1),
    case("baddbmm", T(5), T(2, 3, 4), T(2, 4, 5), length=5, roundings=1),
    case("addbmm", T(3, 5), T(2, 3, 4), T(2, 4, 5), beta=0.5, alpha=2.0, length=9),
    case("addbmm", T(5), T(2, 3, 4), T(2, 4, 5), kinds="f32 f64", length=9),
    case("addmv", T(3), T(3, 4), T(4), beta=0.5, alpha=2.0, length=5, roundings=1),
    case("addr", T(3, 4), T(3), T(4), beta=0.5, alpha=2.0, length=2),
    case("kron", T(2, 3), T(2, 2), kinds=ALL, skip="out"),
    case("kron", T(3), T(2, 2), kinds="f32", skip="out layouts in_place"),
    case("tensordot", T(2, 3, 4), T(3, 4, 5), dims=2, kinds=EXACT),
    case("tensordot", T(2, 3, 4), T(4, 2), dims=([0, 2], [1, 0]), kinds=EXACT),
    *(
        case("einsum", equation, *tensors, kinds="f32 f64", length=24, skip="out method")
        for equation, tensors in (
            ("ij,jk->ik", (T(2, 3), T(3, 4))),
            ("ij,jk", (T(2, 3), T(3, 4))),
            ("bij,bjk->bik", (T(2, 3, 4), T(2, 4, 5))),
            ("ii", (T(3, 3),)),
            ("ii->i", (T(3, 3),)),
            ("ij->ji", (T(2, 3),)),
            ("ij->", (T(2, 3),)),
            ("i,j->ij", (T(2), T(3))),
            ("...ij,...jk->...ik", (T(2, 1, 3, 4), T(5, 4, 2))),
            ("bhqd,bhkd->bhqk", (T(2, 2, 3, 4), T(2, 2, 5, 4))),
            ("ij,jk,kl->il", (T(2, 3), T(3, 4), T(4, 2))),
            ("i,i->", (T(4), T(4))),
        )
    ),
    case("det", T(2, 3, 3), kinds=EXACT, close=8),
    case("slogdet", T(2, 3, 3), kinds=EXACT, close=8, skip="out"),
    case("logdet", T(2, 3, 3), kinds=EXACT, close=8),
    case("matrix_exp", T(3, 3, low=-1, high=1), kinds=EXACT, close=8, skip="out"),
    case("matrix_exp", T(3, 3, low=-1, high=1), kinds="f16 bf16", close=4, skip="out"),
    *(
        case("matrix_power", T(3, 3), n, kinds=FLOATS, length=3 * n + 1, roundings=max(n - 2, 0))
        for n in (0, 1, 2, 5)
    ),
    case("trace", T(3, 4), kinds=ALL, skip="out"),
    case("vander", T(4), kinds="f32 f64 i64", close=4, skip="out"),
    case("vander", T(4), N=3, increasing=True, kinds="f32 i32", close=4, skip="out"),
    case("cross", T(4, 3), T(4, 3), dim=1, kinds=ALL, close=2),
    case("cross", T(3, 4), T(3, 4), kinds=FLOATS, close=2),
    *(
        case("cdist", T(3, 4), T(5, 4), p=p, kinds=EXACT, close=8, skip="out")
        for p in (0.0, 1.0, 2.0, 3.0, float("inf"))
    ),
    case("cdist", T(2, 3, 4), T(5, 4), kinds=EXACT, close=8, skip="out"),
    *(
        case("pdist", T(*sizes), p=p, kinds=EXACT, close=8, skip="out layouts")
        for sizes, p in (((4, 3), 1.0), ((4, 3), 2.0), ((4, 3), 3.0), ((50, 2), 1.0))
    ),
    *(
        case("dist", T(3, 4), T(4), p=p, kinds=FLOATS, close=4, skip="out")
        for p in (0, 1, 2, 3, float("inf"))
    ),
    case("cov", T(3, 6), kinds=EXACT, close=4, skip="out"),
    case("cov", T(6), kinds="f32", close=4, skip="out"),
    case(
        "cov",
        T(3, 6),
        correction=0,
        fweights=I(6, low=1, below=4),
        aweights=T(6, low=0.1),
        kinds=EXACT,
        close=4,
        skip="out",
    ),
    case("cov", T(3, 6), aweights=T(6, low=0.1), kinds=EXACT, close=8, skip="out"),
    case("corrcoef", T(3, 6), kinds=EXACT, close=4, skip="out layouts"),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


MATRICES = well(ref.randn(2, 4, 4, dtype=ref.float64, seed=1))


@pytest.mark.parametrize("dtype", [ref.float32, ref.float64])
def test_factors(dtype: Any) -> None:
    x = MATRICES.to(dtype)
    a = put(x)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == ref.float32 else {"rtol": 1e-9, "atol": 1e-9}
    same = ref.assert_close
    same(ref.of(infinicore.inverse(a)), ref.inverse(x), **close)
    b = ref.randn(2, 4, 3, dtype=dtype)
    same(ref.of(infinicore.solve(a, put(b))), ref.solve(x, b), **close)
    v = ref.randn(2, 4, dtype=dtype)
    same(ref.of(infinicore.solve(a, put(v))), ref.solve(x, v), **close)
    s = x @ x.mT
    c = put(s)
    same(ref.of(infinicore.cholesky(c)), ref.cholesky(s), **close)
    values, vectors = infinicore.eigh(c)
    same(ref.of(values), ref.eigvalsh(s), rtol=1e-3, atol=1e-3)
    q = ref.of(vectors)
    same(q @ ref.diag_embed(ref.of(values)) @ q.mT, s, rtol=1e-3, atol=1e-3)
    same(ref.of(infinicore.pinverse(a)), ref.pinverse(x), **close)
    same(ref.of(infinicore.matrix_power(a, -2)), ref.matrix_power(x, -2), **close)


@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("some", [True, False])
def test_svd_and_qr(shape: tuple[int, ...], some: bool) -> None:
    x = ref.randn(*shape, dtype=ref.float64)
    a = put(x)
    u, s, v = (ref.of(each) for each in infinicore.svd(a, some))
    theirs = ref.svd(x, some)
    assert (u.shape, s.shape, v.shape) == tuple(each.shape for each in theirs)
    ref.assert_close(s, theirs[1])
    k = s.shape[-1]
    ref.assert_close(u[..., :k] @ ref.diag_embed(s) @ v[..., :k].mT, x)
    ref.assert_close(u.mT @ u, ref.eye(u.shape[-1], dtype=u.dtype).expand(*u.shape[:-2], -1, -1))
    q, r = (ref.of(each) for each in infinicore.qr(a, some))
    ref.assert_close(q @ r, x)
    assert q.shape == ref.qr(x, some)[0].shape
    ref.assert_close(q.mT @ q, ref.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], -1, -1))


@pytest.mark.parametrize(("rows", "columns"), [(33, 33), (40, 33), (17, 33)])
def test_svd_and_qr_of_low_rank(rows: int, columns: int) -> None:
    """The remainders of equal rows underflow; q, u and v are orthogonal."""
    a = put(ref.full((rows, columns), 0.37, dtype=ref.float64))
    u, s, v = (ref.of(each) for each in infinicore.svd(a))
    ref.assert_close(u @ ref.diag_embed(s) @ v.mT, ref.of(a))
    for orthogonal in (u, v, ref.of(infinicore.qr(a)[0])):
        unit = ref.eye(orthogonal.shape[-1], dtype=ref.float64)
        ref.assert_close(orthogonal.mT @ orthogonal, unit)


def test_bmm_strided() -> None:
    a, b = ref.randn(2, 3, 4), ref.randn(2, 4, 5)
    out = infinicore.zeros(3, 2, 5).permute(1, 0, 2)
    made = infinicore.bmm_strided(put(a), put(b), out=out)
    assert made is out
    ref.assert_close(ref.of(out), a @ b)


@pytest.mark.parametrize("dtype", [infinicore.float32, infinicore.bfloat16, infinicore.float16])
@pytest.mark.parametrize("sizes", [(40, 77, 1100), (40, 77, 4160), (56, 256, 704), (33, 130, 2624)])
def test_long_sums_of_cut_tiles(dtype: Any, sizes: tuple[int, int, int]) -> None:
    """More terms than are summed at a time, and columns that do not fill tiles, as with weights."""
    m, n, k = sizes
    random = np.random.default_rng(n)
    x, w = (
        infinicore.tensor(random.standard_normal(each), dtype=dtype) for each in ((m, k), (n, k))
    )
    got = infinicore.nn.functional.linear(x, w).double().numpy(force=True)
    wide = [each.double().numpy(force=True) for each in (x, w)]
    unit = 2.0**-8 if dtype == infinicore.bfloat16 else 2.0**-11
    allowed = unit * np.abs(wide[0] @ wide[1].T) + 2.0**-20 * (np.abs(wide[0]) @ np.abs(wide[1]).T)
    assert (np.abs(got - wide[0] @ wide[1].T) <= allowed).all()


def test_chain() -> None:
    x = [ref.randn(2, 3), ref.randn(3, 4), ref.randn(4, 2)]
    made = infinicore.chain_matmul(*(put(each) for each in x))
    ref.assert_close(ref.of(made), x[0] @ x[1] @ x[2])


def test_large_integers() -> None:
    a = ref.randint(-(2**31), 2**31, (5, 7))
    made = infinicore.matmul(put(a), put(a.T.contiguous()))
    assert ref.equal(ref.of(made), a @ a.T)


BLAS = [ref.float32, ref.float16, ref.bfloat16, ref.float64]


@pytest.mark.parametrize("dtype", BLAS)
def test_blas(dtype: Any) -> None:
    x, y = (ref.linspace(-2, 3, 6).to(dtype), ref.linspace(1, -4, 6).to(dtype))

    def fresh() -> tuple[Any, Any]:
        return put(x.clone()), put(y.clone())

    def same(made: Any, expected: ref.Tensor) -> None:
        expected = expected.to(dtype)
        assert_within(ref.of(made).reshape(expected.shape), expected, bound(expected, len(x)))

    a, b = fresh()
    same(infinicore.asum(a), x.double().abs().sum().to(dtype))
    same(infinicore.nrm2(a), x.double().norm().to(dtype))
    same(infinicore.blas_dot(a, b), (x.double() @ y.double()).to(dtype))
    assert infinicore.blas_amax(a).item() == int(x.abs().argmax()) + 1
    assert infinicore.blas_amin(a).item() == int(x.abs().argmin()) + 1
    alpha = infinicore.tensor([2.0]).to(a.dtype)
    assert infinicore.axpy(alpha, a, b) is b
    same(b, 2 * x.double() + y.double())
    a, b = fresh()
    assert infinicore.scal(a, alpha) is a
    same(a, 2 * x)
    a, b = fresh()
    infinicore.swap(a, b)
    same(a, y)
    same(b, x)
    a, b = fresh()
    assert infinicore.blas_copy(a, b) is b
    same(b, x)
    a, b = fresh()
    infinicore.rot(a, b, 0.6, 0.8)
    c, s = (ref.tensor([v], dtype=dtype).double() for v in (0.6, 0.8))
    same(a, c * x.double() + s * y.double())
    same(b, c * y.double() - s * x.double())
    p, q, c, s = (infinicore.tensor([v]).to(a.dtype) for v in (3.0, 4.0, 0.0, 0.0))
    assert infinicore.rotg(p, q, c, s)[2] is c
    same(p, ref.tensor([5.0], dtype=dtype))
    same(c, ref.tensor([0.6], dtype=dtype))
    a, b = fresh()
    param = infinicore.tensor([-2.0, 1.0, 2.0, 3.0, 4.0]).to(a.dtype)
    infinicore.rotm(a, b, param)
    same(a, x)
    d1, d2, x1, y1 = (infinicore.tensor([v]).to(a.dtype) for v in (1.0, 1.0, 3.0, 4.0))
    param = infinicore.zeros(5).to(a.dtype)
    assert infinicore.rotmg(d1, d2, x1, y1, param)[3] is param
    assert param.tolist()[0] in (-2.0, -1.0, 0.0, 1.0)


def test_bad_arguments() -> None:
    x = infinicore.ones(2, 3)
    with pytest.raises(RuntimeError, match="matmul: shapes"):
        infinicore.matmul(x, x)
    with pytest.raises(RuntimeError, match="mm: input"):
        infinicore.mm(infinicore.ones(3), x)
    with pytest.raises(RuntimeError, match="batches"):
        infinicore.matmul(infinicore.ones(2, 3, 4), infinicore.ones(5, 4, 3))
    with pytest.raises(RuntimeError, match="square"):
        infinicore.det(x)
    with pytest.raises(RuntimeError, match="cross"):
        infinicore.cross(infinicore.ones(2), infinicore.ones(2))
    with pytest.raises(ValueError, match="out has shape"):
        infinicore.matmul(x, x.T, out=infinicore.ones(3, 3))
