"""Random tensors whose distribution is given by numbers or by tensors."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore import _dtype as types
from infinicore._creation import _into, _need_type
from infinicore._defaults import _kind_of, _place
from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._generator import Generator, draw
from infinicore._random import randn
from infinicore._tensor import Methods, Tensor
from infinicore.functions._checks import expect
from infinicore.functions._index_checks import check_range, is_known


@function
def _bernoulli(input: Tensor) -> Tensor:
    """Cast to the type of the probabilities."""
    drawn = _core.empty(input.shape, types.float32, input.device)
    emit("random_uniform", out=drawn, seed=0, offset=0, low=0.0, high=1.0)
    return (drawn < input).to(input.dtype)


@function
def _exponential(input: Tensor, rate: float) -> Tensor:
    """-log(1 - u) / rate; u is below 1."""
    drawn = _core.empty(input.shape, types.float64, input.device)
    emit("random_uniform", out=drawn, seed=0, offset=0, low=0.0, high=1.0)
    waited = emit("neg", emit("log1p", emit("neg", drawn)))
    return (waited / rate).to(input.dtype)  # type: ignore[no-any-return]


@function
def _cauchy(input: Tensor, median: float, sigma: float) -> Tensor:
    """median + sigma * tan(pi * (u - 1/2))."""
    drawn = _core.empty(input.shape, types.float64, input.device)
    emit("random_uniform", out=drawn, seed=0, offset=0, low=-math.pi / 2, high=math.pi / 2)
    return (emit("tan", drawn) * sigma + median).to(input.dtype)  # type: ignore[no-any-return]


@function
def _log_normal(input: Tensor, mean: float, std: float) -> Tensor:
    drawn = _core.empty(input.shape, types.float64, input.device)
    emit("random_normal", out=drawn, seed=0, offset=0, mean=mean, std=std)
    return emit("exp", drawn).to(input.dtype)  # type: ignore[no-any-return]


@function
def _geometric(input: Tensor, p: float) -> Tensor:
    """max(1, ceil(log(1 - u) / log(1 - p)))."""
    drawn = _core.empty(input.shape, types.float64, input.device)
    emit("random_uniform", out=drawn, seed=0, offset=0, low=0.0, high=1.0)
    trials = emit("ceil", emit("log1p", emit("neg", drawn)) / math.log1p(-p))
    return emit("maximum", trials, 1.0).to(input.dtype)  # type: ignore[no-any-return]


@function
def _scaled(input: Tensor, mean: Any, std: Any) -> Tensor:
    result = input if std is None else input * std
    return result if mean is None else result + mean


@function
def _places(input: Tensor, count: int) -> Tensor:
    """Indices of the largest keys log(u) / p: equivalent to drawing one after the other."""
    drawn = _core.empty(input.shape, types.float64, input.device)
    emit("random_uniform", out=drawn, seed=0, offset=0, low=0.0, high=1.0)
    weights = input.to(types.float64)
    waited = emit("log1p", emit("neg", drawn)) / weights  # negative: the smaller, the later
    none = tensor_for(float("-inf"), types.float64, input.device)
    zero = tensor_for(0.0, types.float64, input.device)
    keys = emit("where", emit("less_equal", weights, zero), none, waited)
    if 4 * count <= input.shape[-1]:  # few are selected faster than all are sorted
        return keys.topk(count)[1].to(types.int64)  # type: ignore[no-any-return]
    _, order = emit("sort", keys, dim=-1, descending=True, stable=True)
    return order.narrow(-1, 0, count).contiguous()  # type: ignore[no-any-return]


@function
def _drawn(input: Tensor, count: int) -> Tensor:
    """Independent indices, by searching the cumulative sums of the weights."""
    sums = input.to(types.float64).cumsum(-1)
    drawn = _core.empty((*input.shape[:-1], count), types.float64, input.device)
    emit("random_uniform", out=drawn, seed=0, offset=0, low=0.0, high=1.0)
    wanted = drawn * sums.narrow(-1, input.shape[-1] - 1, 1)
    return emit("searchsorted", sums.contiguous(), wanted, right=True)  # type: ignore[no-any-return]


def _need_floats(function: str, tensor: Tensor) -> None:
    if not tensor.dtype.is_floating_point:
        raise TypeError(f"{function}: the tensor has type {tensor.dtype!r}: expected floats")


def bernoulli(
    input: Tensor, p: Any = None, *, generator: Generator | None = None, out: Any = None
) -> Tensor:
    """1 with the probability given by each element, else 0. If `p` is given, it is the probability
    of all elements, and the input determines only shape and type.

    >>> infinicore.bernoulli(infinicore.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    if p is not None:
        return _into("bernoulli", out, input.clone().bernoulli_(p, generator=generator))
    if not isinstance(input, Tensor) or not input.dtype.is_floating_point:
        raise TypeError("bernoulli: expected a tensor of floats, which are probabilities")
    check_range("bernoulli", "input", input, 0, 1)
    return _into("bernoulli", out, draw("bernoulli", generator, _bernoulli, input))


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Any = None,
) -> Tensor:
    """Indices sampled in proportion to the weights in the last dimension, with or without
    replacement: int64 of shape [num_samples] or [rows, num_samples].

    >>> infinicore.multinomial(infinicore.tensor([0.0, 1.0]), 1)
    tensor([1])
    """
    if not isinstance(input, Tensor) or not input.dtype.is_floating_point:
        raise TypeError("multinomial: expected a tensor of floats, which are weights")
    if input.ndim not in (1, 2):
        raise ValueError(f"multinomial: the tensor has {input.ndim} dimensions: expected 1 or 2")
    _need_type("multinomial", out, types.int64)
    most = input.shape[-1]
    if most < 1:
        raise ValueError("multinomial: the last dimension is empty: expected some weights")
    if num_samples < 1 or (num_samples > most and not replacement):
        raise ValueError(
            f"multinomial: num_samples is {num_samples}: expected 1 to {most} without replacement"
        )
    if is_known(input) and input.numel():
        most_of = input.amax(-1)
        if not (input.amin().item() >= 0 and most_of.amax().item() < math.inf):
            raise RuntimeError(
                "multinomial: a weight is negative, infinite or NaN: expected finite ones of 0 or"
                " more"
            )
        if most_of.amin().item() == 0:
            raise RuntimeError(
                "multinomial: all weights of a row are 0: expected one that is not, at least"
            )
    found = _drawn if replacement else _places
    return _into("multinomial", out, draw("multinomial", generator, found, input, num_samples))


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Tensor:
    """Random numbers from normal distributions. Mean and standard deviation are numbers, with a
    size, or tensors, which determine the shape.

    >>> infinicore.normal(0.0, 1.0, (2, 3)).shape
    infinicore.Size([2, 3])
    """
    tensors = [each for each in (mean, std) if isinstance(each, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError("normal: size is missing: expected it, or a tensor as mean or std")
        made = _core.empty(size, _kind_of("normal", dtype), _place(device))
        return _into("normal", out, made.normal_(mean, std, generator=generator))
    from infinicore.op._shapes import broadcast

    if isinstance(std, Tensor) and std.dtype.is_floating_point:
        check_range("normal", "std", std, 0, math.inf)
    shape = broadcast([tuple(each.shape) for each in tensors])
    kind, where = tensors[0].dtype, tensors[0].device
    made = randn(tuple(shape), dtype=kind, device=where, generator=generator)
    return _into("normal", out, _scaled(made, mean, std))


class _Methods(Methods):
    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Fill with 1 with the given probability, else with 0."""
        if isinstance(p, Tensor):
            check_range("bernoulli_", "p", p, 0, 1)
            return self.copy_(draw("bernoulli_", generator, _bernoulli, p.expand(*self.shape)))
        expect(0 <= p <= 1, "bernoulli_", "p", p, "0 to 1")
        chances = _core.empty(self.shape, types.float32, self.device).fill_(p)
        return self.copy_(draw("bernoulli_", generator, _bernoulli, chances))

    def exponential_(self, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with random numbers from an exponential distribution."""
        if lambd <= 0:
            raise ValueError(f"exponential_: lambd is {lambd}: expected more than 0")
        return self.copy_(draw("exponential_", generator, _exponential, self, float(lambd)))

    def cauchy_(
        self, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with random numbers from a Cauchy distribution."""
        _need_floats("cauchy_", self)
        expect(sigma > 0, "cauchy_", "sigma", sigma, "more than 0")
        made = draw("cauchy_", generator, _cauchy, self, float(median), float(sigma))
        return self.copy_(made)

    def log_normal_(
        self, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with random numbers from a log-normal distribution."""
        _need_floats("log_normal_", self)
        expect(std > 0, "log_normal_", "std", std, "more than 0")
        made = draw("log_normal_", generator, _log_normal, self, float(mean), float(std))
        return self.copy_(made)

    def geometric_(self, p: float, *, generator: Generator | None = None) -> Tensor:
        """Fill with the number of trials up to the first success, which has probability p."""
        expect(0 < p < 1, "geometric_", "p", p, "more than 0 and less than 1")
        if self.dtype is types.bool_ or self.dtype.is_complex:
            raise TypeError(
                f"geometric_: the tensor has type {self.dtype!r}: expected real numbers"
            )
        return self.copy_(draw("geometric_", generator, _geometric, self, float(p)))
