"""Pooling: maxima, means and p-norms of windows or bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import batched, expect, sizes
from infinicore.functions._operands import exact_floats, wide_floats

Size = Any  # an integer, or one for each dimension


def _windows(
    name: str, rank: int, kernel_size: Size, stride: Size, padding: Size
) -> tuple[list[int], list[int], list[int]]:
    kernel = sizes(name, "kernel_size", kernel_size, rank, 1)
    given = stride is not None and stride != () and stride != []
    steps = sizes(name, "stride", stride, rank, 1) if given else kernel
    pads = sizes(name, "padding", padding, rank)
    for size, edge in zip(kernel, pads, strict=True):
        expect(2 * edge <= size, name, "padding", padding, f"at most half of {kernel_size}")
    return kernel, steps, pads


def _fits(
    name: str,
    x: Tensor,
    kernel: Sequence[int],
    pads: Sequence[int],
    gaps: Sequence[int] | None = None,
) -> None:
    for i, (size, wide_, edge) in enumerate(zip(x.shape[2:], kernel, pads, strict=True)):
        reach = (wide_ - 1) * (gaps[i] if gaps else 1) + 1
        expect(size + 2 * edge >= reach, name, f"size {i} of input's image", size, f"{reach}")


def _plain(result: Any, alone: bool) -> Any:
    if isinstance(result, tuple):
        return tuple(_plain(each, alone) for each in result)
    return result.squeeze(0) if alone else result


def _max(
    rank: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    name = f"max_pool{rank}d"
    x, alone = batched(name, input, rank)
    kernel, steps, pads = _windows(name, rank, kernel_size, stride, padding)
    gaps = sizes(name, "dilation", dilation, rank, 1)
    expect(all(x.shape[1:]), name, "input.shape", tuple(input.shape), "sizes of 1 or more")
    _fits(name, x, kernel, pads, gaps)
    result = emit(
        "max_pool_with_indices" if return_indices else "max_pool",
        exact_floats(x),
        kernel_size=kernel,
        stride=steps,
        padding=pads,
        dilation=gaps,
        ceil_mode=ceil_mode,
    )
    if return_indices:
        result = cast_to(result[0], x.dtype), result[1]
    else:
        result = cast_to(result, x.dtype)
    return _plain(result, alone)


def _named(body: Callable[..., Any], name: str, text: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = text
    return function(body)


def _max_pool(rank: int) -> Any:
    def body(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return _max(rank, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    return _named(
        body,
        f"max_pool{rank}d",
        f"""The largest element of each window of input {_shape(rank)}; with `return_indices` also
    its place in the image, counted row by row.

    >>> F.max_pool{rank}d({_example(rank)}, 2)
    {_result(rank, "1.")}
    """,
    )


def _shape(rank: int) -> str:
    spatial = ", ".join(("L",) if rank == 1 else ("D", "H", "W")[3 - rank :])
    return f"[N, C, {spatial}] or [C, {spatial}]"


def _example(rank: int) -> str:
    return f"infinicore.ones({', '.join(['1', *['2'] * rank])})"


def _result(rank: int, value: str) -> str:
    return f"tensor({'[' * (rank + 1)}{value}{']' * (rank + 1)})"


max_pool1d, max_pool2d, max_pool3d = (_max_pool(rank) for rank in (1, 2, 3))


def _avg(
    rank: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    name = f"avg_pool{rank}d"
    x, alone = batched(name, input, rank)
    kernel, steps, pads = _windows(name, rank, kernel_size, stride, padding)
    _fits(name, x, kernel, pads)
    if divisor_override is not None:
        expect(divisor_override != 0, name, "divisor_override", 0, "another number than 0")
    result = emit(
        "avg_pool",
        exact_floats(x),
        kernel_size=kernel,
        stride=steps,
        padding=pads,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=abs(divisor_override or 0),
    )
    if divisor_override is not None and divisor_override < 0:
        result = emit("neg", result)
    made: Tensor = _plain(cast_to(result, x.dtype), alone)
    return made


def _avg_pool(rank: int) -> Any:
    def body(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return _avg(
            rank,
            input,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )

    return _named(
        body,
        f"avg_pool{rank}d",
        f"""The mean of each window of input {_shape(rank)}; the zeros of the padding count too
    unless `count_include_pad` is false. `divisor_override` divides the sums instead of the counts.

    >>> F.avg_pool{rank}d({_example(rank)}, 2)
    {_result(rank, "1.")}
    """,
    )


avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(rank) for rank in (1, 2, 3))


def _lp_pool(rank: int) -> Any:
    name = f"lp_pool{rank}d"

    def body(
        input: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        expect(norm_type != 0, name, "norm_type", norm_type, "another number than 0")
        kernel = sizes(name, "kernel_size", kernel_size, rank, 1)
        count = 1
        for size in kernel:
            count *= size
        powers = emit("pow", wide_floats(input), float(norm_type))
        means = _avg(rank, powers, kernel_size, stride, 0, ceil_mode, True, None)
        sums = emit("mul", emit("mul", emit("sign", means), emit("abs", means)), float(count))
        return cast_to(emit("pow", sums, 1.0 / norm_type), input.dtype)

    return _named(
        body,
        name,
        f"""The p-norm (p is norm_type) of each window of input {_shape(rank)}.

    >>> F.lp_pool{rank}d({_example(rank)}, 1, 2)
    {_result(rank, f"{2**rank}.")}
    """,
    )


lp_pool1d, lp_pool2d, lp_pool3d = (_lp_pool(rank) for rank in (1, 2, 3))


def _bins(name: str, x: Tensor, output_size: Any, rank: int) -> list[int]:
    """Numbers of bins; None means the size of the input."""
    given = output_size
    if given is None or hasattr(given, "__index__"):
        given = [given] * rank
    given = list(given)
    if len(given) == 1:
        given = given * rank
    expect(len(given) == rank, name, "output_size", output_size, f"an integer or {rank} of them")
    made = [x.shape[2 + i] if each is None else each for i, each in enumerate(given)]
    return sizes(name, "output_size", made, rank)


def _adaptive_avg_pool(rank: int, default: Any) -> Any:
    name = f"adaptive_avg_pool{rank}d"

    def body(input: Tensor, output_size: Any = default) -> Any:
        x, alone = batched(name, input, rank)
        result = emit("adaptive_avg_pool", x, output_size=_bins(name, x, output_size, rank))
        return _plain(result, alone)

    return _named(body, name, _adaptive_text("mean", "avg", rank))


def _adaptive_max_pool(rank: int) -> Any:
    name = f"adaptive_max_pool{rank}d"

    def body(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        x, alone = batched(name, input, rank)
        operator = "adaptive_max_pool_with_indices" if return_indices else "adaptive_max_pool"
        return _plain(emit(operator, x, output_size=_bins(name, x, output_size, rank)), alone)

    return _named(body, name, _adaptive_text("largest element", "max", rank))


def _adaptive_text(what: str, kind: str, rank: int) -> str:
    return f"""The {what} of each of `output_size` bins of input {_shape(rank)}. A size that is None
    stays.

    >>> F.adaptive_{kind}_pool{rank}d({_example(rank)}, 1)
    {_result(rank, "1.")}
    """


adaptive_avg_pool1d = _adaptive_avg_pool(1, 1)

adaptive_avg_pool2d = _adaptive_avg_pool(2, (1, 1))

_adaptive_avg_pool3d = _adaptive_avg_pool(3, (1, 1, 1))


def adaptive_avg_pool3d(
    x: Tensor | None = None,
    output_size: Any = (1, 1, 1),
    *,
    input: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    # Called x here and input in torch: both names are accepted.
    result: Tensor = _adaptive_avg_pool3d(input if x is None else x, output_size, out=out)
    return result


adaptive_avg_pool3d.__doc__ = _adaptive_avg_pool3d.__doc__

adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    _adaptive_max_pool(rank) for rank in (1, 2, 3)
)
