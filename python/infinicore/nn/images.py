"""Image modules: resizing, max unpooling, and normalisation across channels."""

from __future__ import annotations

from typing import Any, ClassVar

import infinicore
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_rank
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.module import Module

__all__ = [
    "CrossMapLRN2d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class _MaxUnpool(Module):
    rank: ClassVar[int]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        steps = kernel_size if stride is None else stride
        self.kernel_size, self.stride = self._each(kernel_size), self._each(steps)
        self.padding = self._each(padding)

    def _each(self, value: Any) -> tuple[int, ...]:
        return (value,) * self.rank if isinstance(value, int) else tuple(value)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        work = getattr(F, f"max_unpool{self.rank}d")
        given = (self.kernel_size, self.stride, self.padding, output_size)
        return work(input, indices, *given)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


def _unpool(rank: int) -> Any:
    name = f"MaxUnpool{rank}d"
    text = f"""Elements of a pool, back at the indices that `MaxPool{rank}d` gave; 0 elsewhere.

    >>> infinicore.nn.{name}(2).kernel_size
    {(2,) * rank}
    """
    return type(name, (_MaxUnpool,), {"rank": rank, "__doc__": text, "__module__": __name__})


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = _unpool(1), _unpool(2), _unpool(3)


class _Upsampling(Module):
    mode: ClassVar[str]
    align_corners: ClassVar[bool | None] = None

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__()
        self.size = size
        if isinstance(scale_factor, (tuple, list)):
            self.scale_factor: Any = tuple(map(float, scale_factor))
        else:
            self.scale_factor = None if scale_factor is None else float(scale_factor)

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        if self.scale_factor is None:
            return f"size={self.size!r}, mode={self.mode!r}"
        return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"


class UpsamplingNearest2d(_Upsampling):
    """Resizes images [N, C, H, W] by nearest-neighbour interpolation.

    >>> infinicore.nn.UpsamplingNearest2d(scale_factor=2)(infinicore.ones(1, 1, 1, 1)).shape
    infinicore.Size([1, 1, 2, 2])
    """

    mode = "nearest"


class UpsamplingBilinear2d(_Upsampling):
    """Resizes images [N, C, H, W] by bilinear interpolation with aligned corners.

    >>> infinicore.nn.UpsamplingBilinear2d(scale_factor=2)(infinicore.ones(1, 1, 1, 1)).shape
    infinicore.Size([1, 1, 2, 2])
    """

    mode = "bilinear"
    align_corners = True


class CrossMapLRN2d(Module):
    """Elements of images [N, C, H, W] divided by (k + alpha / size * sum of squares) ** beta, with
    the sum over neighbouring channels. As in torch, the first channel stays in all sums.

    >>> infinicore.nn.CrossMapLRN2d(3)
    CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        need_rank("CrossMapLRN2d", "input", input, 4, error=ValueError)
        side, channels = (self.size - 1) // 2, input.shape[1]
        squares = input * input
        running = squares.cumsum(1)
        places = infinicore.arange(channels, device=input.device)
        last, before = (places + side).clamp_max(channels - 1), (places - side - 1).clamp_min(0)
        left_out = running.index_select(1, before) - squares.narrow(1, 0, 1)
        total = running.index_select(1, last) - left_out
        return input * (total * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
