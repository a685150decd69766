"""Cases of linear algebra, compared by the defining properties of the results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape
from spec.operators import REGISTRY

from .values import normal

UNITS = {"F16": 2.0**-10, "BF16": 2.0**-7, "F32": 2.0**-23, "F64": 2.0**-52}


def near(draw: Draw, name: str, got: Any, wanted: Any, scale: Any, times: float = 16.0) -> None:
    """Equal within some units of the dtype at a scale, that of the largest element if it is 0."""
    if got.size == 0:
        return
    scale = np.maximum(scale, np.abs(wanted).max())
    limit = times * max(wanted.shape[-1:] or (1,)) * UNITS[draw.main] * scale
    worst = np.abs(got - wanted).max()
    assert worst <= np.max(limit), f"{name}: off by {worst:.3g}, more than {np.max(limit):.3g}"


def regular(x: Any) -> Any:
    """The matrices of a batch that are well enough conditioned to compare solutions."""
    return np.linalg.cond(x) < 1e4 if x.size else np.zeros(x.shape[:-2], bool)


def sizes(x: Any) -> Any:
    """The largest elements of matrices, to scale by."""
    return np.abs(x).max(axis=(-1, -2), initial=0.0)


def check_inverse(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    good = regular(inputs["x"])
    x, y = inputs["x"][good], got["y"][good]
    near(draw, "x y", x @ y, np.broadcast_to(np.eye(x.shape[-1]), x.shape), sizes(x) * sizes(y))


def check_solve(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    good = regular(inputs["a"])
    a, x, b = inputs["a"][good], got["x"][good], inputs["b"][good]
    near(draw, "a x", a @ x, b, sizes(a) * sizes(x) * a.shape[-1])


def check_determinant(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """A change of the matrix by a unit changes the determinant by up to n times its condition."""
    x = inputs["x"]
    good = regular(x)
    growth = x.shape[-1] * float(np.linalg.cond(x[good]).max(initial=1.0)) if good.any() else 1.0
    for name, wanted in expected.items():
        near(draw, name, got[name][good], np.asarray(wanted)[good], 0.0, max(growth, 16.0))


def check_cholesky(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    x, y = inputs["x"], got["y"]
    x, y = (np.swapaxes(each, -1, -2) if draw["upper"] else each for each in (x, y))
    whole = np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)
    if x.size == 0:
        return
    least, most = (np.linalg.eigvalsh(whole)[..., place] for place in (0, -1))
    good = least > 1e-3 * most
    assert np.isnan(y[least < -1e-3 * np.abs(most)]).all(), "it is not positive definite"
    whole, y = whole[good], y[good]
    assert (np.triu(y, 1) == 0).all()
    assert (np.diagonal(y, axis1=-2, axis2=-1) > 0).all()
    near(draw, "y y^T", y @ np.swapaxes(y, -1, -2), whole, sizes(whole))


def orthonormal(draw: Draw, name: str, columns: Any) -> None:
    product = np.swapaxes(columns, -1, -2) @ columns
    near(draw, name, product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), 1.0)


def check_qr(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    q, r, x = got["q"], got["r"], inputs["x"]
    assert (np.tril(r, -1) == 0).all()
    orthonormal(draw, "q", q)
    near(draw, "q r", q @ r, x, sizes(x))


def check_svd(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    u, s, vh, x = got["u"], got["s"], got["vh"], inputs["x"]
    near(draw, "s", s, expected["s"], 0.0)
    assert (s >= 0).all()
    assert (np.diff(s) <= 0).all()
    orthonormal(draw, "u", u)
    orthonormal(draw, "vh", np.swapaxes(vh, -1, -2))
    near(draw, "u s vh", (u * s[..., None, :]) @ vh, x, sizes(x))


def check_eigh(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    w, v, x = got["w"], got["v"], inputs["x"]
    whole = np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)
    near(draw, "w", w, expected["w"], 0.0)
    assert (np.diff(w) >= 0).all()
    orthonormal(draw, "v", v)
    near(draw, "v w v^T", (v * w[..., None, :]) @ np.swapaxes(v, -1, -2), whole, sizes(whole))


def check_geqrf(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """The reflections of columns that depend on others are arbitrary; their products are not."""
    a, tau, x = got["a"], got["tau"], inputs["x"]
    product = np.triu(a)
    for i in reversed(range(tau.shape[-1])):
        v = np.tril(a, -1)[..., i : i + 1]
        v[..., i, 0] = 1
        t = tau[..., i : i + 1, None]
        near(draw, "tau^2 |v|^2", t * t * (v * v).sum(-2, keepdims=True), 2 * t, 2.0, 64.0)
        product = product - t * v * (np.swapaxes(v, -1, -2) @ product)
    near(draw, "q r", product, x, sizes(x) * x.shape[-2], 64.0)


def short(draw: Draw, shape: Shape) -> Any:
    """Vectors of reflections whose products do not grow."""
    return draw.normal(shape) / (4 * shape[-2] ** 0.5 + 1)


def near_one(draw: Draw, shape: Shape) -> Any:
    return draw.rng.uniform(0.5, 1.5, shape)


def check_ldl_factor(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    ld, pivots, a = got["ld"], got["pivots"].astype(int), inputs["a"]
    n = a.shape[-1]
    assert (np.triu(ld, 1) == 0).all()
    for place in np.ndindex(a.shape[:-2]) if a.size else ():
        # A x for the columns x of the identity, by the factors.
        x = np.eye(n)
        solved = REGISTRY["ldl_solve"].definition(ld[place], pivots[place], x)
        full = np.tril(a[place]) + np.tril(a[place], -1).T
        if np.linalg.cond(full) < 1e4:
            near(draw, "a x", full @ solved, x, np.abs(full).max() * np.abs(solved).max() * n)
        assert got["infos"][place] == 0


def signed_pivots(draw: Draw, shape: Shape) -> Any:
    """Exchanges with later rows, of blocks of one and two rows."""
    made = np.zeros(shape)
    for place in np.ndindex(shape[:-1]):
        k, n = 0, shape[-1]
        while k < n:
            two = 2 if k + 1 < n and draw.rng.random() < 0.4 else 1
            other = int(draw.rng.integers(k + two - 1, n)) + 1
            made[(*place, slice(k, k + two))] = other if two == 1 else -other
            k += two
    return made


def later_rows(draw: Draw, shape: Shape) -> Any:
    n = shape[-1]
    return draw.rng.integers(np.broadcast_to(np.arange(n), shape), n) + 1


def dominant(draw: Draw, shape: Shape) -> Any:
    """Triangles, and blocks of two rows, that are well conditioned."""
    n = shape[-1]
    return draw.normal(shape) / n + np.eye(n) * draw.rng.choice([-2.0, 2.0], (*shape[:-2], 1, 1))


def whole(parts: Any, name: str) -> Any:
    return parts[f"{name}_real"] + 1j * parts[f"{name}_imag"]


def unitary(draw: Draw, name: str, columns: Any) -> None:
    product = np.swapaxes(columns.conj(), -1, -2) @ columns
    near(draw, name, product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), 1.0)


def check_lu_factor(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    lu, x = whole(got, "lu"), whole(inputs, "a").copy()
    k = min(x.shape[-2:])
    for place in np.ndindex(x.shape[:-2]):
        for row, other in enumerate(got["pivots"][place].astype(int) - 1):
            x[place][[row, other]] = x[place][[other, row]]
    lower = np.tril(lu[..., :k], -1) + np.eye(x.shape[-2], k)
    assert (np.abs(lower) <= 1.415).all()  # LAPACK compares |re| + |im|
    near(draw, "l u", lower @ np.triu(lu[..., :k, :]), x, sizes(x) * k)


def check_complex_inverse(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    check_inverse(draw, {"x": whole(inputs, "x")}, {"y": whole(got, "y")}, expected)


def check_complex_solve(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    given = {name: whole(inputs, name) for name in ("a", "b")}
    check_solve(draw, given, {"x": whole(got, "x")}, expected)


def check_complex_cholesky(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    x, y = whole(inputs, "x"), whole(got, "y")
    low, diagonal = np.tril(x, -1), np.diagonal(x, axis1=-2, axis2=-1).real
    full = low + np.swapaxes(low.conj(), -1, -2) + np.eye(x.shape[-1]) * diagonal[..., None, :]
    if x.size == 0:
        return
    least, most = (np.linalg.eigvalsh(full)[..., place] for place in (0, -1))
    assert np.isnan(y[least < -1e-3 * np.abs(most)]).all(), "it is not positive definite"
    good = least > 1e-3 * most
    full, y = full[good], y[good]
    assert (np.triu(y, 1) == 0).all()
    assert (np.diagonal(y, axis1=-2, axis2=-1).real > 0).all()
    near(draw, "y y^H", y @ np.swapaxes(y.conj(), -1, -2), full, sizes(full))


def check_complex_qr(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    q, r, x = whole(got, "q"), whole(got, "r"), whole(inputs, "x")
    assert (np.tril(r, -1) == 0).all()
    unitary(draw, "q", q)
    near(draw, "q r", q @ r, x, sizes(x))


def check_complex_svd(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    u, s, vh, x = whole(got, "u"), got["s"], whole(got, "vh"), whole(inputs, "x")
    near(draw, "s", s, expected["s"], 0.0)
    assert (np.diff(s) <= 0).all()
    unitary(draw, "u", u)
    unitary(draw, "vh", np.swapaxes(vh.conj(), -1, -2))
    near(draw, "u s vh", (u * s[..., None, :]) @ vh, x, sizes(x))


def check_complex_eigh(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    w, v, x = got["w"], whole(got, "v"), whole(inputs, "x")
    low, diagonal = np.tril(x, -1), np.diagonal(x, axis1=-2, axis2=-1).real
    full = low + np.swapaxes(low.conj(), -1, -2) + np.eye(x.shape[-1]) * diagonal[..., None, :]
    near(draw, "w", w, expected["w"], 0.0)
    unitary(draw, "v", v)
    near(draw, "x v", full @ v, v * w[..., None, :], sizes(x) * x.shape[-1])


def check_eig(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    w, v, x = whole(got, "w"), whole(got, "v"), whole(inputs, "x")
    near(draw, "x v", x @ v, v * w[..., None, :], sizes(x) * x.shape[-1])
    near(draw, "sizes of v", np.linalg.norm(v, axis=-2), np.ones(w.shape), 1.0)


def check_eigvals(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """Single eigenvalues of a matrix that is not normal may change by much more than the matrix;
    their sum and that of their squares do not."""
    w, x = whole(got, "w"), whole(inputs, "x")
    near(draw, "trace", w.sum(-1), np.trace(x, axis1=-2, axis2=-1), sizes(x) * x.shape[-1])
    squares = np.trace(x @ x, axis1=-2, axis2=-1)
    near(draw, "trace of the square", (w * w).sum(-1), squares, (sizes(x) * x.shape[-1]) ** 2)


def low_rank(draw: Draw, shape: Shape) -> Any:
    """Matrices that may have a lower rank than their sizes, with similar singular values."""
    m, n = shape[-2:]
    rank = int(draw.rng.integers(1, min(m, n) + 1)) if min(m, n) else 0
    u, _, vh = np.linalg.svd(draw.normal(shape), full_matrices=False)
    return (u[..., :rank] * draw.rng.uniform(1, 3, rank)) @ vh[..., :rank, :]


def positive(draw: Draw, shape: Shape) -> Any:
    """Positive definite matrices, with other values in the triangle that is not read."""
    factor = draw.normal(shape)
    whole = factor @ np.swapaxes(factor, -1, -2) + np.eye(shape[-1])
    unread = np.tril if draw["upper"] else np.triu
    return whole + unread(draw.normal(shape), -1 if draw["upper"] else 1)


def positive_real(draw: Draw, shape: Shape) -> Any:
    """Real parts of Hermitian matrices that are positive definite whatever the imaginary ones."""
    return draw.normal(shape) + np.eye(shape[-1]) * 8 * shape[-1]


def matrices(compare: Any, **more: Any) -> Rules:
    return Rules(
        symbols={
            "*B": ((), (2,), (3, 2)),
            "N": (1, 2, 3, 5, 17, 40),
            **dict.fromkeys(more.pop("sizes", ()), (1, 2, 3, 8, 40)),
        },
        compare=compare,
        kinds=("usual", "one", "empty", "scalar", "large"),
        large={"*B": ((), (40,)), "N": lambda draw: 30 if draw["*B"] else 130},
        **more,
    )


def rotated(compare: Any, **more: Any) -> Rules:
    """Smaller ones: this many rotations take long on a simulated device."""
    rules = matrices(compare, **more)
    small = {name: each[:-1] for name, each in rules.symbols.items() if name != "*B"}
    large = {"*B": ((), (4,)), "N": lambda draw: 9 if draw["*B"] else 45}
    return replace(rules, symbols={**rules.symbols, **small}, large=large)


CASES: dict[str, Rules] = {
    "logdet": Rules(symbols={"N": (1, 2, 3, 5, 8, 33)}, tolerance=64.0, kinds=("usual", "one")),
    "det": matrices(check_determinant),
    "slogdet": matrices(check_determinant),
    "inverse": matrices(check_inverse),
    "solve": matrices(check_solve, sizes=("K",)),
    "cholesky": matrices(check_cholesky, attributes={"upper": (0, 1)}, values={"x": positive}),
    "qr": matrices(check_qr, sizes=("M",)),
    "svd": matrices(check_svd, sizes=("M",)),
    "eigh": matrices(check_eigh),
    "svdvals": matrices(None, sizes=("M",), noise=64.0),
    "eigvalsh": matrices(None, noise=64.0),
    "geqrf": matrices(check_geqrf, sizes=("M",)),
    "householder_product": matrices(
        None, sizes=("M", "K"), values={"a": short, "tau": near_one}, noise=64.0
    ),
    "ormqr": matrices(
        None,
        sizes=("M", "K", "P"),
        attributes={"transpose": (0, 1)},
        values={"a": short, "tau": near_one},
        noise=64.0,
    ),
    "ldl_factor": matrices(check_ldl_factor),
    "ldl_solve": matrices(
        None, sizes=("K",), values={"ld": dominant, "pivots": signed_pivots}, noise=64.0
    ),
    "lu_solve": matrices(
        None,
        sizes=("K",),
        attributes={"transpose": (0, 1)},
        values={"lu": dominant, "pivots": later_rows},
        noise=64.0,
    ),
    "solve_triangular": matrices(
        None,
        sizes=("K",),
        attributes={"upper": (0, 1), "unitriangular": (0, 1)},
        values={"a": dominant},
        noise=64.0,
    ),
    "lu_unpack": matrices(None, sizes=("M",), values={"pivots": later_rows}),
    "lstsq": matrices(
        None,
        sizes=("M", "K"),
        attributes={"rcond": (1e-3,)},
        values={"a": low_rank},
        noise=64.0,
    ),
    "lu_factor": matrices(check_lu_factor, sizes=("M",)),
    "complex_inverse": matrices(check_complex_inverse),
    "complex_solve": matrices(check_complex_solve, sizes=("K",)),
    "complex_cholesky": matrices(check_complex_cholesky, values={"x_real": positive_real}),
    "complex_qr": matrices(check_complex_qr, sizes=("M",)),
    "complex_svd": rotated(check_complex_svd, sizes=("M",)),
    "complex_eigh": rotated(check_complex_eigh),
    "eig": rotated(check_eig),
    "eigvals": rotated(check_eigvals),
    "matrix_exp": matrices(None, spread=0.7, noise=64.0),
    "kron": Rules(
        symbols={
            "*A": ((3,), (2, 4), (2, 3, 2)),
            "*B": lambda draw: tuple(draw.choose((1, 2, 5)) for _ in draw["*A"]),
            "*Y": lambda draw: tuple(a * b for a, b in zip(draw["*A"], draw["*B"], strict=True)),
        },
        kinds=("usual", "large"),
        large={"*A": ((20, 30),), "*B": ((17, 9),), "*Y": ((340, 270),)},
    ),
    "vander": Rules(
        attributes={"N": (0, 1, 4), "increasing": (0, 1)},
        values={"input": normal(0.8)},
        symbols={"R": (1, 3, 6)},
        kinds=("usual", "one"),
    ),
}
