"""Matrices that the CPU passes to LAPACK where available, and its own kernels for them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import op, rt
from kit.build import shared_library
from kit.process import python, suite
from kit.requirements import OPENBLAS

pytestmark = pytest.mark.requires("host")  # only the CPU calls LAPACK

RANDOM = np.random.default_rng(0)
SIZES = [(2, 200, 200), (300, 300)]  # one is divided among threads
DTYPES = {np.float32: 2e-3, np.float64: 1e-9}


def values(sizes: tuple[int, ...], dtype: Any) -> Any:
    return RANDOM.standard_normal(sizes).astype(dtype)


def of(tensor: Any) -> Any:
    return tensor.numpy(force=True).astype(np.float64)


def turned(x: Any) -> Any:
    """The same matrices as a tensor whose columns are contiguous."""
    return infinicore.from_numpy(np.ascontiguousarray(np.swapaxes(x, -1, -2))).transpose(-1, -2)


def is_orthogonal(q: Any, tolerance: float) -> bool:
    return np.allclose(np.swapaxes(q, -1, -2) @ q, np.eye(q.shape[-1]), atol=tolerance)


def has_only_nan(*tensors: Any) -> bool:
    return all(np.isnan(of(each)).all() for each in tensors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("place", [infinicore.from_numpy, turned])
def test_equations(sizes: tuple[int, ...], dtype: Any, place: Any) -> None:
    x = values(sizes, dtype) + 8 * np.eye(sizes[-1], dtype=dtype)
    b, close = values((*sizes[:-1], 3), dtype), DTYPES[dtype]
    exact = x.astype(np.float64)
    assert np.allclose(of(infinicore.inverse(place(x))), np.linalg.inv(exact), atol=close)
    expected = np.linalg.solve(exact, b.astype(np.float64))
    assert np.allclose(of(infinicore.solve(place(x), place(b))), expected, atol=close)
    sign, size = infinicore.slogdet(place(x))
    expected_sign, expected_size = np.linalg.slogdet(exact)
    assert np.array_equal(of(sign), expected_sign)
    assert np.allclose(of(size), expected_size, rtol=1e-6)
    small = (x / np.exp(expected_size.max() / sizes[-1])).astype(dtype)
    expected = np.linalg.det(small.astype(np.float64))
    assert np.allclose(of(infinicore.det(place(small))), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [*SIZES, (260, 200), (200, 260), (3, 40, 28), (3, 28, 40)])
@pytest.mark.parametrize("place", [infinicore.from_numpy, turned])
def test_factors(sizes: tuple[int, ...], dtype: Any, place: Any) -> None:
    x, close = values(sizes, dtype), DTYPES[dtype]
    u, s, v = map(of, infinicore.svd(place(x)))
    assert np.allclose(s, np.linalg.svd(x.astype(np.float64), compute_uv=False), atol=close)
    assert np.allclose((u * s[..., None, :]) @ np.swapaxes(v, -1, -2), x, atol=close)
    assert is_orthogonal(u, close)
    assert is_orthogonal(v, close)
    q, r = map(of, infinicore.qr(place(x)))
    assert np.allclose(q @ r, x, atol=close)
    assert np.array_equal(np.triu(r), r)
    assert is_orthogonal(q, close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("place", [infinicore.from_numpy, turned])
def test_symmetric(sizes: tuple[int, ...], dtype: Any, place: Any) -> None:
    x, close = values(sizes, dtype), DTYPES[dtype]
    whole = x @ np.swapaxes(x, -1, -2) / sizes[-1] + np.eye(sizes[-1], dtype=dtype)
    exact = whole.astype(np.float64)
    low, high = np.tril(whole), np.triu(whole)
    low = np.where(low == 0, np.nan, low).astype(dtype)  # the other triangle is not read
    high = np.where(high == 0, np.nan, high).astype(dtype)
    factor = np.linalg.cholesky(exact)
    assert np.allclose(of(infinicore.cholesky(place(low))), factor, atol=close)
    made = of(infinicore.cholesky(place(high), upper=True))
    assert np.allclose(made, np.swapaxes(factor, -1, -2), atol=close)
    w, v = map(of, infinicore.eigh(place(low)))
    assert np.allclose(w, np.linalg.eigvalsh(exact), atol=close)
    assert np.allclose(exact @ v, v * w[..., None, :], atol=close)
    assert is_orthogonal(v, close)


@pytest.mark.parametrize("dtype", [*DTYPES, np.complex128])
@pytest.mark.parametrize("sizes", [*SIZES, (260, 200), (200, 260), (900, 40)])
@pytest.mark.parametrize("place", [infinicore.from_numpy, turned])
def test_lu(sizes: tuple[int, ...], dtype: Any, place: Any) -> None:
    x = values(sizes, dtype)
    p, lower, upper = (each.numpy(force=True) for each in infinicore.linalg.lu(place(x)))
    assert np.allclose(p @ lower @ upper, x, atol=DTYPES.get(dtype, 1e-9))
    assert np.abs(lower).max() <= 1 if dtype is not np.complex128 else np.isfinite(lower).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value: float) -> None:
    """One matrix of a batch has such an element; the other is unaffected."""
    x = np.stack([values((200, 200), np.float64)] * 2)
    x[1, 170, 3] = value
    a = infinicore.from_numpy(x)
    made = [*infinicore.svd(a), *infinicore.eigh(a), *infinicore.qr(a), infinicore.inverse(a)]
    assert all(np.isfinite(of(each)[0]).all() for each in made)
    assert has_only_nan(*(each[1] for each in made[:5]))
    if np.isnan(value):
        assert has_only_nan(*(f(a)[1] for f in (infinicore.inverse, infinicore.det)))
    right = values((200, 2), np.float64)
    right[5, 1] = value
    solution = of(infinicore.solve(a[0], infinicore.from_numpy(right)))
    assert np.isfinite(solution[:, 0]).all()
    assert not np.isfinite(solution[:, 1]).any()


@pytest.mark.parametrize("upper", [False, True])
def test_not_positive(upper: bool) -> None:
    x = np.stack([np.eye(200)] * 4)
    x[0, 199, 199] = -1
    x[1, 150, 150] = np.nan
    x[2][(0, 150) if upper else (150, 0)] = np.nan
    made = infinicore.cholesky(infinicore.from_numpy(x), upper=upper)
    assert has_only_nan(made[0], made[1], made[2])
    assert np.array_equal(of(made)[3], x[3])


def test_singular() -> None:
    x = np.stack([np.eye(200)] * 3)
    x[1, 180, 180] = 0
    a = infinicore.from_numpy(x)
    assert of(infinicore.det(a)).tolist() == [1, 0, 1]
    assert of(infinicore.slogdet(a)[1]).tolist() == [0, -np.inf, 0]
    for made in (infinicore.inverse(a), infinicore.solve(a, a), infinicore.cholesky(a)):
        assert np.array_equal(of(made)[::2], x[::2])
        assert has_only_nan(made[1])
    assert of(infinicore.logdet(a[1])) == -np.inf


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e300])
def test_extreme_sizes(scale: float) -> None:
    x = np.diag(np.arange(1.0, 201)) * scale
    x[0, 1] = scale
    a, exact = infinicore.from_numpy(x), x.astype(np.longdouble)
    assert np.allclose(of(infinicore.svd(a).S)[:198], np.arange(200, 2, -1) * scale, 1e-12, 0)
    assert np.allclose(of(infinicore.eigh(a)[0]), np.arange(1, 201) * scale, 1e-12, 0)
    q, r = map(of, infinicore.qr(a))
    assert np.allclose((q @ r) / scale, x / scale, atol=1e-12)
    solution = of(infinicore.solve(a, infinicore.from_numpy(x @ np.ones((200, 1)))))
    assert np.allclose(solution, 1, atol=1e-9)
    size = of(infinicore.slogdet(a)[1])
    assert np.isclose(size, float(np.log(np.diag(exact)).sum()), rtol=1e-12)


def test_triangle_with_large_elements() -> None:
    """The pivots that decide what counts as singular are those of the rows."""
    x = np.eye(200) + 1e7 * np.triu(np.ones((200, 200)), 1)
    assert of(infinicore.logdet(infinicore.from_numpy(x))) == 0


def test_replay() -> None:
    """Plans that call LAPACK are captured like others."""
    x, made = values((200, 200), np.float64), np.zeros((200, 200))
    with rt.Stream() as stream:
        with rt.capture(stream) as graph:
            op.inverse(x, out=made, stream=stream)
        for _ in range(2):
            x[:] = values((200, 200), np.float64)
            graph.launch(stream)
            stream.synchronize()
            assert np.allclose(made, np.linalg.inv(x), atol=1e-8)


# ---- The library --------------------------------------------------------------------------------


def openblas() -> str:
    found = next(found for place in sys.path for found in Path(place or ".").glob(OPENBLAS))
    return str(found.resolve())  # as /proc/self/maps has it


CODE = """
import infinicore
from infinicore import rt

