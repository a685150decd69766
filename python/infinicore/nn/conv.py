"""Convolutions and batch normalisation. Weights are not initialised: load them from a
checkpoint."""

from __future__ import annotations

from typing import Any, ClassVar

from infinicore._creation import ones, zeros
from infinicore._dtype import int64
from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.layers import new_parameter
from infinicore.nn.module import Module
from infinicore.nn.parameter import Parameter

_RANKED = ("BatchNorm", "Conv", "ConvTranspose", "InstanceNorm")
__all__ = [f"{word}{n}d" for word in _RANKED for n in (1, 2, 3)]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _each(value: Any, rank: int) -> tuple[Any, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


class _Convolution(Module):
    """The base of all convolutions: a kernel [out, in / groups, *kernel_size]."""

    rank: ClassVar[int]
    transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        for label, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % groups:
                raise ValueError(f"{name}: {label} is {count}: expected a multiple of {groups}")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"{name}: padding_mode is {padding_mode!r}: expected one of"
                f" {', '.join(_PADDING_MODES)}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = _each(kernel_size, self.rank)
        self.stride, self.dilation = _each(stride, self.rank), _each(dilation, self.rank)
        self.padding: Any = padding if isinstance(padding, str) else _each(padding, self.rank)
        self.padding_mode = padding_mode
        channels = (out_channels, in_channels // groups)
        if self.transposed:
            channels = (in_channels, out_channels // groups)
        self.weight = new_parameter((*channels, *self.kernel_size), device, dtype)
        if bias:
            self.bias = new_parameter((out_channels,), device, dtype)
        else:
            self.register_parameter("bias", None)

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._around(), self.padding_mode), 0
        work = getattr(F, f"conv{self.rank}d")
        return work(  # type: ignore[no-any-return]
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def _around(self) -> list[int]:
        """The padding before and after each dimension, last dimension first."""
        if self.padding == "same":
            whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [side for size in whole[::-1] for side in (size // 2, size - size // 2)]
        sizes = (0,) * self.rank if self.padding == "valid" else self.padding
        return [size for size in sizes[::-1] for _ in range(2)]

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size},"
            f" stride={self.stride}"
        )
        if self.padding not in (0, (0,) * self.rank):
            text += f", padding={self.padding}"
        return text + ("" if self.bias is not None else ", bias=False")


class _Transposed(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}: padding_mode is {padding_mode!r}: expected 'zeros'"
            )
        super().__init__(
            *(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias),
            device=device,
            dtype=dtype,
        )
        self.output_padding = _each(output_padding, self.rank)

    def forward(self, input: Tensor) -> Tensor:
        work = getattr(F, f"conv_transpose{self.rank}d")
        return work(  # type: ignore[no-any-return]
            *(input, self.weight, self.bias, self.stride, self.padding, self.output_padding),
            *(self.groups, self.dilation),
        )


def _convolution(name: str, base: type, rank: int) -> Any:
    sizes = ", ".join(["N", "C", "D", "H", "W"][:2] + ["D", "H", "W"][3 - rank :])
    text = f"""A convolution over [{sizes}]{", transposed" if base is _Transposed else ""}.

    >>> infinicore.nn.{name}(2, 4, 3).out_channels
    4
    """
    return type(name, (base,), {"rank": rank, "__doc__": text, "__module__": __name__})


Conv1d, Conv2d, Conv3d = (_convolution(f"Conv{n}d", _Convolution, n) for n in (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (
    _convolution(f"ConvTranspose{n}d", _Transposed, n) for n in (1, 2, 3)
)


class _ChannelNorm(Module):
    """Normalises each channel by loaded statistics, or by those of the input."""

    rank: ClassVar[int]
    of_input: ClassVar[bool]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        kind = {"device": device, "dtype": dtype}
        weight = Parameter(ones(num_features, **kind)) if affine else None
        self.register_parameter("weight", weight)
        added = Parameter(zeros(num_features, **kind)) if affine and bias else None
        self.register_parameter("bias", added)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **kind) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **kind) if tracked else None)
        count = zeros((), dtype=int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self._ranks():
            raise ValueError(
                f"{type(self).__name__}: input has {input.ndim} dimensions: expected"
                f" {' or '.join(map(str, self._ranks()))}"
            )
        weights = (self.running_mean, self.running_var, self.weight, self.bias)
        by_input = self.running_mean is None
        if self.of_input:
            return F.instance_norm(input, *weights, use_input_stats=by_input, eps=self.eps)
        return F.batch_norm(input, *weights, training=by_input, eps=self.eps)

    def _ranks(self) -> tuple[int, ...]:
        if self.of_input:
            return self.rank + 1, self.rank + 2
        return (2, 3) if self.rank == 1 else (self.rank + 2,)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine},"
            f" track_running_stats={self.track_running_stats}"
        )


def _norm(name: str, rank: int, of_input: bool) -> Any:
    whose = "of each image" if of_input else "that were loaded"
    text = f"""Channels normalised by statistics {whose}.

    >>> infinicore.nn.{name}(4).num_features
    4
    """
    body: dict[str, Any] = {"rank": rank, "of_input": of_input, "__module__": __name__}
    if of_input:

        def init(
            self: Any,
            num_features: int,
            eps: float = 1e-5,
            momentum: float | None = 0.1,
            affine: bool = False,
            track_running_stats: bool = False,
            device: Any = None,
            dtype: Any = None,
            *,
            bias: bool = True,
        ) -> None:
            given = (num_features, eps, momentum, affine, track_running_stats, device, dtype)
            _ChannelNorm.__init__(self, *given, bias=bias)

        body["__init__"] = init
    return type(name, (_ChannelNorm,), {**body, "__doc__": text})


BatchNorm1d, BatchNorm2d, BatchNorm3d = (_norm(f"BatchNorm{n}d", n, False) for n in (1, 2, 3))
InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = (
    _norm(f"InstanceNorm{n}d", n, True) for n in (1, 2, 3)
)
