"""Folds: reductions of a row of values to one. With arrays they compute, with nodes they trace,
like the functions of `expression`.

The axis is -1 (the last) or another number, "all", "1:" (all but the first), or an attribute of the
operator: a number or a list of numbers. The result keeps the folded dimensions with size 1, so that
it broadcasts against the input; an output may drop them. Folds over different axes may be nested (a
norm of each row, then the mean of all rows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expression import BOOL, INT, Node, lift, traced

Axis = Any  # int, "all", a list of ints, or a node when it is an attribute


def _dims(axis: Axis, x: Any) -> Any:
    """The axis in NumPy's form."""
    if isinstance(axis, str):
        return None if axis == "all" else tuple(range(int(axis.rstrip(":")), x.ndim))
    if isinstance(axis, int):
        return axis
    return tuple(int(a) for a in axis) if hasattr(axis, "__iter__") else int(axis)


def _fold(name: str, compute: Callable[..., Any], kind: str = "") -> Any:
    def call(x: Any, axis: Axis = -1) -> Any:
        if traced(x, axis):
            node = lift(x)
            return Node("fold", (node,), kind or node.kind, (name, axis))
        import numpy

        with numpy.errstate(all="ignore"):
            values = numpy.asarray(x)
            return compute(values, _dims(axis, values))

    call.__name__ = call.__qualname__ = f"fold_{name}"
    return call


def _numpy(name: str, of_nothing: float | None = None) -> Callable[..., Any]:
    def compute(x: Any, axis: Any) -> Any:
        import numpy

        options = {} if of_nothing is None or x.dtype.kind != "f" else {"initial": of_nothing}
        return getattr(numpy, name)(x, axis=axis, keepdims=True, **options)

    return compute


fold_sum = _fold("sum", _numpy("sum"))
fold_prod = _fold("prod", _numpy("prod"))
fold_max = _fold("max", _numpy("max", -float("inf")))  # a NaN wins
fold_min = _fold("min", _numpy("min", float("inf")))
fold_any = _fold("any", _numpy("any"), BOOL)
fold_all = _fold("all", _numpy("all"), BOOL)
fold_argmax = _fold("argmax", _numpy("argmax"), INT)  # the first one; a NaN wins
fold_argmin = _fold("argmin", _numpy("argmin"), INT)


def extent(x: Any, axis: Axis = -1) -> Any:
    """The number of elements that a fold over the axis reduces."""
    if traced(x, axis):
        return Node("extent", (lift(x),), INT, axis)
    import numpy

    x = numpy.asarray(x)
    dims = _dims(axis, x)
    sizes = x.shape if dims is None else [x.shape[d] for d in numpy.atleast_1d(dims)]
    return numpy.float64(numpy.prod(sizes, dtype=numpy.int64))


def fold_mean(x: Any, axis: Axis = -1) -> Any:
    """NaN for a row without elements."""
    if traced(x, axis):
        return fold_sum(x, axis) / extent(x, axis)
    import numpy

    with numpy.errstate(all="ignore"):
        return fold_sum(x, axis) / extent(x, axis)


def position(x: Any, axis: int = -1) -> Any:
    """The index of each element along an axis."""
    if traced(x):
        return Node("position", (lift(x),), INT, axis)
    import numpy

    x = numpy.asarray(x)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return numpy.arange(x.shape[axis]).reshape(shape)