def is_open():
    return sys.argv[1] in open("/proc/self/maps").read()

def factor():
    return infinicore.svd(infinicore.eye(32).expand(64, 32, 32)).S.numpy(force=True).all()

reason = next(backend.reason for backend in rt.backends() if backend.name == "cpu")
"""
USED = """
assert factor() and is_open() and not reason
child = os.fork()
if not child: os._exit(0 if factor() else 1)
assert os.waitpid(child, 0)[1] == 0
"""
EXIT = """
import time
import numpy as np
from infinicore import op

assert factor() and is_open()
ctypes.CDLL(sys.argv[2])
x, stream = np.random.default_rng(0).random((8, 300, 300)), rt.Stream()
op.svd(x, out=(np.empty_like(x), np.empty((8, 300)), np.empty_like(x)), stream=stream)
time.sleep(0.1)
"""
SLOW = """
#include <unistd.h>
__attribute__((destructor)) static void wait() { usleep(500000); }
"""
WIDE = """
extern "C" const char *openblas_get_config() { return "OpenBLAS 0.3.34 USE64BITINT"; }
#define FUNCTION(name) extern "C" void name() {}
FUNCTION(openblas_set_num_threads) FUNCTION(dgeqrf_) FUNCTION(dormqr_)
FUNCTION(dgesdd_) FUNCTION(dsyevd_) FUNCTION(dgeev_) FUNCTION(sgeqrf_)
FUNCTION(sormqr_) FUNCTION(ssytrf_) FUNCTION(dsytrf_) FUNCTION(sgesdd_) FUNCTION(ssyevd_)
FUNCTION(zgetrf_) FUNCTION(zgetrs_) FUNCTION(zpotrf_) FUNCTION(zgeqrf_) FUNCTION(zungqr_)
FUNCTION(zgesdd_) FUNCTION(zheevd_) FUNCTION(zgeev_) FUNCTION(dgelsy_) FUNCTION(sgelsy_)
FUNCTION(sgeev_)
"""


def build(folder: Path, source: str) -> str:
    (folder / "library.cc").write_text(source)
    return str(shared_library(folder / "library.cc", folder / "library.so"))


def with_openblas(code: str, *arguments: str) -> None:
    settings = {"INFINI_LAPACK_LIBRARY": openblas(), "INFINI_NUM_THREADS": "2"}
    python(CODE + code, openblas(), *arguments, **settings)


@pytest.mark.requires("openblas")
@pytest.mark.parametrize("used", [True, False])
def test_both_ways(request: pytest.FixtureRequest, used: bool) -> None:
    name = openblas() if used else "none"
    settings = {"INFINI_LAPACK_LIBRARY": name, "INFINI_NUM_THREADS": "2"}
    suite(str(request.path), "-k", "not both_ways and not library", **settings)


@pytest.mark.requires("openblas")
def test_library_is_used() -> None:
    """Also by a forked child."""
    with_openblas(USED)


@pytest.mark.requires("openblas", "c++")
@pytest.mark.parametrize("how", ["ctypes.CDLL(None).exit(0)", ""], ids=["exit", "end"])
def test_exit_while_library_works(how: str, tmp_path: Path) -> None:
    """OpenBLAS's destructor unmaps its buffers; here another destructor runs after it."""
    with_openblas(EXIT + how, build(tmp_path, SLOW))


