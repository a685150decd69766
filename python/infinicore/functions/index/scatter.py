"""Scatter functions."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import bool_, int32, int64
from infinicore._emit import cast_to, check_out_type, emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_tensor
from infinicore.functions._index_checks import with_checked_index


def _index_of(name: str, index: Any, argument: str = "index") -> Tensor:
    need_tensor(name, argument, index)
    if index.dtype in (int64, int32):
        return index
    if index.dtype.is_floating_point or index.dtype is bool_:
        raise TypeError(f"{name}: {argument} has type {index.dtype!r}: expected integers")
    return cast_to(index, int64)


def _in_order(name: str, args: tuple[Any, ...], given: dict[str, Any], names: str) -> list[Any]:
    """Arguments in either order: the dimension before or after the tensors."""
    rest = [each for each in names.split() if given[each] is None]
    if args and isinstance(args[0], Tensor) and rest and rest[0] == "dim":
        rest = [*rest[1:], "dim"]
    if len(args) > len(rest):
        raise TypeError(f"{name}: {len(args)} arguments too many or twice")
    given.update(zip(rest, args, strict=False))
    for each in names.split():
        if given[each] is None and each != "reduce":
            raise TypeError(f"{name}: {each} is missing")
    return [given[each] for each in names.split()]


@with_checked_index
@function
def _scatter(
    input: Tensor, dim: int, index: Tensor, src: Operand, reduction: int, *, out: Any = None
) -> Tensor:
    at, index = dim_of("scatter", input, dim), _index_of("scatter", index)
    src = tensor_for(src, input.dtype, input.device)
    return _written("scatter", input, index, src, at, out, axis=at, reduction=reduction)


def _written(
    name: str, input: Tensor, index: Tensor, src: Tensor, place: int, out: Any, **values: Any
) -> Tensor:
    """Scatters sources along a dimension; the shape of the index limits how many are used."""
    if not input.ndim:
        index = index.reshape(index.numel())
        source = src.expand(*index.shape) if src.ndim == 0 else src
        made = emit(name, input.view(1), index, source, **values).view(())
        return made if out is None else emit("rearrange", made, out=out)
    if index.ndim != input.ndim:
        raise RuntimeError(
            f"{name}: index has {index.ndim} dimensions: expected {input.ndim}, as input"
        )
    if src.ndim == 0:
        src = src.expand(*index.shape)
    for d in range(index.ndim):
        size = index.shape[d]
        if src.ndim != index.ndim or size > src.shape[d] or (d != place and size > input.shape[d]):
            raise RuntimeError(
                f"{name}: index has shape {tuple(index.shape)}: expected none larger than src"
                f" {tuple(src.shape)}, and than input {tuple(input.shape)} but for dim {place}"
            )
        src = src.narrow(d, 0, size)
    if not index.numel():
        return emit("rearrange", input, out=out)
    if all(d == place or index.shape[d] == input.shape[d] for d in range(index.ndim)):
        return emit(name, input, index, src, out=out, **values)
    # Elements that no index reaches are equal in input and output.
    whole = emit("rearrange", input, out=out) if out is not input else input
    part = whole
    for d in range(index.ndim):
        if d != place and index.shape[d] != part.shape[d]:
            part = part.narrow(d, 0, index.shape[d])
    emit(name, part, index, src, out=part, **values)
    return whole


def _check_source(name: str, input: Tensor, src: Any) -> None:
    if isinstance(src, Tensor) and src.ndim and src.dtype is not input.dtype:
        raise TypeError(
            f"{name}: src has type {src.dtype!r}: expected that of input, {input.dtype!r}"
        )


_REDUCTIONS = {"none": 0, "add": 1, "multiply": 2, None: 0}


def scatter(
    input: Tensor,
    *args: Any,
    dim: int | None = None,
    index: Any = None,
    src: Any = None,
    value: Any = None,
    reduce: str | None = None,
    reduction: str = "none",
    out: Any = None,
) -> Tensor:
    """A copy with elements of `src` (a tensor or a number) written along a dimension, at the given
    indices: `scatter(input, dim, index, src)` or `scatter(input, index, src, dim)`. `reduce` "add"
    or "multiply" combines them with the existing values.

    >>> infinicore.scatter(infinicore.zeros(3), 0, infinicore.tensor([2]), 1.0)
    tensor([0., 0., 1.])
    """
    if len(args) == 4:
        *args, reduction = args  # type: ignore[assignment]
    src = value if src is None else src
    if len(args) == 3 and type(args[0]) is int:
        at, index, src = args
    else:
        given = {"dim": dim, "index": index, "src": src}
        at, index, src = _in_order("scatter", tuple(args), given, "dim index src")
    how = reduction if reduce is None else reduce
    expect(how in _REDUCTIONS, "scatter", "reduce", repr(how), "'add' or 'multiply'")
    _check_source("scatter", input, src)
    return _scatter(input, at, index, src, _REDUCTIONS[how], out=out)


def _scatter_in_place(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """Writes elements of `src` along a dimension, at the given indices."""
    return scatter(self, *args, out=self, **keywords)


setattr(Tensor, "scatter_", _scatter_in_place)  # noqa: B010


@with_checked_index
@function
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Any = None) -> Tensor:
    """A copy with elements of `src` added along a dimension, at the given indices.

    >>> x, i = infinicore.zeros(2), infinicore.tensor([1, 1])
    >>> infinicore.scatter_add(x, 0, i, infinicore.ones(2))
    tensor([0., 2.])
    """
    at, index = dim_of("scatter_add", input, dim), _index_of("scatter_add", index)
    _check_source("scatter_add", input, src)
    src = tensor_for(src, input.dtype, input.device)
    return _written("scatter_add", input, index, src, at, out, dim=at)


@with_checked_index
@function
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Any = None,
) -> Tensor:
    """A copy with elements of `src` reduced along a dimension, at the given indices: `reduce` is
    "sum", "prod", "mean", "amax" or "amin"; existing values are included if `include_self`.

    >>> x, i = infinicore.ones(2), infinicore.tensor([0, 0])
    >>> infinicore.scatter_reduce(x, 0, i, infinicore.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
    at, index = dim_of("scatter_reduce", input, dim), _index_of("scatter_reduce", index)
    src = tensor_for(src, input.dtype, input.device)
    return _written(
        "scatter_reduce",
        input,
        index,
        src,
        at,
        out,
        dim=at,
        reduce=reduce,
        include_self=include_self,
    )


def _line_of(name: str, index: Any) -> Tensor:
    index = _index_of(name, index)
    if index.ndim > 1:
        raise IndexError(f"{name}: index has {index.ndim} dimensions: expected 1")
    return index if index.ndim else index.view(1)


def _sources(name: str, input: Tensor, dim: int, index: Any, source: Any) -> Any:
    at, index = dim_of(name, input, dim), _line_of(name, index)
    source = tensor_for(source, input.dtype, input.device)
    sizes = [*input.shape]
    if input.ndim:
        sizes[at] = index.shape[0]
    is_one = source.numel() == 1 and index.shape[0] == 1 and input.ndim < 2
    if list(source.shape) != sizes and not is_one:
        raise RuntimeError(
            f"{name}: source has shape {tuple(source.shape)}: expected {tuple(sizes)}"
        )
    if not input.ndim or source.ndim != input.ndim:
        return at, index, input.reshape(input.numel()), source.reshape(1)
    return at, index, input, source


def _emit_index(
    name: str, input: Tensor, dim: int, index: Any, source: Any, out: Any, **values: Any
) -> Tensor:
    at, index, flat, source = _sources(name, input, dim, index, source)
    if not index.shape[0]:
        return emit("rearrange", input, out=out)
    flat, index, source = (each.contiguous() for each in (flat, index, source))
    is_direct = out is not None and out.is_contiguous() and flat.ndim == input.ndim
    made = emit(name, flat, index, source, dim=at, out=out if is_direct else None, **values)
    if is_direct:
        return out
    made = made if flat.ndim == input.ndim else made.view(())
    return made if out is None else emit("rearrange", made, out=out)


@with_checked_index
@function
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1.0, out: Any = None
) -> Tensor:
    """A copy with alpha * source added at the given indices of a dimension.

    >>> infinicore.index_add(infinicore.zeros(3), 0, infinicore.tensor([0, 0]), infinicore.ones(2))
    tensor([2., 0., 0.])
    """
    return _emit_index("index_add", input, dim, index, source, out, alpha=alpha)


