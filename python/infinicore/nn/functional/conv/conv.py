"""Convolutions and their transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import infinicore
from infinicore import _core
from infinicore._dtype import category
from infinicore._emit import cast_to, emit, result_type
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import batched, expect, expect_shape, need_tensor, sizes
from infinicore.functions._operands import exact_floats


def _named(body: Callable[..., Any], name: str, text: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = text
    return function(body)


def _operands(
    name: str, input: Tensor, weight: Tensor, bias: Tensor | None, rank: int, outputs: int
) -> tuple[Tensor, Tensor, Tensor | None, bool]:
    """Checks input, weight and bias, of one floating-point type, and makes them contiguous;
    `outputs` is the number of bias elements."""
    x, alone = batched(name, input, rank)
    expect(weight.ndim == rank + 2, name, "weight.ndim", weight.ndim, f"{rank + 2}")
    if bias is not None:
        expect_shape(tuple(bias.shape) == (outputs,), name, "bias", bias, f"[{outputs}]")
    kind = result_type(input, weight)
    if bias is not None and category(bias.dtype) > max(category(kind), 1):
        raise TypeError(f"{name}: bias has type {bias.dtype!r}: expected that of input, {kind!r}")
    made = [exact_floats(cast_to(each, kind)).contiguous() for each in (x, weight)]
    shift = None if bias is None else exact_floats(cast_to(bias, kind)).contiguous()
    return made[0], made[1], shift, alone


def _conv(rank: int) -> Any:
    name = f"conv{rank}d"

    def body(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        need_tensor(name, "weight", weight)
        x, w, b, alone = _operands(name, input, weight, bias, rank, weight.shape[0])
        expect(groups >= 1, name, "groups", groups, "1 or more")
        fits = x.shape[1] == w.shape[1] * groups
        expect(fits, name, "the number of input's channels", x.shape[1], f"{w.shape[1] * groups}")
        expect(w.shape[0] % groups == 0, name, "groups", groups, f"a divisor of {w.shape[0]}")
        steps = sizes(name, "stride", stride, rank, 1)
        gaps = sizes(name, "dilation", dilation, rank, 1)
        x, pads = _padded(name, x, w, padding, steps, gaps, rank)
        for i, (size, width, edge, gap) in enumerate(
            zip(x.shape[2:], w.shape[2:], pads, gaps, strict=True)
        ):
            reach = gap * (width - 1) + 1
            found = size + 2 * edge
            expect(found >= reach, name, f"padded size {i} of input's image", found, f"{reach}")
        values: dict[str, Any] = {"pads": pads, "strides": steps, "dilations": gaps}
        if groups == 1:
            result = emit("conv", x, w, b, **values)
        else:
            result = emit("grouped_conv", x, w, b, groups=groups, **values)
        result = cast_to(result, result_type(input, weight))
        return result.squeeze(0) if alone else result

    return _named(
        body,
        name,
        f"""Convolution of input {_shape(rank, "C")} with weight [M, C / groups, ...], plus bias
    [M]. `padding` is a number for all dimensions, one for each, "valid" or "same".

    >>> F.conv{rank}d({_ones(1, rank)}, {_ones(2, rank)})
    tensor({"[" * (rank + 1)}{2**rank}.{"]" * (rank + 1)})
    """,
    )


def _shape(rank: int, channels: str) -> str:
    spatial = ", ".join(("L",) if rank == 1 else ("D", "H", "W")[3 - rank :])
    return f"[N, {channels}, {spatial}] or [{channels}, {spatial}]"


def _ones(lead: int, rank: int, size: str = "2") -> str:
    return f"infinicore.ones({', '.join([*['1'] * lead, *[size] * rank])})"


def _padded(
    name: str, x: Tensor, w: Tensor, padding: Any, steps: list[int], gaps: list[int], rank: int
) -> tuple[Tensor, list[int]]:
    """The input, padded if the two sides differ, and the padding that remains for the operator."""
    if not isinstance(padding, str):
        return x, sizes(name, "padding", padding, rank)
    if padding == "valid":
        return x, [0] * rank
    expect(padding == "same", name, "padding", repr(padding), "integers, 'valid' or 'same'")
    expect(all(s == 1 for s in steps), name, "stride", steps, "1 with padding 'same'")
    totals = [gap * (width - 1) for gap, width in zip(gaps, w.shape[2:], strict=True)]
    if all(total % 2 == 0 for total in totals):
        return x, [total // 2 for total in totals]
    ends: list[int] = []
    for total in reversed(totals):
        ends += [total // 2, total - total // 2]
    shape = [size + total for size, total in zip(x.shape[2:], totals, strict=True)]
    room = _core.empty((*x.shape[:2], *shape), x.dtype, x.device)
    return emit("pad", x, out=room, pad=ends, mode="constant", value=0.0), [0] * rank


conv1d, conv2d, conv3d = (_conv(rank) for rank in (1, 2, 3))


def _conv_transpose(rank: int) -> Any:
    name = f"conv_transpose{rank}d"

    def body(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        need_tensor(name, "weight", weight)
        expect(groups >= 1, name, "groups", groups, "1 or more")
        expect(weight.ndim == rank + 2, name, "weight.ndim", weight.ndim, f"{rank + 2}")
        outputs = weight.shape[1] * groups
        x, w, b, alone = _operands(name, input, weight, bias, rank, outputs)
        fits = x.shape[1] == w.shape[0]
        expect(fits, name, "the number of input's channels", x.shape[1], f"{w.shape[0]}")
        expect(w.shape[0] % groups == 0, name, "groups", groups, f"a divisor of {w.shape[0]}")
        steps = sizes(name, "stride", stride, rank, 1)
        gaps = sizes(name, "dilation", dilation, rank, 1)
        more = sizes(name, "output_padding", output_padding, rank)
        for extra, step, gap in zip(more, steps, gaps, strict=True):
            fits = extra < max(step, gap)
            expect(fits, name, "output_padding", output_padding, "less than stride or dilation")
        result = emit(
            "conv_transpose",
            x,
            w,
            b,
            pads=sizes(name, "padding", padding, rank),
            strides=steps,
            dilations=gaps,
            output_pads=more,
            groups=groups,
        )
        result = cast_to(result, result_type(input, weight))
        return result.squeeze(0) if alone else result

    return _named(
        body,
        name,
        f"""What a convolution's gradient does to its input: input {_shape(rank, "C")}, weight
    [C, M / groups, ...], bias [M].

    >>> F.conv_transpose{rank}d({_ones(1, rank, "1")}, {_ones(2, rank, "1")})
    tensor({"[" * (rank + 1)}1.{"]" * (rank + 1)})
    """,
    )


conv_transpose1d, conv_transpose2d, conv_transpose3d = (_conv_transpose(r) for r in (1, 2, 3))


@function
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over input [T, N, C_in] with weight [K, C_in, C_out] and bias [C_out].

    >>> one = infinicore.ones(2, 1, 1)
    >>> F.conv_tbc(one, one, infinicore.zeros(1)).flatten()
    tensor([2.])
    """
    expect(input.ndim == 3, "conv_tbc", "input.ndim", input.ndim, "3")
    expect(weight.ndim == 3, "conv_tbc", "weight.ndim", weight.ndim, "3")
    made = infinicore.nn.functional.conv1d(
        input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad
    )
    return made.permute(2, 0, 1)
