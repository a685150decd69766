"""Tensors for the C functions: a descriptor and data, and a torch tensor to compute with."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from libinfiniop import _memory
from libinfiniop._layout import check_layout, empty_strided, row_major, span
from libinfiniop._memory import DeviceBuffer
from libinfiniop._status import check_error
from libinfiniop._types import known, to_torch_dtype
from libinfiniop._values import initial, scaled
from libinfiniop.datatypes import InfiniDtype
from libinfiniop.devices import InfiniDeviceNames
from libinfiniop.liboperators import LIBINFINIOP
from libinfiniop.structs import infiniopHandle_t, infiniopTensorDescriptor_t

if TYPE_CHECKING:
    import torch


class CTensor:
    """A tensor's descriptor. It is destroyed by `destroy_desc`, or with this object."""

    def __init__(self, dt: Any, shape: Sequence[int], strides: Sequence[int] | None) -> None:
        name = type(self).__name__
        self.dt = known(dt, name)
        self.ndim = len(shape)
        if strides is not None and len(strides) != self.ndim:
            raise ValueError(f"{name}: {len(strides)} strides for a shape of {self.ndim} sizes")
        steps = row_major(shape) if strides is None else strides
        self.c_shape = (ctypes.c_size_t * self.ndim)(*shape)
        self.c_strides = (ctypes.c_ssize_t * self.ndim)(*steps)
        made = infiniopTensorDescriptor_t()
        check_error(
            LIBINFINIOP.infiniopCreateTensorDescriptor(
                ctypes.byref(made), self.ndim, self.c_shape, self.c_strides, self.dt
            )
        )
        self.descriptor: Any = made
        self._destroy = weakref.finalize(
            self, LIBINFINIOP.infiniopDestroyTensorDescriptor, self.descriptor
        )
        self._destroy.atexit = False

    def destroy_desc(self) -> None:
        """Destroy the descriptor; operators described with it remain valid. May be called twice."""
        status = self._destroy()
        self.descriptor = None
        if status:
            check_error(status)


