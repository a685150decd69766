"""Complex matrices: by complex operators, or as real matrices of twice the size. `emit` calls this
for operators on real matrices."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._complex_emit import FORMS, joined
from infinicore._complex_parts import WHOLES, part_type, parts
from infinicore._dtype import int32
from infinicore._emit import _step, cast_to, emit, tensor_for
from infinicore._tensor import Tensor
from infinicore.op._operator import function as operator_named

__all__: list[str] = []


def _put(target: Tensor, value: Tensor) -> None:
    emit("rearrange", value, out=target)


def whole(z: Tensor) -> Tensor:
    """[[re, -im], [im, re]]: products and inverses of such matrices correspond to those of the
    complex ones."""
    real, imag = parts(z)
    m, n = z.shape[-2:]
    made = _core.empty((*z.shape[:-2], 2 * m, 2 * n), real.dtype, z.device)
    top, bottom = made.narrow(z.ndim - 2, 0, m), made.narrow(z.ndim - 2, m, m)
    last = z.ndim - 1
    _put(top.narrow(last, 0, n), real)
    _put(bottom.narrow(last, n, n), real)
    _put(bottom.narrow(last, 0, n), imag)
    _put(top.narrow(last, n, n), emit("neg", imag))
    return made


def _from_rows(made: Tensor) -> Tensor:
    """Complex rows from real and imaginary rows stacked vertically."""
    m = made.shape[-2] // 2
    return joined(made.narrow(made.ndim - 2, 0, m), made.narrow(made.ndim - 2, m, m))


def _made(z: Tensor, *sizes: int) -> Tensor:
    """A complex tensor of the same batch."""
    return _core.empty((*z.shape[:-2], *sizes), z.dtype, z.device)


def _made_real(z: Tensor, *sizes: int) -> Tensor:
    return _core.empty((*z.shape[:-2], *sizes), part_type(z.dtype), z.device)


def _run(name: str, *tensors: Tensor) -> None:
    """Calls an operator that takes complex tensors, results first, as pairs of parts."""
    each = [parts(one) if one.dtype.is_complex else (one,) for one in tensors]
    _step(operator_named(name), [part for one in each for part in one], {})


def inverse(z: Tensor) -> Tensor:
    made = _made(z, *z.shape[-2:])
    _run("complex_inverse", made, z)
    return made


def solve(a: Tensor, b: Tensor) -> Tensor:
    """The solution x of a x = b, for one batch."""
    made = _made(b, *b.shape[-2:])
    _run("complex_solve", made, a, b)
    return made


def cholesky(z: Tensor, upper: bool) -> Tensor:
    """The upper factor is the transpose of the lower factor of the transposed matrix."""
    made = _made(z, *z.shape[-2:])
    written, read = (each.transpose(-1, -2) if upper else each for each in (made, z))
    _run("complex_cholesky", written, read)
    return made


def qr(z: Tensor) -> tuple[Tensor, Tensor]:
    m, n = z.shape[-2:]
    q, r = _made(z, m, min(m, n)), _made(z, min(m, n), n)
    _run("complex_qr", q, r, z)
    return q, r


def svd(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    m, n = z.shape[-2:]
    k = min(m, n)
    u, s, vh = _made(z, m, k), _made_real(z, k), _made(z, k, n)
    _run("complex_svd", u, s, vh, z)
    return u, s, vh


def eigh(z: Tensor) -> tuple[Tensor, Tensor]:
    n = z.shape[-1]
    w, v = _made_real(z, n), _made(z, n, n)
    _run("complex_eigh", w, v, z)
    return w, v


def eig(z: Tensor) -> tuple[Tensor, Tensor]:
    n = z.shape[-1]
    w, v = _made(z, n), _made(z, n, n)
    _run("eig", w, v, z)
    return w, v


def eigvals(z: Tensor) -> Tensor:
    w = _made(z, z.shape[-1])
    _run("eigvals", w, z)
    return w


def eig_of_real(x: Tensor, vectors: bool) -> Any:
    """`eig` or `eigvals`, without a complex copy of the matrices."""
    kind = WHOLES[x.dtype._code]
    made = [_core.empty(tuple(x.shape[:-1]), kind, x.device)]
    if vectors:
        made.append(_core.empty(tuple(x.shape), kind, x.device))
    zero = tensor_for(0.0, x.dtype, x.device).expand(*x.shape)
    each = [part for one in made for part in parts(one)]
    _step(operator_named("eig" if vectors else "eigvals"), [*each, x, zero], {})
    return tuple(made) if vectors else made[0]


def lu_factor(z: Tensor) -> tuple[Tensor, Tensor]:
    """L and U in one matrix, and the row exchanges; real for real matrices."""
    if z.dtype.is_complex:
        lu = _made(z, *z.shape[-2:])
        pivots = _core.empty((*z.shape[:-2], min(z.shape[-2:])), int32, z.device)
        _run("lu_factor", lu, pivots, z)
        return lu, pivots
    zero = tensor_for(0.0, z.dtype, z.device).expand(*z.shape)
    real, _, pivots = emit("lu_factor", z, zero)
    return real, pivots


def matrix_exp(z: Tensor) -> Tensor:
    made = emit("matrix_exp", whole(z))
    return _from_rows(made.narrow(z.ndim - 1, 0, z.shape[-1]))


def slogdet(z: Tensor) -> tuple[Tensor, Tensor]:
    """The phase of the determinant, and the logarithm of its absolute value."""
    lu, pivots = lu_factor(z)
    diagonal = _diagonal(lu)
    size = emit("abs", diagonal)
    log = emit("sum", emit("log", size), dim=[size.ndim - 1])
    sign = emit("prod", emit("sign", diagonal), dim=[diagonal.ndim - 1])
    return emit("mul", sign, _parity(pivots, part_type(z.dtype))), log


def det(z: Tensor) -> Tensor:
    lu, pivots = lu_factor(z)
    product = emit("prod", _diagonal(lu), dim=[lu.ndim - 2])
    return emit("mul", product, _parity(pivots, part_type(z.dtype)))  # type: ignore[no-any-return]


def _diagonal(matrix: Tensor) -> Tensor:
    from infinicore.functions.copy.views import diagonal

    return diagonal(matrix, 0, matrix.ndim - 2, matrix.ndim - 1)


def _parity(pivots: Tensor, kind: Any) -> Tensor:
    """The sign of the permutation: 1 for an even number of exchanges, else -1."""
    from infinicore.functions._operands import counting

    own = emit("add", counting(pivots.shape[-1], pivots, kind=pivots.dtype), 1)
    turned = emit("where", emit("not_equal", pivots, own), -1, 1)
    return cast_to(emit("prod", turned, dim=[pivots.ndim - 1]), kind)


for _each in (cholesky, det, eigh, inverse, matrix_exp, qr, slogdet, solve, svd):
    FORMS[_each.__name__] = _each
