"""Shapes and strides, and torch tensors with given strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def row_major(shape: Sequence[int]) -> list[int]:
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * max(shape[i + 1], 1)
    return strides


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The number of elements spanned, from the first to the last."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def check_layout(shape: Sequence[int], strides: Sequence[int] | None, function: str) -> None:
    if any(size < 0 for size in shape):
        raise ValueError(f"{function}: shape is {tuple(shape)}: expected no negative sizes")
    if strides is None:
        return
    if len(strides) != len(shape):
        raise ValueError(
            f"{function}: strides is {tuple(strides)}: expected as many as shape {tuple(shape)} has"
        )
    if any(stride < 0 for stride in strides):
        raise ValueError(f"{function}: strides is {tuple(strides)}: torch has no negative strides")


def empty_strided(
    shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype, device: str, function: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """(storage, view): the elements of `view` have the strides; zeros lie between them."""
    import torch

    if _overlapping(shape, strides):
        raise ValueError(
            f"{function}: with strides {tuple(strides)}, elements of shape {tuple(shape)} would "
            "share memory"
        )
    # Zeros are created as bytes, because not every type supports them.
    nbytes = span(shape, strides) * torch.empty(0, dtype=dtype).element_size()
    storage = torch.zeros(nbytes, dtype=torch.uint8, device=device).view(dtype)
    return storage, storage.as_strided(tuple(shape), tuple(strides))


def _overlapping(shape: Sequence[int], strides: Sequence[int]) -> bool:
    import torch

    reached = 0
    nested = True  # each dimension steps over all inner ones
    steps = sorted(zip(strides, shape, strict=True))
    if any(size == 0 for size in shape):
        return False
    for stride, size in steps:
        if size > 1:
            nested = nested and stride > reached
            reached += (size - 1) * stride
    if nested:
        return False
    places = torch.zeros(1, dtype=torch.int64)
    for stride, size in steps:
        places = (places[:, None] + torch.arange(size) * stride).reshape(-1)
    return bool((places.sort().values.diff() == 0).any())


def rearrange_tensor(tensor: torch.Tensor, new_strides: Sequence[int]) -> torch.Tensor:
    """A copy of a tensor with the given strides (in elements).

    >>> rearrange_tensor(torch.ones(2, 3), [1, 2]).stride()
    (1, 2)
    """
    check_layout(tensor.shape, new_strides, "rearrange_tensor")
    _, view = empty_strided(
        tensor.shape, new_strides, tensor.dtype, str(tensor.device), "rearrange_tensor"
    )
    view.copy_(tensor)
    return view