class TestTensor(CTensor):
    """A tensor to test an operator with: its values are given by a mode, its memory is on a device,
    and it may have strides.

    >>> a = TestTensor((2, 3), None, InfiniDtype.F32, InfiniDeviceEnum.CPU)
    >>> b = TestTensor((2, 3), (1, 2), InfiniDtype.F16, InfiniDeviceEnum.CPU, mode="ones", scale=3)

    `torch_tensor()` has the values, to compute the expected result with; `descriptor` and `data()`
    are the arguments of a C function; `actual_tensor()` shows the contents of `data()`. A dimension
    with stride 0 has size 1 in both torch tensors.

    Modes: "random" (in [0, 1), or any integers), "zeros", "ones", "randint" (from `randint_low` up
    to but not including `randint_high`), "float8_e4m3fn" (random values of that type), "manual" and
    "binary" (the values of `set_tensor`). `scale` and `bias` are applied last.
    """

    __test__ = False  # not a class of tests

    def __init__(
        self,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        dt: Any,
        device: int,
        mode: str = "random",
        scale: Any = None,
        bias: Any = None,
        set_tensor: torch.Tensor | None = None,
        randint_low: int | None = None,
        randint_high: int | None = None,
    ) -> None:
        check_layout(shape, strides, "TestTensor")
        if not isinstance(device, int):
            raise TypeError(f"TestTensor: device is {device!r}: expected an InfiniDeviceEnum")
        self.shape = shape
        self.strides = strides
        self.device = device
        self.mode = mode
        self.dt = known(dt, "TestTensor")
        self._torch_device = _memory.torch_device_of(device)
        if mode in ("manual", "binary"):
            if set_tensor is None:
                raise ValueError(f"TestTensor: mode {mode} takes its values from set_tensor")
            values = self._as_mine(set_tensor, "TestTensor: set_tensor")
        elif set_tensor is not None:
            raise ValueError(f"TestTensor: set_tensor is for modes manual and binary, not {mode!r}")
        else:
            where = self._torch_device or "cpu"
            values = initial(mode, self._sizes(), self.dt, where, randint_low, randint_high)
        self._torch_tensor = scaled(values, scale, bias)
        self._storage, self._data_tensor = empty_strided(
            self._sizes(),
            self._steps(),
            self._torch_tensor.dtype,
            self._torch_device or "cpu",
            "TestTensor",
        )
        self._buffer: DeviceBuffer | None = None
        if self._torch_device is None:
            nbytes = self._storage.numel() * self._storage.element_size()
            self._buffer = DeviceBuffer(nbytes, device)
        super().__init__(self.dt, shape, strides)
        self._write()

    # ---- What tests use ----

    def torch_tensor(self) -> torch.Tensor:
        """The values for the reference."""
        return self._torch_tensor

    def actual_tensor(self) -> torch.Tensor:
        """The contents of the device memory: the same memory if torch can address it, else a
        copy."""
        if self._buffer is not None:
            self._buffer.read(self._storage.data_ptr())
        return self._data_tensor

    def data(self) -> int:
        """The address of the first element, in device memory."""
        return self._storage.data_ptr() if self._buffer is None else self._buffer.address

    def is_broadcast(self) -> bool:
        """Whether a dimension has stride 0."""
        return self.strides is not None and 0 in self.strides

    def update_torch_tensor(self, new_tensor: torch.Tensor) -> None:
        """Replace the values of `torch_tensor()`; device memory is unchanged."""
        import torch

        if not isinstance(new_tensor, torch.Tensor):
            raise TypeError(f"update_torch_tensor: expected a torch.Tensor, got {new_tensor!r}")
        self._torch_tensor = new_tensor

    def set_tensor(self, new_tensor: torch.Tensor) -> None:
        """Replace the values, also in device memory. Address, shape and strides are unchanged."""
        self._torch_tensor = self._as_mine(new_tensor, "set_tensor: new_tensor")
        self._write()

    @staticmethod
    def from_torch(torch_tensor: torch.Tensor, dt: Any, device: int) -> TestTensor:
        """A tensor with the values, the shape and the strides of a torch tensor."""
        return TestTensor(
            list(torch_tensor.shape),
            list(torch_tensor.stride()),
            dt,
            device,
            mode="manual",
            set_tensor=torch_tensor,
        )

    @staticmethod
    def from_binary(
        binary_file: str | os.PathLike[str],
        shape: Sequence[int],
        strides: Sequence[int] | None,
        dt: Any,
        device: int,
    ) -> TestTensor:
        """A tensor from the raw elements in a file, which are stored with the given strides."""
        import torch

        check_layout(shape, strides, "from_binary")
        sizes, steps = _addressed(shape, strides)
        dtype = to_torch_dtype(known(dt, "from_binary"))
        needed = span(sizes, steps) * torch.empty(0, dtype=dtype).element_size()
        content = bytearray(Path(binary_file).read_bytes())
        if len(content) < needed:
            raise ValueError(
                f"from_binary: {os.fspath(binary_file)} has {len(content)} bytes: expected "
                f"{needed} for shape {tuple(shape)}, strides {tuple(steps)}, {known(dt, '').name}"
            )
        raw = torch.frombuffer(content[:needed] or bytearray(16), dtype=torch.uint8).view(dtype)
        values = raw.as_strided(tuple(sizes), tuple(steps))
        return TestTensor(shape, strides, dt, device, mode="binary", set_tensor=values)

    def __repr__(self) -> str:
        strides = "" if self.strides is None else f", strides {tuple(self.strides)}"
        where = InfiniDeviceNames.get(self.device, f"device type {self.device}")
        return f"<TestTensor {self.dt.name} {tuple(self.shape)}{strides} on {where}>"

    # ---- Inside ----

    def _sizes(self) -> list[int]:
        return _addressed(self.shape, self.strides)[0]

    def _steps(self) -> list[int]:
        return _addressed(self.shape, self.strides)[1]

    def _as_mine(self, tensor: torch.Tensor, what: str) -> torch.Tensor:
        """A tensor converted to this data type and torch device, with size 1 where this one has
        stride 0."""
        import torch

        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{what} is {tensor!r}: expected a torch.Tensor")
        wanted = self._sizes()
        for dim, size in enumerate(wanted[: tensor.ndim]):
            if size == 1 and tensor.shape[dim] > 1 and tensor.stride(dim) == 0:
                tensor = tensor.narrow(dim, 0, 1)  # expanded: all the same element
        if list(tensor.shape) != wanted:
            raise ValueError(
                f"{what} has shape {tuple(tensor.shape)}: expected {tuple(wanted)}"
                + (" (1 where the stride is 0)" if self.is_broadcast() else "")
            )
        return tensor.to(self._torch_device or "cpu").to(to_torch_dtype(self.dt))

    def _write(self) -> None:
        self._data_tensor.copy_(self._torch_tensor)
        if self._buffer is not None:
            self._buffer.write(self._storage.data_ptr())


def _addressed(shape: Sequence[int], strides: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """Shape and strides of the memory: one element along a dimension of stride 0."""
    if strides is None:
        return list(shape), row_major(shape)
    sizes = [min(size, 1) if step == 0 else size for size, step in zip(shape, strides, strict=True)]
    return sizes, [step or 1 for step in strides]


class TestWorkspace:
    """Workspace memory for an operator.

    >>> workspace = TestWorkspace(workspace_size.value, device)
    >>> LIBINFINIOP.infiniopGemm(descriptor, workspace.data(), workspace.size(), ...)
    """

    __test__ = False  # not a class of tests

    def __init__(self, size: int, device: int) -> None:
        if size < 0:
            raise ValueError(f"TestWorkspace: size is {size}: expected a number of bytes")
        self._size = size
        self.tensor: TestTensor | None = None
        if size:
            # Not zeros: an operator must not rely on the contents.
            self.tensor = TestTensor((size,), None, InfiniDtype.U8, device, mode="ones")

    def data(self) -> int | None:
        """Its address, None when it has no bytes."""
        return self.tensor.data() if self.tensor is not None else None

    def size(self) -> ctypes.c_uint64:
        """Its size in bytes."""
        return ctypes.c_uint64(self._size)


def create_handle() -> Any:
    """A handle for this thread's current device."""
    handle = infiniopHandle_t()
    check_error(LIBINFINIOP.infiniopCreateHandle(ctypes.byref(handle)))
    return handle


def destroy_handle(handle: Any) -> None:
    """Destroy a handle; operators described with it remain valid."""
    check_error(LIBINFINIOP.infiniopDestroyHandle(handle))