@with_checked_index
@function
def index_copy(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Any = None
) -> Tensor:
    """A copy with source written at the given indices of a dimension.

    >>> infinicore.index_copy(infinicore.zeros(3), 0, infinicore.tensor([2]), infinicore.ones(1))
    tensor([0., 0., 1.])
    """
    return _emit_index("index_copy", input, dim, index, source, out)


@with_checked_index
@function
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Any = None,
) -> Tensor:
    """A copy with source reduced into the given indices of a dimension: `reduce` is "prod", "mean",
    "amax" or "amin"; existing values are included if `include_self`.

    >>> x, i = infinicore.ones(2), infinicore.tensor([0, 0])
    >>> infinicore.index_reduce(x, 0, i, infinicore.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
    return _emit_index(
        "index_reduce", input, dim, index, source, out, reduce=reduce, include_self=include_self
    )


@with_checked_index
@function
def index_fill(input: Tensor, dim: int, index: Tensor, value: Operand) -> Tensor:
    """A copy with one value at the given indices of a dimension.

    >>> infinicore.index_fill(infinicore.zeros(3), 0, infinicore.tensor([1]), 5)
    tensor([0., 5., 0.])
    """
    at, index = dim_of("index_fill", input, dim), _line_of("index_fill", index)
    sizes = list(input.shape)
    if sizes:
        sizes[at] = index.shape[0]
    value = tensor_for(value, input.dtype, input.device)
    return _emit_index(
        "index_copy", input, dim, index, value.expand(*sizes) if sizes else value, None
    )


def index_put(
    input: Tensor, indices: Any, values: Any, accumulate: bool = False, *, out: Any = None
) -> Tensor:
    """A copy with values written to the elements given by the indices; with `accumulate` they are
    added.

    >>> infinicore.index_put(infinicore.zeros(3), (infinicore.tensor([0, 2]),), 1.0)
    tensor([1., 0., 1.])
    """
    need_tensor("index_put", "input", input)
    target = input.clone() if out is None else out
    if out is not None:
        check_out_type("index_put", out, input.dtype)
    if out is not None and out is not input:
        out.copy_(input)
    return target.index_put_(indices, values, accumulate)
