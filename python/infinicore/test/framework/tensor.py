"""Specifications of a case's tensors, and torch tensors created from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from libinfiniop._layout import check_layout, rearrange_tensor, span
from libinfiniop._values import initial, scaled
from libinfiniop.datatypes import InfiniDtype

from .datatypes import to_torch_dtype
from .devices import torch_device_map


class TensorInitializer:
    """Ways to fill a tensor.

    RANDOM takes `scale` and `bias`, RANDINT `low` and `high`, MANUAL and BINARY a torch tensor as
    `set_tensor`, FROM_FILE a `file_path`: .npy, .pt, or the bytes of the elements.
    """

    RANDOM = "random"
    ZEROS = "zeros"
    ONES = "ones"
    RANDINT = "randint"
    MANUAL = "manual"
    BINARY = "binary"
    FROM_FILE = "from_file"

    @staticmethod
    def create_tensor(
        shape: Sequence[int],
        dtype: Any,
        device: int,
        mode: str = RANDOM,
        strides: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A torch tensor. `dtype` is one of infinicore, `device` of InfiniDeviceEnum."""
        where, kind = torch_device_map[device], to_torch_dtype(dtype)
        if mode in ("manual", "binary", "from_file"):
            given = _loaded(kwargs, kind) if mode == "from_file" else kwargs.get("set_tensor")
            if given is None or list(given.shape) != list(shape):
                found = None if given is None else tuple(given.shape)
                raise ValueError(
                    f"TensorInitializer: mode is {mode!r} and the tensor has shape {found}: "
                    f"expected {tuple(shape)}"
                )
            given = given.to(where, kind).contiguous()
            return given if strides is None else rearrange_tensor(given, strides)
        if strides is not None:
            check_layout(shape, strides, "TensorInitializer")
        # With strides, the gaps between the elements are filled too.
        sizes = tuple(shape) if strides is None else (span(shape, strides),)
        number = InfiniDtype(int(dtype._underlying))
        made = initial(mode, sizes, number, where, kwargs.get("low"), kwargs.get("high"))
        if mode == TensorInitializer.RANDOM:
            made = scaled(made, kwargs.get("scale"), kwargs.get("bias"))
        return made if strides is None else made.as_strided(tuple(shape), tuple(strides))


def _loaded(kwargs: dict[str, Any], kind: Any) -> Any:
    import numpy as np
    import torch

    path = Path(kwargs["file_path"])
    if path.suffix == ".npy":
        return torch.from_numpy(np.load(path))
    if path.suffix in (".pt", ".pth"):
        return torch.load(path, weights_only=True)
    return torch.frombuffer(bytearray(path.read_bytes()), dtype=kind)


class TensorSpec:
    """A tensor of a case, or a number."""

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        strides: Sequence[int] | None = None,
        value: Any = None,
        is_scalar: bool = False,
        init_mode: str = TensorInitializer.RANDOM,
        **kwargs: Any,
    ) -> None:
        self.shape, self.dtype, self.strides = shape, dtype, strides
        self.value, self.is_scalar = value, is_scalar
        self.init_mode = init_mode
        self.kwargs = kwargs
        self.name: str | None = kwargs.get("name")

    @classmethod
    def from_tensor(
        cls,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        dtype: Any = None,
        init_mode: str = TensorInitializer.RANDOM,
        **kwargs: Any,
    ) -> TensorSpec:
        return cls(shape=shape, dtype=dtype, strides=strides, init_mode=init_mode, **kwargs)

    from_strided_tensor = from_tensor

    @classmethod
    def from_scalar(cls, value: Any, dtype: Any = None) -> TensorSpec:
        return cls(value=value, dtype=dtype, is_scalar=True)

    def create_torch_tensor(self, device: int) -> Any:
        """The number, or a torch tensor on a device of InfiniDeviceEnum."""
        if self.is_scalar:
            return self.value
        if self.shape is None:
            raise ValueError(f"TensorSpec: {self} has no shape")
        return TensorInitializer.create_tensor(
            self.shape, self.dtype, device, self.init_mode, self.strides, **self.kwargs
        )

    def is_tensor_input(self) -> bool:
        return not self.is_scalar

    def fill_name(self, name: str) -> None:
        self.name = self.name or name

    def __str__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        if self.is_scalar:
            return f"{name}{self.value}"
        kind = getattr(self.dtype, "_name", self.dtype)
        strides = f" strides {tuple(self.strides)}" if self.strides else ""
        return f"{name}{kind}{list(self.shape or [])}{strides}"
