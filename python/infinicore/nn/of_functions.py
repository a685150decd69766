"""Modules without weights, generated from functions: a module holds the arguments of a call.

A row of the table is the module's name, the function's, and the parameters of the module, in
torch's order: `name` or `name=default`. They are passed to the function by name.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.module import Module

__all__ = ["Flatten", "Unflatten"]

_TABLE = """
AdaptiveAvgPool{n}d  adaptive_avg_pool{n}d  output_size
AdaptiveMaxPool{n}d  adaptive_max_pool{n}d  output_size return_indices=False
AvgPool1d  avg_pool1d  kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True
AvgPool2d  avg_pool2d  kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True divisor_override=None
AvgPool3d  avg_pool3d  kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True divisor_override=None
MaxPool{n}d  max_pool{n}d  kernel_size stride=None padding=0 dilation=1 return_indices=False ceil_mode=False
LPPool1d  lp_pool1d  norm_type kernel_size stride=None ceil_mode=False
LPPool2d  lp_pool2d  norm_type kernel_size stride=None ceil_mode=False
LPPool3d  lp_pool3d  norm_type kernel_size stride=None ceil_mode=False
FractionalMaxPool2d  fractional_max_pool2d  kernel_size output_size=None output_ratio=None return_indices=False _random_samples=None
FractionalMaxPool3d  fractional_max_pool3d  kernel_size output_size=None output_ratio=None return_indices=False _random_samples=None
ReLU  relu  inplace=False
SiLU  silu  inplace=False
Sigmoid  sigmoid
Tanh  tanh
GELU  gelu  approximate='none'
Softmax  softmax  dim=-1
CELU  celu  alpha=1.0 inplace=False
ELU  elu  alpha=1.0 inplace=False
GLU  glu  dim=-1
Hardshrink  hardshrink  lambd=0.5
Hardsigmoid  hardsigmoid  inplace=False
Hardswish  hardswish  inplace=False
Hardtanh  hardtanh  min_val=-1.0 max_val=1.0 inplace=False
LeakyReLU  leaky_relu  negative_slope=0.01 inplace=False
LogSigmoid  logsigmoid
LogSoftmax  log_softmax  dim=None
Mish  mish  inplace=False
PixelShuffle  pixel_shuffle  upscale_factor
PixelUnshuffle  pixel_unshuffle  downscale_factor
ChannelShuffle  channel_shuffle  groups
ReLU6  relu6  inplace=False
SELU  selu  inplace=False
Softmin  softmin  dim=None
Softplus  softplus  beta=1.0 threshold=20.0
Softshrink  softshrink  lambd=0.5
Softsign  softsign
Tanhshrink  tanhshrink
Threshold  threshold  threshold value inplace=False
LocalResponseNorm  local_response_norm  size alpha=0.0001 beta=0.75 k=1.0
Upsample  interpolate  size=None scale_factor=None mode='nearest' align_corners=None recompute_scale_factor=None
Fold  fold  output_size kernel_size dilation=1 padding=0 stride=1
Unfold  unfold  kernel_size dilation=1 padding=0 stride=1
CosineSimilarity  cosine_similarity  dim=1 eps=1e-08
PairwiseDistance  pairwise_distance  p=2.0 eps=1e-06 keepdim=False
"""  # noqa: E501


def signature_of(words: list[str]) -> inspect.Signature:
    """Parses parameters `name` or `name=default`; those after `*` are keyword-only."""
    parameters: list[inspect.Parameter] = []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for word in words:
        label, has_default, text = word.partition("=")
        if label == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = ast.literal_eval(text) if has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(label, kind, default=default))
    return inspect.Signature(parameters)


def bound_to(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The value of each parameter in a call."""
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _module(name: str, function: str, words: list[str]) -> Any:
    work, signature = getattr(F, function), signature_of(words)
    parameters = list(signature.parameters.values())

    def init(self: Any, *args: Any, **keywords: Any) -> None:
        Module.__init__(self)
        for label, value in bound_to(name, signature, args, keywords).items():
            setattr(self, label, value)

    def forward(self: Any, *inputs: Tensor) -> Any:
        return work(*inputs, **{each.name: getattr(self, each.name) for each in parameters})

    def extra_repr(self: Any) -> str:
        shown = {each.name: getattr(self, each.name) for each in parameters}
        if not shown.get("inplace"):
            shown.pop("inplace", None)
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())

    init.__signature__ = signature_of(["self", *words])  # type: ignore[attr-defined]
    body = {"__init__": init, "forward": forward, "extra_repr": extra_repr, "__module__": __name__}
    text = f"`functional.{function}` as a module."
    return type(name, (Module,), {**body, "__doc__": text})


def _modules() -> dict[str, Any]:
    made = {}
    for line in _TABLE.strip().splitlines():
        for n in "123" if "{n}" in line else " ":
            name, function, *words = line.replace("{n}", n).split()
            made[name] = _module(name, function, words)
    return made


MODULES = _modules()
globals().update(MODULES)


class _Pad(Module):
    """The padding before and after the last dimensions."""

    rank: int
    mode: str
    value: float | None = None

    def __init__(self, padding: Any, value: float | None = None) -> None:
        super().__init__()
        sides = 2 * self.rank
        self.padding = (padding,) * sides if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != sides:
            raise ValueError(f"{type(self).__name__}: expected {sides} sizes of padding")
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


_PADS = {"Constant": "constant", "Zero": "constant", "Reflection": "reflect"}
_PADS |= {"Replication": "replicate", "Circular": "circular"}
for _word, _mode in _PADS.items():
    for _rank in (1, 2, 3):
        _name = f"{_word}Pad{_rank}d"
        _text = f"The last {_rank} dimensions padded: {_mode}."
        MODULES[_name] = type(
            _name,
            (_Pad,),
            {"rank": _rank, "mode": _mode, "__doc__": _text, "__module__": __name__},
        )
globals().update(MODULES)


class Flatten(Module):
    """Merges adjacent dimensions into one.

    >>> infinicore.nn.Flatten()(infinicore.ones(2, 3, 4)).shape
    infinicore.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits a dimension into several.

    >>> infinicore.nn.Unflatten(1, (2, 2))(infinicore.ones(3, 4)).shape
    infinicore.Size([3, 2, 2])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
