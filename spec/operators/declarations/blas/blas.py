"""BLAS level 1: vectors whose strides are the increments, numbers in tensors of one element."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...language import expression as fn
from ...language.expression import Array
from ...language.folds import extent, fold_argmax, fold_argmin, fold_max, fold_sum
from ...language.model import operator
from ...language.views import item


def _number(fold: Callable[..., Array], x: Array) -> Array:
    """Of the element that a fold over absolute values finds, from 1; 0 when there is none."""
    if not fn.traced(x) and x.size == 0:
        return x.sum(keepdims=True)
    return fn.where(fn.equal(extent(x), 0), 0, fold(fn.absolute(x)) + 1)


def _numbers(*tensors: Array) -> list[float]:
    """The elements of tensors of one element each."""
    return [float(t.reshape(-1)[0]) for t in tensors]


@operator(
    "Asum(x, !result)",
    """
    x          F+ [N]
    out result =x [] or [1]
    """,
    public="""
    asum(x)
        The sum of the sizes of a vector's elements.

        >>> infinicore.asum(infinicore.tensor([1., -2.]))
        tensor(3.)
    """,
)
def asum(x: Array) -> Array:
    """The sum of the absolute values."""
    return fold_sum(fn.absolute(x), axis="all")


@operator(
    "Nrm2(x, !result)",
    """
    x          F+ [N]
    out result =x [] or [1]
    """,
    blas=True,
    public="""
    nrm2(x)
        The Euclidean length of a vector.

        >>> infinicore.nrm2(infinicore.tensor([3., 4.]))
        tensor(5.)
    """,
)
def nrm2(x: Array) -> Array:
    """The Euclidean norm, without overflow on the way."""
    largest = fn.maximum(fold_max(fn.absolute(x), axis="all"), 0.0)
    unit = fn.where(fn.either(fn.equal(largest, 0.0), fn.isinf(largest)), 1.0, largest)
    root = fn.sqrt(unit)  # in two steps: the reciprocal of the smallest numbers overflows
    scaled = x / root / root
    return unit * fn.sqrt(fold_sum(scaled * scaled, axis="all"))


@operator(
    "BlasAmax(x, !result)",
    """
    x          F+  [N]
    out result I32 [] or [1]
    """,
    public="""
    blas_amax(x)
        Where the element of the largest size stands, counted from 1, as int32.

        >>> infinicore.blas_amax(infinicore.tensor([1., -5., 2.]))
        tensor(2, dtype=infinicore.int32)
    """,
)
def blas_amax(x: Array) -> Array:
    """The number, from 1, of the first element of the largest absolute value; 0 when there is
    none. A NaN counts as larger than everything."""
    return _number(fold_argmax, x)


@operator(
    "BlasAmin(x, !result)",
    """
    x          F+  [N]
    out result I32 [] or [1]
    """,
    public="""
    blas_amin(x)
        Where the element of the smallest size stands, counted from 1, as int32.

        >>> infinicore.blas_amin(infinicore.tensor([4., -5., 2.]))
        tensor(3, dtype=infinicore.int32)
    """,
)
def blas_amin(x: Array) -> Array:
    """The number, from 1, of the first element of the smallest absolute value; 0 when there is
    none. A NaN counts as smaller than everything."""
    return _number(fold_argmin, x)


@operator(
    "BlasCopy(x, !y)",
    """
    x     F+ [N]
    out y =x [N]
    """,
)
def blas_copy(x: Array) -> Array:
    """x."""
    return x


@operator(
    "Swap(!x, !y)",
    """
    inout x F+ [N]
    inout y =x [N]
    """,
    public="""
        swap(x, y) -> tuple
            x and y exchange their elements, and are returned.

            >>> infinicore.swap(infinicore.ones(1), infinicore.zeros(1))[0]
            tensor([0.])
    """,
)
def swap(x: Array, y: Array) -> tuple[Array, Array]:
    """Exchanges x and y."""
    return y, x


@operator(
    "BlasDot(x, y, !result)",
    """
    x          F+ [N]
    y          =x [N]
    out result =x [] or [1]
    """,
    blas=True,
    public="""
    blas_dot(x, y)
        The sum of the products of two vectors' elements.

        >>> infinicore.blas_dot(infinicore.tensor([1., 2.]), infinicore.tensor([3., 4.]))
        tensor(11.)
    """,
)
def blas_dot(x: Array, y: Array) -> Array:
    """The inner product."""
    return fold_sum(x * y, axis="all")


@operator(
    "Axpy(alpha, x, !y)",
    """
    alpha   F+     [] or [1]
    x       =alpha [N]
    inout y =alpha [N]
    """,
    public="""
        axpy(alpha: Operand, x, y)
            y becomes alpha * x + y, and is returned.

            >>> infinicore.axpy(2.0, infinicore.ones(2), infinicore.ones(2))
            tensor([3., 3.])
    """,
)
def axpy(alpha: Array, x: Array, y: Array) -> Array:
    """alpha * x + y, in y."""
    return alpha * x + y


@operator(
    "Scal(alpha, !x)",
    """
    alpha   F+     [] or [1]
    inout x =alpha [N]
    """,
)
def scal(alpha: Array, x: Array) -> Array:
    """alpha * x, in x."""
    return alpha * x


@operator(
    "Rot(!x, !y, c, s)",
    """
    inout x F+ [N]
    inout y =x [N]
    c       =x [] or [1]
    s       =x [] or [1]
    """,
    blas=True,
    public="""
        rot(x, y, c: Operand, s: Operand) -> tuple
            x becomes c * x + s * y, and y becomes c * y - s * x; both are returned.

            >>> infinicore.rot(infinicore.ones(1), infinicore.zeros(1), 0.0, 1.0)[1]
            tensor([-1.])
    """,
)
def rot(x: Array, y: Array, c: Array, s: Array) -> tuple[Array, Array]:
    """Rotates the points (x, y) by the angle of cosine c and sine s."""
    return c * x + s * y, c * y - s * x


@operator(
    "Rotg(!x, !y, !c, !s)",
    """
    inout x F+ [] or [1]
    inout y =x [] or [1]
    out c   =x [] or [1]
    out s   =x [] or [1]
    """,
)
def rotg(x: Array, y: Array) -> tuple[Array, Array, Array, Array]:
    """The rotation (c, s) that turns (x, y) into (r, 0). x becomes r, y becomes z, from which c and
    s can be reconstructed: z = s if |x| > |y|, else 1 / c, or 1 when c is 0."""
    steep = fn.absolute(x) <= fn.absolute(y)
    still = fn.equal(y, 0.0)  # nothing to turn
    r = fn.where(still, x, fn.copysign(fn.hypot(x, y), fn.where(steep, y, x)))
    c, s = fn.where(still, 1.0, x / r), fn.where(still, 0.0, y / r)
    z = fn.where(steep, fn.where(fn.equal(c, 0.0), 1.0, 1.0 / c), s)
    return r, fn.where(still, 0.0, z), c, s


@operator(
    "Rotm(!x, !y, param)",
    """
    inout x F+ [N]
    inout y =x [N]
    param   =x [5]
    """,
    blas=True,
    public="""
        rotm(x, y, param) -> tuple
            A modified rotation of x and y, as `rotmg` describes it in its five parameters; both are
            returned.

            >>> param = infinicore.tensor([-1.0, 1.0, 2.0, 3.0, 4.0])
            >>> infinicore.rotm(infinicore.ones(1), infinicore.zeros(1), param)[1]
            tensor([2.])
    """,
)
def rotm(x: Array, y: Array, param: Array) -> tuple[Array, Array]:
    """The points (x, y) times a matrix [[h11, h12], [h21, h22]]. `param` is a flag, then h11, h21,
    h12, h22, of which the flag sets some: -1 none, 0 h11 = h22 = 1, 1 h12 = 1 and h21 = -1, -2 all,
    to the unit matrix."""
    flag, h11, h21, h12, h22 = (item(param, i) for i in range(5))
    unit = fn.equal(flag, -2.0)
    zero, one = fn.equal(flag, 0.0), fn.equal(flag, 1.0)
    new_x = fn.where(zero, 1.0, h11) * x + fn.where(one, 1.0, h12) * y
    new_y = fn.where(one, -1.0, h21) * x + fn.where(zero, 1.0, h22) * y
    return fn.where(unit, x, new_x), fn.where(unit, y, new_y)


@operator(
    "Rotmg(!d1, !d2, !x1, y1, !param)",
    """
    inout d1    F+  [] or [1]
    inout d2    =d1 [] or [1]
    inout x1    =d1 [] or [1]
    y1          =d1 [] or [1]
    inout param =d1 [5]
    """,
    kernel=True,
    public="""
        rotmg(d1, d2, x1, y1, param) -> tuple
            The modified rotation that makes the second of two scaled coordinates 0: all but y1 are
            changed, and d1, d2, x1 and param are returned.

            >>> d1, d2, x1, y1 = (infinicore.tensor([each]) for each in (1.0, 1.0, 1.0, 0.0))
            >>> infinicore.rotmg(d1, d2, x1, y1, infinicore.zeros(5))[3]
            tensor([-2.,  0.,  0.,  0.,  0.])
    """,
)
def rotmg(
    d1: Array, d2: Array, x1: Array, y1: Array, param: Array
) -> tuple[float, float, float, Array]:
    """The modified rotation, for `rotm`, that makes the second of (sqrt(d1) x1, sqrt(d2) y1) zero.
    Entries of `param` that its flag implies are left as they are."""
    a, b, x, y = _numbers(d1, d2, x1, y1)
    param = param.copy()
    flag, h11, h21, h12, h22 = -1.0, 0.0, 0.0, 0.0, 0.0
    p2 = b * y
    if a >= 0 and p2 == 0:
        param[0] = -2.0
        return a, b, x, param
    p1 = a * x
    q1, q2 = p1 * x, p2 * y
    u = 0.0  # stays so when there is no such rotation
    if a >= 0 and abs(q1) > abs(q2):
        flag, h11, h21, h12, h22 = 0.0, 1.0, -y / x, p2 / p1, 1.0
        u = 1 - h12 * h21
    elif a >= 0 and q2 >= 0:
        flag, h11, h21, h12, h22 = 1.0, p1 / p2, -1.0, 1.0, x / y
        u = 1 + h11 * h22
        a, b, x = b, a, y
    if u > 0:
        a, b, x = a / u, b / u, x * u
    else:
        flag, h11, h21, h12, h22, a, b, x = -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    # Factors far from 1 are taken into the matrix, 4096 at a time.
    while a != 0 and math.isfinite(a) and not 2.0**-24 < a < 2.0**24:
        step = 4096.0 if a <= 1 else 1 / 4096.0
        flag, a, x, h11, h12 = -1.0, a * step * step, x / step, h11 / step, h12 / step
    while b != 0 and math.isfinite(b) and not 2.0**-24 < abs(b) < 2.0**24:
        step = 4096.0 if abs(b) <= 1 else 1 / 4096.0
        flag, b, h21, h22 = -1.0, b * step * step, h21 / step, h22 / step
    param[0] = flag
    if flag != 0:
        param[1], param[4] = h11, h22
    if flag != 1:
        param[2], param[3] = h21, h12
    return a, b, x, param
