"""`infinicore.linalg`: real and complex matrices, checked by the defining properties of the
results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import linalg

RANDOM = np.random.default_rng(5)
IS_COMPLEX = [False, pytest.param(True, marks=pytest.mark.requires("host"))]
SIZES = (1, 2, 3, 5, 17)


def values(sizes: tuple[int, ...], is_complex: bool) -> Any:
    x = RANDOM.standard_normal(sizes)
    return x + 1j * RANDOM.standard_normal(sizes) if is_complex else x


def of(made: Any) -> Any:
    return made.numpy(force=True)


def put(x: Any) -> Any:
    return infinicore.tensor(np.ascontiguousarray(x))


def turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2).conj()


def is_unitary(q: Any) -> bool:
    return np.allclose(turned(q) @ q, np.eye(q.shape[-1]))


@pytest.mark.parametrize("is_complex", IS_COMPLEX)
@pytest.mark.parametrize("n", SIZES)
def test_equations(n: int, is_complex: bool) -> None:
    a, b = values((2, n, n), is_complex), values((2, n, 3), is_complex)
    one = np.eye(n)
    assert np.allclose(of(linalg.inv(put(a))) @ a, one, atol=1e-8)
    assert np.allclose(of(linalg.inv_ex(put(a)).inverse) @ a, one, atol=1e-8)
    assert np.allclose(a @ of(linalg.solve(put(a), put(b))), b)
    assert np.allclose(a @ of(linalg.solve_ex(put(a), put(b)).result), b)
    upper = np.triu(a) + 3 * one
    x = of(linalg.solve_triangular(put(upper), put(b), upper=True))
    assert np.allclose(upper @ x, b)
    assert np.allclose(of(linalg.det(put(a))), np.linalg.det(a))
    for got, wanted in zip(linalg.slogdet(put(a)), np.linalg.slogdet(a), strict=True):
        assert np.allclose(of(got), wanted)
    assert np.allclose(of(linalg.pinv(put(a[:, :1]))), np.linalg.pinv(a[:, :1]))
    assert of(linalg.matrix_rank(put(a))).tolist() == [n, n]
    solution = of(linalg.lstsq(put(a[0]), put(b[0])).solution)
    assert np.allclose(solution, np.linalg.lstsq(a[0], b[0], rcond=None)[0])


@pytest.mark.parametrize("is_complex", IS_COMPLEX)
@pytest.mark.parametrize("n", SIZES)
def test_square_factors(n: int, is_complex: bool) -> None:
    a = values((2, n, n), is_complex)
    h = a @ turned(a) + np.eye(n)
    assert np.allclose(of(linalg.cholesky(put(h))), np.linalg.cholesky(h))
    upper = of(linalg.cholesky_ex(put(h), upper=True).L)
    assert np.allclose(turned(upper) @ upper, h)
    w, v = map(of, linalg.eigh(put(h)))
    assert np.allclose(w, np.linalg.eigvalsh(h))
    assert np.allclose(h @ v, v * w[:, None, :])
    assert is_unitary(v)
    assert np.allclose(of(linalg.eigvalsh(put(h), "U")), w)
    factors = linalg.ldl_factor(put(h), hermitian=True)
    b = values((2, n, 2), is_complex)
    assert np.allclose(h @ of(linalg.ldl_solve(*factors, put(b), hermitian=True)), b)
    assert of(linalg.ldl_factor_ex(put(h), hermitian=True).info).tolist() == [0, 0]


@pytest.mark.parametrize("is_complex", IS_COMPLEX)
@pytest.mark.parametrize("sizes", [(1, 1), (3, 5), (5, 3), (17, 4), (4, 17), (8, 8)])
def test_other_factors(sizes: tuple[int, int], is_complex: bool) -> None:
    (m, n), k = sizes, min(sizes)
    x = values((2, m, n), is_complex)
    u, s, vh = map(of, linalg.svd(put(x), full_matrices=False))
    assert np.allclose((u * s[:, None, :]) @ vh, x)
    assert np.allclose(s, np.linalg.svd(x, compute_uv=False))
    assert is_unitary(u)
    u, s, vh = map(of, linalg.svd(put(x)))
    assert is_unitary(u)
    assert is_unitary(turned(vh))
    assert np.allclose((u[..., :k] * s[:, None, :]) @ vh[..., :k, :], x)
    for mode, width in (("reduced", k), ("complete", m)):
        q, r = map(of, linalg.qr(put(x), mode))
        assert q.shape[-1] == width
        assert is_unitary(q)
        assert np.allclose(q @ r, x)
        assert np.allclose(np.tril(r, -1), 0)
    tau = RANDOM.standard_normal(k)
    q = of(linalg.householder_product(put(x[0]), put(tau.astype(x.dtype)))) if m >= n else None
    assert q is None or q.shape == x[0].shape


@pytest.mark.requires("host")
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_eig_and_lu(n: int, is_complex: bool) -> None:
    a = values((2, n, n), is_complex)
    w, v = map(of, linalg.eig(put(a)))
    assert w.dtype == np.complex128
    assert np.allclose(a @ v, v * w[:, None, :])
    assert np.allclose(np.linalg.norm(v, axis=-2), 1)
    for got, wanted in zip(of(linalg.eigvals(put(a))), np.linalg.eigvals(a), strict=True):
        assert np.allclose(np.abs(got[:, None] - wanted).min(0), 0, atol=1e-8)
    p, lower, upper = map(of, linalg.lu(put(a)))
    assert np.allclose(p @ lower @ upper, a)
    lu, pivots, info = linalg.lu_factor_ex(put(a))
    assert not of(info).any()
    b = values((2, n, 3), is_complex)
    assert np.allclose(a @ of(linalg.lu_solve(lu, pivots, put(b))), b)
    other = of(linalg.lu_solve(*linalg.lu_factor(put(a)), put(b), adjoint=True))
    assert np.allclose(turned(a) @ other, b)
    right = of(linalg.lu_solve(lu, pivots, put(turned(b)), left=False))
    assert np.allclose(right @ a, turned(b))


@pytest.mark.requires("host")
def test_large_and_special_matrices() -> None:
    huge = np.full((2, 2), 1e300 + 1e300j)
    q, r = map(of, linalg.qr(put(huge)))
    assert np.allclose(q @ (r / 1e300), huge / 1e300)
    assert np.isfinite(of(linalg.svdvals(put(huge)))).all()
    assert is_unitary(of(linalg.svd(put(np.zeros((3, 3), complex))).U))
    assert np.isnan(of(linalg.eigvals(put(np.full((2, 2), np.nan))))).all()


@pytest.mark.parametrize("is_complex", IS_COMPLEX)
def test_norms(is_complex: bool) -> None:
    a = values((2, 3, 3), is_complex)
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        wanted = np.linalg.norm(a, order, (-2, -1), keepdims=True)
        assert np.allclose(of(linalg.matrix_norm(put(a), order, keepdim=True)), wanted)
    for order in (0, 1, 2, 3, -1, np.inf, -np.inf):
        wanted = np.linalg.norm(a, order, 1)
        assert np.allclose(of(linalg.vector_norm(put(a), order, 1)), wanted)
    assert np.allclose(of(linalg.norm(put(a))), np.linalg.norm(a))
    assert np.allclose(of(linalg.norm(put(a[0]), 1)), np.linalg.norm(a[0], 1))
    for p in (None, 1, "fro", -2):
        assert np.allclose(of(linalg.cond(put(a), p)), np.linalg.cond(a, p))


def test_products() -> None:
    a, b, c = values((3, 4), False), values((4, 5), False), values((5,), False)
    assert np.allclose(of(linalg.multi_dot([put(a), put(b), put(c)])), a @ b @ c)
    assert np.allclose(of(linalg.matmul(put(a), put(b))), a @ b)
    s = values((3, 3), False)
    assert np.allclose(of(linalg.matrix_power(put(s), -2)), np.linalg.matrix_power(s, -2))
    assert np.allclose(of(linalg.cross(put(s), put(s[::-1]))), np.cross(s, s[::-1]))
    assert np.allclose(of(linalg.vecdot(put(s), put(s))), (s * s).sum(-1))
    assert np.allclose(of(linalg.diagonal(put(s))), np.diagonal(s))
    assert np.allclose(of(linalg.vander(put(c), N=3)), np.vander(c, 3, increasing=True))
    t = values((6, 2, 3), False)
    assert np.allclose(of(linalg.tensorinv(put(t), 1)), np.linalg.tensorinv(t, 1))
    y = values((6,), False)
    assert np.allclose(of(linalg.tensorsolve(put(t), put(y))), np.linalg.tensorsolve(t, y))
    assert np.allclose(of(linalg.matrix_exp(put(np.zeros((2, 2))))), np.eye(2))


@pytest.mark.parametrize("is_complex", IS_COMPLEX)
@pytest.mark.parametrize("hermitian", [False, True])
def test_indefinite_matrices(is_complex: bool, hermitian: bool) -> None:
    a = values((3, 2, 6, 6), is_complex)
    a = a + (turned(a) if hermitian else np.swapaxes(a, -1, -2))
    a[0, 0] -= np.diag(np.diag(a[0, 0]))  # no pivot of one row to begin with
    factors = linalg.ldl_factor(put(np.tril(a)), hermitian=hermitian)
    assert (of(factors.pivots)[0, 0] < 0).any()
    assert (np.triu(of(factors.LD), 1) == 0).all()
    b = values((3, 2, 6, 2), is_complex)
    solved = of(linalg.ldl_solve(*factors, put(b), hermitian=hermitian))
    assert np.allclose(a @ solved, b)
    with pytest.raises(linalg.LinAlgError, match="ldl_factor: a pivot is 0"):
        linalg.ldl_factor(infinicore.zeros(2, 2))
    zeros = infinicore.zeros(2, 2)
    assert linalg.ldl_factor_ex(zeros).info.item() == 1


@pytest.mark.parametrize("is_complex", IS_COMPLEX)
@pytest.mark.parametrize("sizes", [(2, 6, 4), (2, 4, 6), (5, 5), (110, 100), (100, 103)])
def test_least_squares(sizes: tuple[int, ...], is_complex: bool) -> None:
    """Full-rank matrices, for which reflections are sufficient, and rank-deficient ones."""
    full = values(sizes, is_complex)
    low = full.copy()
    low[..., -1, :] = low[..., 0, :]
    low[..., -1] = low[..., 0]
    b = values((*sizes[:-1], 3), is_complex)
    for a in (full, low):
        made = linalg.lstsq(put(a), put(b))
        assert np.allclose(of(made.solution), np.linalg.pinv(a, rcond=1e-13) @ b)
        assert (of(made.rank) == np.linalg.matrix_rank(a)).all()
    vector = linalg.lstsq(put(full), put(b[..., 0])).solution
    assert np.allclose(of(vector), (np.linalg.pinv(full) @ b[..., :1])[..., 0])


@pytest.mark.requires("host")
@pytest.mark.parametrize("n", [30, 70])
def test_large_indefinite_matrices(n: int) -> None:
    """The kernels of real matrices, and LAPACK, give the factors that complex matrices have."""
    a = values((2, n, n), False)
    a = a + np.swapaxes(a, -1, -2)
    a[0] -= np.diag(np.diag(a[0]))
    a[1, 20:] = a[1, :, 20:] = 0
    made = linalg.ldl_factor_ex(put(np.tril(a)))
    for one, other in zip(made, linalg.ldl_factor_ex(put(np.tril(a) + 0j)), strict=True):
        assert np.allclose(of(one), of(other))
    assert of(made.info).tolist() == [0, 21]
    assert (of(made.pivots) < 0).any()


@pytest.mark.requires("host")
def test_pivots_of_zero() -> None:
    """As in LAPACK: only what depends on the pivot is infinite, and wrong pivots do nothing."""
    d, b = infinicore.tensor([[0.0, 0.0], [0.0, 2.0]]), infinicore.tensor([[1.0], [4.0]])
    pivots = infinicore.tensor([1, 2], dtype=infinicore.int32)
    assert linalg.ldl_solve(d, pivots, b).tolist() == [[np.inf], [2.0]]
    assert linalg.lu_solve(d, pivots, b).tolist() == [[np.inf], [2.0]]
    assert linalg.solve_triangular(d, b, upper=True).tolist() == [[np.inf], [2.0]]
    far = infinicore.tensor([7, -9], dtype=infinicore.int32)
    assert linalg.lu_solve(infinicore.eye(2), far, b).tolist() == b.tolist()
    assert linalg.ldl_solve(infinicore.eye(2), abs(far), b).tolist() == b.tolist()


@pytest.mark.parametrize("sizes", [(40, 3), (2, 3, 40)])
def test_pinv_by_the_triangular_factor(sizes: tuple[int, ...]) -> None:
    x = values((*sizes[:-1], 2), False) @ values((*sizes[:-2], 2, sizes[-1]), False)
    made = linalg._solvers._pinv_of_triangle(put(x), None, 1e-10)
    assert np.allclose(of(made), np.linalg.pinv(x, rcond=1e-10))


@pytest.mark.parametrize("sizes", [(3, 4, 4), (5, 2), (2, 3, 6), (0, 3, 3)])
def test_values_only(sizes: tuple[int, ...]) -> None:
    x = values(sizes, False)
    assert np.allclose(of(linalg.svdvals(put(x))), np.linalg.svd(x, compute_uv=False))
    if sizes[-1] == sizes[-2]:
        for uplo in ("L", "U"):
            assert np.allclose(of(linalg.eigvalsh(put(x), uplo)), np.linalg.eigvalsh(x, uplo))
    half = infinicore.tensor(x, dtype=infinicore.float16)
    assert linalg.svdvals(half).dtype is infinicore.float16
    with pytest.raises(RuntimeError, match="svdvals: driver is 'qr'"):
        linalg.svdvals(half, driver="qr")
    if x.size:
        x[..., 1, 0] = np.nan
        assert np.isnan(of(linalg.svdvals(put(x)))).all()


def test_empty_batches() -> None:
    for sizes in ((0, 3, 3), (0, 0), (2, 0, 0)):
        a = infinicore.ones(*sizes)
        for made in (
            linalg.inv_ex(a),
            linalg.cholesky_ex(a),
            linalg.solve_ex(a, a),
            linalg.ldl_factor_ex(a),
        ):
            assert made.info.shape == sizes[:-2]
    assert linalg.vander(infinicore.tensor(2.0), N=2).shape == (1, 2)
    for dim in (0, -1):
        assert linalg.vector_norm(infinicore.tensor(-2.0), dim=dim).item() == 2
    with pytest.raises(RuntimeError, match="cross"):
        linalg.cross(infinicore.ones(5, 3), infinicore.ones(5, 1))
    with pytest.raises(RuntimeError, match="cross"):
        linalg.cross(infinicore.ones(5, 5, 3), infinicore.ones(5, 3))


@pytest.mark.parametrize("n", [6, 100])
def test_ranks_of_least_squares(n: int) -> None:
    """The solution of least norm for every rank; none for matrices that are not finite."""
    b = values((n + 2, 3), False)
    for rank in (0, 1, n // 2, n - 1, n):
        a = values((n + 2, rank), False) @ values((rank, n), False)
        made = linalg.lstsq(put(a), put(b), rcond=1e-10)
        assert made.rank.item() == rank
        assert np.allclose(of(made.solution), np.linalg.pinv(a, rcond=1e-10) @ b, atol=1e-6)
        rest = linalg.lstsq(put(a), put(b), rcond=1e-10, driver="gels").residuals
        assert np.allclose(of(rest), ((a @ of(made.solution) - b) ** 2).sum(0))
    a[0, 0] = np.nan
    assert np.isnan(of(linalg.lstsq(put(a), put(b)).solution)).all()
    strided = infinicore.ones(3, 2).T
    assert np.allclose(of(linalg.lstsq(strided, infinicore.ones(2)).solution), [1 / 3] * 3)


def test_drivers_of_least_squares() -> None:
    a, b = put(values((4, 3), False)), put(values((4, 2), False))
    sizes = {"gels": (2,), "gelsy": (0,), "gelsd": (2,), "gelss": (2,), None: (0,)}
    for driver, size in sizes.items():
        assert linalg.lstsq(a, b, driver=driver).residuals.shape == size
    assert (
        linalg.lstsq(infinicore.ones(4, 3), infinicore.ones(4, 1), driver="gelsd").rank.item() == 1
    )


@pytest.mark.requires("host")
def test_complex_qr_has_a_real_diagonal() -> None:
    for sizes in ((4, 3), (3, 4), (3, 3), (1, 1)):
        r = of(linalg.qr(put(values(sizes, True))).R)
        assert (np.diagonal(r).imag == 0).all()


def test_bad_matrices() -> None:
    singular = infinicore.zeros(2, 2)
    for function in (linalg.inv, lambda x: linalg.solve(x, x), lambda x: linalg.cholesky(x - 1)):
        with pytest.raises(linalg.LinAlgError):
            function(singular)
    assert linalg.inv_ex(singular).info.item() == 1
    with pytest.raises(RuntimeError, match="square"):
        linalg.det(infinicore.ones(2, 3))


def test_names_outside() -> None:
    a = values((3, 3), False)
    h = a @ a.T + np.eye(3)
    lower, b = np.linalg.cholesky(h), values((3, 2), False)
    assert np.allclose(of(infinicore.cholesky_inverse(put(lower))), np.linalg.inv(h))
    assert np.allclose(h @ of(infinicore.cholesky_solve(put(b), put(lower))), b)
    assert np.allclose(h @ of(infinicore.cholesky_solve(put(b), put(lower.T), True)), b)
    solved, _ = infinicore.triangular_solve(put(b), put(lower), upper=False, transpose=True)
    assert np.allclose(lower.T @ of(solved), b)
    assert np.allclose(of(infinicore.ger(put(b[:, 0]), put(b[:, 1]))), np.outer(*b.T))
    assert infinicore.orgqr(put(a), put(values((3,), False))).shape == (3, 3)


@pytest.mark.requires("host")
def test_lu_outside() -> None:
    a, b = values((3, 3), False), values((3, 2), False)
    factors = linalg.lu_factor(put(a))
    assert np.allclose(a @ of(infinicore.lu_solve(put(b), *factors)), b)
    p, lower, upper = map(of, infinicore.lu_unpack(*factors))
    assert np.allclose(p @ lower @ upper, a)


@pytest.mark.parametrize("sizes", [(3, 200), (200, 3), (2, 40, 90), (0, 3), (1, 1), (5, 3, 3)])
def test_factors_of_any_shape(sizes: tuple[int, ...]) -> None:
    for kind in (np.float32, np.float64):
        a = values(sizes, False).astype(kind)
        close = 1e-4 if kind is np.float32 else 1e-9
        for given in (put(a), put(np.swapaxes(a, -1, -2)).transpose(-1, -2)):
            p, lower, upper = map(of, linalg.lu(given))
            assert np.allclose(p @ lower @ upper, a, atol=close)
            packed, pivots = linalg.lu_factor(given)
            for one, two in zip(
                infinicore.lu_unpack(packed, pivots), (p, lower, upper), strict=True
            ):
                assert (of(one) == two).all()
            same = np.swapaxes(p, -1, -2) @ a
            assert np.allclose(lower @ upper, same, atol=close)


@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_eigenvalues_without_vectors(n: int) -> None:
    for kind in (np.float32, np.float64, np.complex64, np.complex128):
        a = values((3, n, n), kind in (np.complex64, np.complex128)).astype(kind)
        a = a + np.diag(np.arange(n) * 4).astype(kind)
        close = 1e-2 if np.finfo(kind).eps > 1e-10 else 1e-8
        got, both = of(linalg.eigvals(put(a))), of(linalg.eig(put(a)).eigenvalues)
        assert got.dtype == both.dtype == np.result_type(kind, np.complex64)
        wanted = np.linalg.eigvals(a.astype(np.result_type(kind, np.float64)))
        for each in (got, both):
            apart = np.abs(each[..., :, None] - wanted[..., None, :])  # in any order
            assert max(apart.min(-1).max(), apart.min(-2).max()) < close


def test_unpacking_ignores_pivots_of_no_column() -> None:
    """As torch: a matrix of 5 x 2 has two pivots."""
    packed = infinicore.randn(3, 5, 2)
    pivots = infinicore.tensor([[2, 5, 4, 5, 5]] * 3, dtype=infinicore.int32)
    few, many = (infinicore.lu_unpack(packed, each)[0] for each in (pivots[:, :2], pivots))
    assert few.tolist() == many.tolist()


def test_info_counts_pivots_and_minors() -> None:
    """LAPACK's 1-based numbers: of the zero pivot, of the minor that is not positive."""
    a = infinicore.tensor([[[1.0, 2], [2, 4]], [[0.0, 0], [0, 1]], [[2.0, 0], [0, 1]]])
    assert infinicore.linalg.inv_ex(a).info.tolist() == [2, 1, 0]
    assert infinicore.linalg.solve_ex(a, infinicore.ones(3, 2, 1)).info.tolist() == [2, 1, 0]
    assert infinicore.linalg.lu_factor_ex(a).info.tolist() == [2, 1, 0]
    s = infinicore.eye(5).expand(3, 5, 5).clone()
    s[0, 3, 3], s[1, 0, 0] = -1.0, 0.0
    assert infinicore.linalg.cholesky_ex(s).info.tolist() == [4, 1, 0]


@pytest.mark.host  # on other devices tensors print their device
def test_results_have_public_names() -> None:
    made = infinicore.linalg.eigh(infinicore.eye(1))
    assert type(made) is infinicore.return_types.linalg_eigh
    text = "linalg_eigh(\neigenvalues=tensor([1.]),\neigenvectors=tensor([[1.]]))"
    assert repr(made) == f"infinicore.return_types.{text}"
