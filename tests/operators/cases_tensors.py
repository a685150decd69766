"""Cases of what tensor libraries need: indices, random numbers, linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

from .cases import like_input

# ---- Indices ------------------------------------------------------------------------------------

SIZES = ((5,), (4, 6), (3, 5, 7), (2, 3, 4, 5))


def any_dim(draw: Draw) -> int:
    rank = len(draw["*S"])
    return int(draw.integers(-rank, rank))


def along_dim(draw: Draw) -> Shape:
    """Not longer than the input, but along `dim`."""
    sizes = [int(draw.integers(1, size + 1)) if size else 0 for size in draw["*S"]]
    sizes[draw["dim"]] = int(draw.integers(1, 9))
    return tuple(sizes)


def some_rows(draw: Draw, shape: Shape) -> Any:
    """Rows along `dim`, now and then one that does not exist."""
    return draw.integers(-1, draw["*S"][draw["dim"]] + 1, shape)


def updates(**more: Any) -> Rules:
    return Rules(
        symbols={"*S": SIZES, "*U": lambda draw: draw["*S"]},  # its shape follows below
        attributes={"dim": any_dim, **more},
        shapes={
            "index": along_dim,
            "src": lambda draw: draw.shapes["index"],
        },
        values={"index": some_rows},
        kinds=("usual", "one", "large"),
        large={"*S": ((150, 40), (60, 5, 17)), "*U": lambda draw: draw["*S"]},
    )


REDUCTIONS: dict[str, Any] = {"reduce": (0, 1, 2, 3, 4), "include_self": (0, 1)}

PICKING = {
    "gather": Rules(
        symbols={"*S": SIZES, "*I": lambda draw: draw["*S"]},
        attributes={"dim": any_dim},
        shapes={
            "output": along_dim,
            "index": lambda draw: draw.shapes["output"],
        },
        values={"index": some_rows},
        kinds=("usual", "one", "large"),
        large={"*S": ((300, 70), (7, 30000)), "*I": lambda draw: draw["*S"]},
    ),
    "index_select": Rules(
        symbols={"*S": SIZES, "N": (1, 3, 9), "*O": lambda draw: draw["*S"]},
        attributes={"dim": any_dim},
        shapes={"output": like_input},
        values={"index": some_rows},
        kinds=("usual", "one", "empty", "large"),
        large={"*S": ((300, 70), (70, 5, 31)), "N": (200,), "*O": lambda draw: draw["*S"]},
    ),
    "scatter_add": updates(),
    "scatter_reduce": updates(**REDUCTIONS),
    "index_reduce": Rules(
        symbols={"*S": SIZES, "N": (1, 3, 9), "*U": lambda draw: draw["*S"]},
        attributes={"dim": any_dim, **REDUCTIONS},
        shapes={"source": like_input},
        values={
            "index": lambda draw, shape: draw.integers(
                -draw["*S"][draw["dim"]] - 1, draw["*S"][draw["dim"]] + 1, shape
            )
        },
        kinds=("usual", "one", "large"),
        large={"*S": ((60, 70),), "N": (200,), "*U": lambda draw: draw["*S"]},
    ),
}

# ---- Random numbers -----------------------------------------------------------------------------

PLACES: dict[str, Any] = {
    "seed": (0, 1, 2**40 + 12345, 2**63 - 1),
    "offset": (0, 7, 2**32 - 1, 2**63 - 2),
}

RANDOM = {
    "random_uniform": Rules(scalars={**PLACES, "low": (0.0, -2.5), "high": (1.0, 3.25)}, large={}),
    "random_normal": Rules(
        scalars={**PLACES, "mean": (0.0, 10.0), "std": (1.0, 0.0, 2.5)}, noise=8.0, large={}
    ),
    "random_integers": Rules(
        scalars={**PLACES, "low": (0, -100, -(2**62)), "high": (2, 100, 2**62)}, large={}
    ),
}

# ---- Linear algebra -----------------------------------------------------------------------------

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
    """Matrices of a batch for which equations have a solution worth comparing."""
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
    good = regular(inputs["x"])
    for name, wanted in expected.items():
        near(draw, name, got[name][good], np.asarray(wanted)[good], 0.0, 1e3)


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


def positive(draw: Draw, shape: Shape) -> Any:
    """Positive definite matrices, with something else in the triangle that is not read."""
    factor = draw.normal(shape)
    whole = factor @ np.swapaxes(factor, -1, -2) + np.eye(shape[-1])
    unread = np.tril if draw["upper"] else np.triu
    return whole + unread(draw.normal(shape), -1 if draw["upper"] else 1)


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


FACTORS = {
    "det": matrices(check_determinant),
    "slogdet": matrices(check_determinant),
    "inverse": matrices(check_inverse),
    "solve": matrices(check_solve, sizes=("K",)),
    "cholesky": matrices(check_cholesky, attributes={"upper": (0, 1)}, values={"x": positive}),
    "qr": matrices(check_qr, sizes=("M",)),
    "svd": matrices(check_svd, sizes=("M",)),
    "eigh": matrices(check_eigh),
    "matrix_exp": matrices(None, spread=0.7, noise=64.0),
}