@pytest.mark.requires("openblas")
def test_library_can_be_refused() -> None:
    code = CODE + "assert factor() and not is_open() and not reason"
    python(code, openblas(), INFINI_LAPACK_LIBRARY="none")


def reason_with(library: str) -> str:
    """Our own kernels are used, and the reason is recorded."""
    printed = python(CODE + "assert factor(); print(reason)", INFINI_LAPACK_LIBRARY=library)
    assert "INFINI_LAPACK_LIBRARY=" in printed and "is ignored" in printed
    return printed


def test_library_is_ignored() -> None:
    assert "cannot open" in reason_with("/nowhere/liblapack.so")
    assert "libm.so.6 lacks openblas_get_config, openblas_set_num" in reason_with("libm.so.6")


@pytest.mark.requires("c++")
def test_library_with_wide_integers_is_ignored(tmp_path: Path) -> None:
    assert "takes integers of 64 bits" in reason_with(build(tmp_path, WIDE))


LOW_RANKS = {
    "rank 0": lambda n: np.zeros((n, n)),
    "rank 1": lambda n: RANDOM.standard_normal((n, 1)) @ RANDOM.standard_normal((1, n)),
    "equal columns": lambda n: np.repeat(RANDOM.standard_normal((n, 1)), n, 1),
    "half rank": lambda n: (
        RANDOM.standard_normal((n, n // 2)) @ RANDOM.standard_normal((n // 2, n))
    ),
    "graded": lambda n: RANDOM.standard_normal((n, n)) * np.logspace(0, -25, n),
    "graded rows": lambda n: RANDOM.standard_normal((n, n)) * np.logspace(-25, 0, n)[:, None],
    "Hilbert's": lambda n: 1 / (np.arange(n)[:, None] + np.arange(n) + 1),
    "tall of rank 1": lambda n: np.ones((3 * n, 1)) @ RANDOM.standard_normal((1, n)),
    "wide of rank 2": lambda n: RANDOM.standard_normal((n, 2)) @ RANDOM.standard_normal((2, 3 * n)),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("n", [5, 17, 70])
@pytest.mark.parametrize("kind", LOW_RANKS)
def test_singular_vectors_of_matrices_of_low_rank(kind: str, n: int, dtype: Any) -> None:
    x = LOW_RANKS[kind](n).astype(dtype)
    made = infinicore.linalg.svd(infinicore.from_numpy(x), full_matrices=False)
    u, s, vh = (of(each) for each in made)
    expected = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    tolerance = 50 * n * np.finfo(dtype).eps
    assert np.allclose(s, expected, atol=tolerance * max(expected[0], 1), rtol=0)
    assert np.allclose(u * s @ vh, x, atol=tolerance * max(expected[0], 1), rtol=0)
    assert is_orthogonal(u, tolerance)
    assert is_orthogonal(np.swapaxes(vh, -1, -2), tolerance)
