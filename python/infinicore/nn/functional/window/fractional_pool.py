"""Fractional max pooling, and max unpooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from infinicore import _core
from infinicore._dtype import int64
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import batched, expect, expect_shape, sizes
from infinicore.functions._index_checks import check_indices, with_check
from infinicore.functions._operands import filled


def _named(body: Callable[..., Any], name: str, text: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = text
    return function(body)


def _fractional(rank: int) -> Any:
    name = f"fractional_max_pool{rank}d"

    def body(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        x, alone = batched(name, input, rank)
        kernel = sizes(name, "kernel_size", kernel_size, rank, 1)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name}: expected one of output_size and output_ratio")
        if output_size is None:
            ratios = list(output_ratio) if isinstance(output_ratio, (tuple, list)) else None
            ratios = ratios or [output_ratio] * rank
            fits = len(ratios) == rank and all(0 < each < 1 for each in ratios)
            expect(fits, name, "output_ratio", output_ratio, "numbers between 0 and 1")
            output_size = [int(s * r) for s, r in zip(x.shape[2:], ratios, strict=True)]
        counts = sizes(name, "output_size", output_size, rank, 1)
        for i, (size, width, count) in enumerate(zip(x.shape[2:], kernel, counts, strict=True)):
            fits = count + width - 1 <= size
            expect(fits, name, f"size {i} of input's image", size, f"{count + width - 1} or more")
        samples = _random_samples
        if samples is None:
            samples = _core.empty((*x.shape[:2], rank), x.dtype, x.device)
            emit("random_uniform", out=samples, seed=0, offset=0, low=0.0, high=1.0)
        else:
            samples = cast_to(samples, x.dtype)
            if samples.ndim == 2:
                samples = samples.unsqueeze(0)
            samples = samples.expand(*x.shape[:2], rank)
        values, indices = emit(
            "fractional_max_pool", x, samples, kernel_size=kernel, output_size=counts
        )
        if alone:
            values, indices = values.squeeze(0), indices.squeeze(0)
        return (values, indices) if return_indices else values

    ones = ", ".join(["1", *["3"] * rank])
    return _named(
        body,
        name,
        f"""The largest elements of windows that lie at random distances. Give `output_size`, or
    `output_ratio` of the input's sizes.

    >>> F.fractional_max_pool{rank}d(infinicore.ones({ones}), 2, output_size=1)
    tensor({"[" * (rank + 1)}1.{"]" * (rank + 1)})
    """,
    )


fractional_max_pool2d, fractional_max_pool3d = _fractional(2), _fractional(3)


def _unpool(rank: int) -> Any:
    name = f"max_unpool{rank}d"

    def room_of(
        x: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
    ) -> list[int]:
        """The spatial sizes of the result."""
        if output_size is not None:
            return sizes(name, "output_size", list(output_size)[-rank:], rank)
        kernel = sizes(name, "kernel_size", kernel_size, rank, 1)
        steps = kernel if stride is None else sizes(name, "stride", stride, rank, 1)
        pads = sizes(name, "padding", padding, rank)
        return [
            (size - 1) * step - 2 * edge + width
            for size, step, edge, width in zip(x.shape[-rank:], steps, pads, kernel, strict=True)
        ]

    def check(
        input: Any = None,
        indices: Any = None,
        kernel_size: Any = 1,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
        **_: Any,
    ) -> None:
        if isinstance(input, Tensor) and input.ndim > rank:
            room = room_of(input, kernel_size, stride, padding, output_size)
            check_indices(name, indices, math.prod(room), input.ndim - rank)

    def body(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Any:
        x, alone = batched(name, input, rank)
        fits = tuple(indices.shape) == tuple(input.shape)
        expect_shape(fits, name, "indices", indices, f"that of input, {tuple(input.shape)}")
        room = room_of(x, kernel_size, stride, padding, output_size)
        count = math.prod(room)
        rows, channels = x.shape[:2]
        places = cast_to(indices, int64).reshape(rows, channels, -1)
        zeros = filled((rows, channels, count), 0.0, x.dtype, x)
        made = emit("scatter", zeros, places, x.reshape(rows, channels, -1), axis=2, out=zeros)
        return made.view(*x.shape[1 if alone else 0 : 2], *room)

    example = ", ".join(["1"] * (rank + 1))
    made = _named(
        body,
        name,
        f"""Elements of a pool, back at the `indices` that `max_pool{rank}d` gave; 0 elsewhere.

    >>> x, zero = infinicore.ones({example}), infinicore.zeros({example}, dtype=infinicore.int64)
    >>> F.max_unpool{rank}d(x, zero, 1)
    tensor({"[" * (rank + 1)}1.{"]" * (rank + 1)})
    """,
    )
    return with_check(check)(made)


max_unpool1d, max_unpool2d, max_unpool3d = (_unpool(rank) for rank in (1, 2, 3))
