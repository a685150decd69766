"""Conversions between tensors of torch and of the package, which share memory where possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import infinicore
from libinfiniop._layout import rearrange_tensor
from libinfiniop._timing import synchronize_device

__all__ = [
    "clone_torch_tensor",
    "convert_infinicore_to_torch",
    "infinicore_tensor_from_torch",
    "is_broadcast",
    "is_complex_dtype",
    "is_floating_dtype",
    "is_integer_dtype",
    "rearrange_tensor",
    "synchronize_device",
]


def clone_torch_tensor(torch_tensor: Any) -> Any:
    """A copy with the same strides, even if elements share memory."""
    import torch

    if torch_tensor.is_contiguous():
        return torch_tensor.detach().clone()
    made = torch.empty(0, dtype=torch_tensor.dtype, device=torch_tensor.device)
    place = (torch_tensor.storage_offset(), torch_tensor.shape, torch_tensor.stride())
    return made.set_(torch_tensor.untyped_storage().clone(), *place)


def infinicore_tensor_from_torch(torch_tensor: Any) -> infinicore.Tensor:
    """A tensor of the package with the same memory and strides."""
    synchronize_device(torch_tensor.device.type)
    return infinicore.from_torch(torch_tensor)


def convert_infinicore_to_torch(infini_result: Any) -> Any:
    """The values as a torch tensor on the host."""
    import torch

    return torch.from_dlpack(infini_result.to("cpu").contiguous())


def is_broadcast(strides: Sequence[int] | None) -> bool:
    """Whether a tensor with these strides repeats elements."""
    return strides is not None and any(stride == 0 for stride in strides)


def is_integer_dtype(dtype: Any) -> bool:
    """Whether a torch dtype is an integer type or bool."""
    return not is_floating_dtype(dtype) and not is_complex_dtype(dtype)


def is_complex_dtype(dtype: Any) -> bool:
    return bool(dtype.is_complex)


def is_floating_dtype(dtype: Any) -> bool:
    return bool(dtype.is_floating_point)
