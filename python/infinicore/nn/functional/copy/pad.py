"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

from infinicore import _core
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect

_MODES = ("constant", "reflect", "replicate", "circular")


@function
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Pad dimensions: `pad` lists (before, after), beginning with the last dimension; negative
    numbers crop. "constant" adds `value` (0), "reflect" the inner elements in reverse order,
    "replicate" the outermost element, "circular" those of the other end.

    >>> F.pad(infinicore.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    """
    name = "pad"
    expect(mode in _MODES, name, "mode", repr(mode), f"one of {_MODES}")
    ends = list(pad)
    expect(len(ends) % 2 == 0, name, "the length of pad", len(ends), "an even number")
    fits = len(ends) <= 2 * input.ndim
    expect(fits, name, "the length of pad", len(ends), f"{2 * input.ndim} at most")
    fits = mode == "constant" or value is None or value == 0
    expect(fits, name, "value", value, f"None with mode {mode!r}")
    shape = list(input.shape)
    for i in range(len(ends) // 2):
        before, after = ends[2 * i], ends[2 * i + 1]
        size = shape[-1 - i]
        if mode == "reflect":
            expect(max(before, after) < max(size, 1), name, "pad", pad, f"less than size {size}")
        elif mode == "circular":
            expect(max(before, after) <= size, name, "pad", pad, f"at most size {size}")
        elif mode == "replicate":
            expect(size > 0 or max(before, after) <= 0, name, "input", "empty", "some elements")
        shape[-1 - i] = size + before + after
        expect(shape[-1 - i] >= 0, name, "pad", pad, f"to leave something of size {size}")
    if not any(ends):
        return input.clone()
    if mode == "circular" and min(ends) < 0:  # cropped elements do not wrap around
        for i in range(len(ends) // 2):
            before, after = (min(each, 0) for each in ends[2 * i : 2 * i + 2])
            size = input.shape[-1 - i] + before + after
            input = input.narrow(input.ndim - 1 - i, -before, size)
        ends = [max(each, 0) for each in ends]
    room = _core.empty(tuple(shape), input.dtype, input.device)
    return emit("pad", input, out=room, pad=ends, mode=mode, value=float(value or 0))
