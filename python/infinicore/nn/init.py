"""Initialisation of weights, with torch's names: the functions fill a tensor and return it.

    infinicore.nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")

The distributions are torch's; the numbers are those of this package's generators.
"""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore._modules import own_names
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_rank

_LINEAR = ["linear", "sigmoid"]
_LINEAR += [f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)]
_GAINS = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4, **dict.fromkeys(_LINEAR, 1.0)}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain for a nonlinearity, which compensates for its effect on the deviation.

    >>> infinicore.nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"calculate_gain: param is {param!r}: expected a number")
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        known = ", ".join([*_GAINS, "leaky_relu"])
        raise ValueError(
            f"calculate_gain: nonlinearity is {nonlinearity!r}: expected one of {known}"
        )
    return _GAINS[nonlinearity]


# ---- One value or one distribution --------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform random numbers between a and b.

    >>> infinicore.nn.init.uniform_(infinicore.empty(2), 3.0, 3.0)
    tensor([3., 3.])
    """
    return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal random numbers.

    >>> infinicore.nn.init.normal_(infinicore.empty(2), 3.0, 0.0)
    tensor([3., 3.])
    """
    return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with random numbers from a normal distribution truncated to [a, b].

    >>> bool((infinicore.nn.init.trunc_normal_(infinicore.empty(9)).abs() <= 2).all())
    True
    """
    expect(a < b, "trunc_normal_", "b", b, f"more than a, {a}")
    low, high = (math.erf((end - mean) / (std * math.sqrt(2))) for end in (a, b))
    wide = infinicore.empty(tensor.shape, dtype=infinicore.float64, device=tensor.device)
    wide.uniform_(low, high, generator=generator)
    made = infinicore.erfinv(wide) * (std * math.sqrt(2)) + mean
    return tensor.copy_(made.clamp(a, b))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    >>> infinicore.nn.init.constant_(infinicore.empty(2), 7.0)
    tensor([7., 7.])
    """
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> infinicore.nn.init.ones_(infinicore.empty(2))
    tensor([1., 1.])
    """
    return tensor.fill_(1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> infinicore.nn.init.zeros_(infinicore.empty(2))
    tensor([0., 0.])
    """
    return tensor.zero_()


# ---- Layers that preserve their input
# ---------------------------------------------------------------


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere.

    >>> infinicore.nn.init.eye_(infinicore.empty(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _expect_rank("eye_", tensor, (2,))
    return tensor.copy_(infinicore.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution kernel [out, in, ...] so that it preserves as many channels as possible,
    in each group.

    >>> infinicore.nn.init.dirac_(infinicore.empty(1, 1, 3)).tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    _expect_rank("dirac_", tensor, (3, 4, 5))
    if tensor.shape[0] % groups:
        raise ValueError(
            f"dirac_: tensor has {tensor.shape[0]} channels: expected a multiple of {groups}"
        )
    tensor.zero_()
    out = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(out, tensor.shape[1])):
            place = (group * out + channel, channel, *middle)
            tensor[place] = 1
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with orthonormal rows (or columns, if there are fewer of them).

    >>> w = infinicore.nn.init.orthogonal_(infinicore.empty(2, 2))
    >>> bool(((w @ w.T - infinicore.eye(2)).abs() < 1e-5).all())
    True
    """
    need_rank("orthogonal_", "tensor", tensor, 2, or_more=True, error=ValueError)
    if not tensor.numel():
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    size = (max(rows, columns), min(rows, columns))
    kind = tensor.dtype if tensor.dtype is infinicore.float64 else infinicore.float32
    flat = infinicore.empty(size, dtype=kind, device=tensor.device)
    q, r = infinicore.linalg.qr(flat.normal_(0.0, 1.0, generator=generator))
    q = q * infinicore.diagonal(r).sign()  # so that all of them are equally likely
    q = q.T if rows < columns else q
    return tensor.copy_(q.reshape(tuple(tensor.shape)) * gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers, with this fraction of each column set to 0.

    >>> infinicore.nn.init.sparse_(infinicore.empty(4, 1), 0.5).count_nonzero().item()
    2
    """
    _expect_rank("sparse_", tensor, (2,))
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0.0, std, generator=generator)
    order = infinicore.rand(rows, columns, generator=generator, device=tensor.device).argsort(0)
    return tensor.copy_(infinicore.where(order < zeros, 0.0, tensor))


# ---- By the fan-in and fan-out of layers
# ---------------------------------------------------------------------


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Xavier (Glorot) initialisation, uniformly distributed.

    >>> bool((infinicore.nn.init.xavier_uniform_(infinicore.empty(2, 4)).abs() <= 1).all())
    True
    """
    bound = math.sqrt(3) * gain * math.sqrt(2 / sum(_fans("xavier_uniform_", tensor)))
    return tensor.uniform_(-bound, bound, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Like `xavier_uniform_`, normally distributed.

    >>> infinicore.nn.init.xavier_normal_(infinicore.empty(2, 4)).shape
    infinicore.Size([2, 4])
    """
    std = gain * math.sqrt(2 / sum(_fans("xavier_normal_", tensor)))
    return tensor.normal_(0.0, std, generator=generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Kaiming (He) initialisation, uniformly distributed. `a` is the slope of `leaky_relu`.

    >>> infinicore.nn.init.kaiming_uniform_(infinicore.empty(2, 4)).shape
    infinicore.Size([2, 4])
    """
    bound = math.sqrt(3) * _deviation("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Like `kaiming_uniform_`, normally distributed.

    >>> infinicore.nn.init.kaiming_normal_(infinicore.empty(2, 4)).shape
    infinicore.Size([2, 4])
    """
    std = _deviation("kaiming_normal_", tensor, a, mode, nonlinearity)
    return tensor.normal_(0.0, std, generator=generator)


def _fans(name: str, tensor: Tensor) -> tuple[int, int]:
    """The fan-in and the fan-out."""
    need_rank(name, "tensor", tensor, 2, or_more=True, error=ValueError)
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _deviation(name: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    expect(mode in ("fan_in", "fan_out"), name, "mode", repr(mode), "'fan_in' or 'fan_out'")
    fan = _fans(name, tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def _expect_rank(name: str, tensor: Tensor, ranks: tuple[int, ...]) -> None:
    if tensor.ndim not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ValueError(f"{name}: tensor has {tensor.ndim} dimensions: expected {wanted}")


__all__ = own_names(globals())
