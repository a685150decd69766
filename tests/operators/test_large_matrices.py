"""Linear algebra on matrices, or batches of them, for which a vendor's library may be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kit import Maker
from kit.drawing import Draw
from kit.layouts import contiguous, strided, transposed
from kit.operator_runs import Trial
from spec.operators import REGISTRY

from .test_operators import rules_of

pytestmark = pytest.mark.requires("large-matrices")

Shape = tuple[int, ...]
Values = Callable[[Draw, Shape], Any]


def regular(draw: Draw, shape: Shape) -> Any:
    """Matrices whose determinants are in the range of F32, with permuted rows."""
    rows, n = shape[-2:]
    near = 1.02 * np.eye(rows, n) + draw.normal(shape) * 0.3 / np.sqrt(n)
    return near[..., draw.rng.permutation(rows), :]


def positive_regular(draw: Draw, shape: Shape) -> Any:
    """The same with positive determinants."""
    x = regular(draw, shape)
    return x if np.linalg.slogdet(x)[0] > 0 else x[..., [1, 0, *range(2, shape[-1])], :]


SQUARE = {"x": regular}
# Operator, symbols, attributes, values.
CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Values]]] = [
    ("det", {"*B": (), "N": 200}, {}, SQUARE),
    ("det", {"*B": (2,), "N": 193}, {}, SQUARE),
    ("slogdet", {"*B": (2,), "N": 192}, {}, SQUARE),
    ("logdet", {"N": 200}, {}, {"x": positive_regular}),
    ("inverse", {"*B": (3, 1), "N": 192}, {}, SQUARE),
    ("solve", {"*B": (2,), "N": 201, "K": 5}, {}, {"a": regular}),
    ("cholesky", {"*B": (2, 2), "N": 200}, {"upper": 0}, {}),
    ("cholesky", {"*B": (2,), "N": 256}, {"upper": 1}, {}),
    ("qr", {"*B": (2,), "M": 230, "N": 200}, {}, {}),
    ("qr", {"*B": (), "M": 192, "N": 220}, {}, {}),
    ("svd", {"*B": (), "M": 220, "N": 192}, {}, {}),
    ("svd", {"*B": (2,), "M": 192, "N": 200}, {}, {}),
    ("eigh", {"*B": (), "N": 192}, {}, {}),
    # Factors without vectors, and packed ones.
    ("svdvals", {"*B": (), "M": 120, "N": 150}, {}, {}),
    ("eigvalsh", {"*B": (2,), "N": 100}, {}, {}),
    ("geqrf", {"*B": (), "M": 230, "N": 200}, {}, {}),
    ("householder_product", {"*B": (), "M": 130, "N": 100, "K": 90}, {}, {}),
    ("ormqr", {"*B": (2,), "M": 130, "N": 100, "K": 90, "P": 70}, {"transpose": 1}, {}),
    ("ldl_factor", {"*B": (2,), "N": 100}, {}, {}),
    ("ldl_solve", {"*B": (), "N": 100, "K": 70}, {}, {}),
    ("lu_solve", {"*B": (2,), "N": 100, "K": 70}, {"transpose": 1}, {}),
    ("solve_triangular", {"*B": (), "N": 170, "K": 70}, {"upper": 0, "unitriangular": 1}, {}),
    ("solve_triangular", {"*B": (2,), "N": 161, "K": 3}, {"upper": 1, "unitriangular": 0}, {}),
    # Many right-hand sides.
    ("solve_triangular", {"*B": (2,), "N": 9, "K": 4000}, {"upper": 1, "unitriangular": 0}, {}),
    ("solve_triangular", {"*B": (), "N": 60, "K": 700}, {"upper": 0, "unitriangular": 0}, {}),
    ("lu_solve", {"*B": (), "N": 20, "K": 1700}, {"transpose": 0}, {}),
    # Of many small matrices at a time, and complex ones.
    ("cholesky", {"*B": (3, 2), "N": 30}, {"upper": 0}, {}),
    ("cholesky", {"*B": (), "N": 40}, {"upper": 1}, {}),
    ("svd", {"*B": (3,), "M": 30, "N": 25}, {}, {}),
    ("svd", {"*B": (2, 2), "M": 14, "N": 26}, {}, {}),
    ("eigh", {"*B": (4,), "N": 20}, {}, {}),
    ("lu_factor", {"*B": (2,), "M": 70, "N": 64}, {}, {}),
    ("lu_factor", {"*B": (), "M": 64, "N": 80}, {}, {}),
    ("complex_inverse", {"*B": (2,), "N": 40}, {}, {}),
    ("complex_solve", {"*B": (), "N": 40, "K": 3}, {}, {}),
    ("complex_cholesky", {"*B": (), "N": 40}, {}, {}),
    ("complex_cholesky", {"*B": (3,), "N": 30}, {}, {}),
    ("complex_qr", {"*B": (3,), "M": 60, "N": 50}, {}, {}),
    ("complex_qr", {"*B": (), "M": 48, "N": 64}, {}, {}),
    ("complex_svd", {"*B": (3,), "M": 20, "N": 16}, {}, {}),
    ("complex_svd", {"*B": (2,), "M": 16, "N": 30}, {}, {}),
    ("complex_svd", {"*B": (), "M": 50, "N": 40}, {}, {}),
    ("complex_svd", {"*B": (), "M": 34, "N": 45}, {}, {}),
    ("complex_eigh", {"*B": (3,), "N": 20}, {}, {}),
    ("complex_eigh", {"*B": (), "N": 40}, {}, {}),
    ("eig", {"*B": (), "N": 48}, {}, {}),
    ("eigvals", {"*B": (2,), "N": 48}, {}, {}),
    ("lu_unpack", {"*B": (), "M": 150, "N": 130}, {}, {}),
    ("lstsq", {"*B": (2,), "M": 90, "N": 70, "K": 40}, {"rcond": 1e-3}, {}),
    ("lstsq", {"*B": (), "M": 100, "N": 120, "K": 7}, {"rcond": 1e-3}, {}),
    ("lstsq", {"*B": (), "M": 700, "N": 30, "K": 2}, {"rcond": 1e-3}, {}),
    ("householder_product", {"*B": (), "M": 200, "N": 200, "K": 200}, {}, {}),
    ("lu_factor", {"*B": (2,), "M": 5, "N": 1000}, {}, {}),
    ("lu_factor", {"*B": (2,), "M": 1000, "N": 5}, {}, {}),
]


def trial(make: Maker, case: Any, dtype: str, layout: Any, compare: Any = None) -> Trial:
    name, symbols, attributes, values = case
    rules = rules_of(REGISTRY[name])
    rules = replace(
        rules,
        symbols={name: (size,) for name, size in symbols.items()},
        attributes={name: (value,) for name, value in attributes.items()},
        values={**rules.values, **values},
        compare=compare or rules.compare,
    )
    return Trial(make, Draw(REGISTRY[name], rules, dtype, "usual", 0), layout, layout)


def run(one: Trial) -> None:
    """In the default stream, and in another one with new data."""
    stream = one.make.stream()
    for seed, at in ((1, None), (2, stream)):
        values = one.data(seed)
        expected = one.expect(values)
        one.load(values)
        one.run(at)
        one.make.rt.DeviceSynchronize()
        one.check(expected, values)


@pytest.mark.parametrize(("dtype", "layout"), [("F32", strided), ("F64", transposed)])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]['N']}")
def test_results(make: Maker, case: Any, dtype: str, layout: Any) -> None:
    run(trial(make, case, dtype, layout))


CAPTURED = [
    CASES[0],
    CASES[6],
    CASES[15],
    ("complex_qr", {"*B": (), "M": 50, "N": 48}, {}, {}),
    ("complex_eigh", {"*B": (2,), "N": 14}, {}, {}),
]


@pytest.mark.parametrize("case", CAPTURED, ids=lambda case: case[0])
def test_in_a_capture(make: Maker, case: Any) -> None:
    trial(make, case, "F32", contiguous).four_ways()


# ---- Cases without a result ---------------------------------------------------------------------


def singular(draw: Draw, shape: Shape) -> Any:
    """The first matrix of a batch has a pivot of 0, exactly."""
    x = regular(draw, shape)
    x.reshape(-1, *shape[-2:])[0, :, 7] = 0
    return x


def indefinite(draw: Draw, shape: Shape) -> Any:
    x = np.broadcast_to(np.eye(shape[-1]) * 4, shape).copy()
    x.reshape(-1, *shape[-2:])[0, 150, 150] = -1
    return x


def with_nan(draw: Draw, shape: Shape) -> Any:
    """The first matrix of a batch has a NaN, below the diagonal."""
    x = regular(draw, shape)
    x.reshape(-1, *shape[-2:])[0, 100, 30] = np.nan
    return x


def with_nan_in_a_corner(draw: Draw, shape: Shape) -> Any:
    """Positive definite matrices, except the first one."""
    x = np.broadcast_to(np.eye(*shape[-2:]), shape) * 4 + draw.normal(shape) * 0.01
    x.reshape(-1, *shape[-2:])[0, -1, 0] = np.nan
    return x


def with_nan_above(draw: Draw, shape: Shape) -> Any:
    """The triangle of a symmetric matrix that is not read."""
    x = regular(draw, shape)
    x.reshape(-1, *shape[-2:])[0, 30, 100] = np.nan
    return x


# Operator, symbols, values of the first input, expected results for the first matrix.
WITHOUT: list[tuple[str, dict[str, Any], Values, dict[str, float]]] = [
    ("det", {"*B": (2,), "N": 192}, singular, {"y": 0.0}),
    ("det", {"*B": (2,), "N": 192}, with_nan, {"y": np.nan}),
    ("slogdet", {"*B": (2,), "N": 192}, singular, {"sign": 0.0, "logabsdet": -np.inf}),
    ("slogdet", {"*B": (2,), "N": 192}, with_nan, {"sign": np.nan, "logabsdet": np.nan}),
    ("logdet", {"N": 192}, singular, {"y": -np.inf}),
    ("inverse", {"*B": (2,), "N": 192}, singular, {"y": np.nan}),
    ("inverse", {"*B": (2,), "N": 192}, with_nan, {"y": np.nan}),
    ("solve", {"*B": (2,), "N": 192, "K": 3}, singular, {"x": np.nan}),
    ("cholesky", {"*B": (2,), "N": 192}, indefinite, {"y": np.nan}),
    ("svd", {"*B": (2,), "M": 200, "N": 192}, with_nan, dict.fromkeys(("u", "s", "vh"), np.nan)),
    ("eigh", {"*B": (2,), "N": 192}, with_nan, {"w": np.nan, "v": np.nan}),
    ("cholesky", {"*B": (3,), "N": 30}, with_nan_in_a_corner, {"y": np.nan}),
    ("svd", {"*B": (3,), "M": 20, "N": 20}, with_nan_in_a_corner, {"s": np.nan, "vh": np.nan}),
    ("eigh", {"*B": (3,), "N": 20}, with_nan_in_a_corner, {"w": np.nan, "v": np.nan}),
]


@pytest.mark.parametrize("case", WITHOUT, ids=lambda case: f"{case[0]}-{case[2].__name__}")
def test_without_results(make: Maker, case: Any) -> None:
    """The first matrix of a batch has no result, the second one has."""
    name, symbols, values, wanted = case

    def compare(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
        for output, value in wanted.items():
            found = got[output] if symbols.get("*B") else got[output][None]
            np.testing.assert_array_equal(found[0], np.full_like(found[0], value), output)
            assert np.isfinite(found[1:]).all(), output

    attributes = {"upper": 0} if name == "cholesky" else {}
    given = {"a" if name == "solve" else "x": values}
    one = trial(make, (name, symbols, attributes, given), "F32", contiguous, compare)
    inputs = one.data(1)
    one.load(inputs)
    one.run(None)
    one.make.rt.DeviceSynchronize()
    one.check(([*wanted], [None] * len(wanted), [None] * len(wanted)), inputs)


def test_only_one_triangle_is_read(make: Maker) -> None:
    def compare(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
        assert np.isfinite(got["w"]).all()
        assert np.isfinite(got["v"]).all()

    case = ("eigh", {"*B": (2,), "N": 192}, {}, {"x": with_nan_above})
    one = trial(make, case, "F32", contiguous, compare)
    inputs = one.data(1)
    one.load(inputs)
    one.run(None)
    one.make.rt.DeviceSynchronize()
    one.check((["w", "v"], [None] * 2, [None] * 2), inputs)
