"""Random tensors. They use the default generator unless `generator` is given."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore import _dtype as types
from infinicore._creation import _into, _like_of, _shape_of
from infinicore._defaults import _kind_of, _place
from infinicore._device import device as device_class
from infinicore._dtype import dtype as dtype_class
from infinicore._emit import emit
from infinicore._function import function
from infinicore._generator import Generator, draw
from infinicore._tensor import Methods, Tensor
from infinicore.functions._checks import expect

# The extension module passes a new seed and offset to each run of these operators.


@function
def _uniform(input: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    emit("random_uniform", out=input, seed=0, offset=0, low=float(low), high=float(high))
    return input


@function
def _normal(input: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    emit("random_normal", out=input, seed=0, offset=0, mean=float(mean), std=float(std))
    return input


@function
def _integers(input: Tensor, low: int, high: int) -> Tensor:
    emit("random_integers", out=input, seed=0, offset=0, low=low, high=high)
    return input


@function
def _permutation(count: int, kind: dtype_class, where: device_class) -> Tensor:
    keys = _core.empty((count,), types.float64, where)
    emit("random_uniform", out=keys, seed=0, offset=0, low=0.0, high=1.0)
    _, order = emit("sort", keys, dim=0, descending=False, stable=True)
    return order.to(kind)  # type: ignore[no-any-return]


def _floats(function: str, kind: dtype_class) -> dtype_class:
    if not (kind.is_floating_point or kind.is_complex):
        raise TypeError(f"{function}: dtype is {kind!r}: expected a floating-point type")
    return kind


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Tensor:
    """Random numbers from the uniform distribution on [0, 1).

    >>> infinicore.rand(2, 3).shape
    infinicore.Size([2, 3])
    """
    if out is None:
        kind = _floats("rand", _kind_of("rand", dtype))
        out = _core.empty(_shape_of("rand", sizes, size), kind, _place(device))
    return _uniform(out) if generator is None else draw("rand", generator, _uniform, out)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Tensor:
    """Random numbers from the standard normal distribution (mean 0, variance 1).

    >>> infinicore.randn(2, 3).shape
    infinicore.Size([2, 3])
    """
    if out is None:
        kind = _floats("randn", _kind_of("randn", dtype))
        out = _core.empty(_shape_of("randn", sizes, size), kind, _place(device))
    return _normal(out) if generator is None else draw("randn", generator, _normal, out)


def randint(
    *bounds: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Tensor:
    """Random integers from low (0 if left out) to high - 1: `randint(low, high, size)`.

    >>> infinicore.randint(0, 10, (3,)).shape
    infinicore.Size([3])
    """
    given = list(bounds)
    if given and size is None and hasattr(given[-1], "__len__"):
        size = given.pop()
    if len(given) > 2 or (high is not None and len(given) > 1):
        raise TypeError("randint: expected low, high and size")
    if given:
        if high is None:
            high = given.pop()
        low = given.pop() if given else low
    first, end = 0 if low is None else int(low), high
    if end is None or (size is None and out is None):
        raise TypeError("randint: expected high and size")
    if first >= int(end):
        raise ValueError(f"randint: low is {first} and high {end}: expected low < high")
    if out is None:
        out = _core.empty(size, _kind_of("randint", dtype, types.int64), _place(device))
    return draw("randint", generator, _integers, out, first, int(end))


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Tensor:
    """A random permutation of the integers from 0 to n - 1.

    >>> infinicore.randperm(4).shape
    infinicore.Size([4])
    """
    expect(n >= 0, "randperm", "n", n, "0 or more")
    kind = _kind_of("randperm", dtype, types.int64)
    made = draw("randperm", generator, _permutation, int(n), kind, _place(device))
    return _into("randperm", out, made)


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Like `rand`, with the shape, type and device of the input.

    >>> infinicore.rand_like(infinicore.ones(2)).shape
    infinicore.Size([2])
    """
    kind, where = _like_of("rand_like", input, dtype, device)
    made = _core.empty(input.shape, _floats("rand_like", kind), where)
    return draw("rand_like", generator, _uniform, made)


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Like `randn`, with the shape, type and device of the input.

    >>> infinicore.randn_like(infinicore.ones(2)).shape
    infinicore.Size([2])
    """
    kind, where = _like_of("randn_like", input, dtype, device)
    made = _core.empty(input.shape, _floats("randn_like", kind), where)
    return draw("randn_like", generator, _normal, made)


def randint_like(
    input: Tensor,
    low: int,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Like `randint`, with the shape, type and device of the input.

    >>> infinicore.randint_like(infinicore.ones(2), 5).shape
    infinicore.Size([2])
    """
    kind, where = _like_of("randint_like", input, dtype, device)
    first, end = (0, low) if high is None else (low, high)
    size = tuple(input.shape)
    return randint(first, end, size, generator=generator, dtype=kind, device=where)


class _Methods(Methods):
    def uniform_(
        self, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with random numbers from the uniform distribution on [low, high)."""
        if not low <= high:
            raise ValueError(f"uniform_: low is {low} and high {high}: expected low <= high")
        return draw("uniform_", generator, _uniform, self, low, high)

    def normal_(
        self, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with random numbers from a normal distribution."""
        expect(std >= 0, "normal_", "std", std, "0 or more")
        return draw("normal_", generator, _normal, self, mean, std)

    def random_(
        self, low: int = 0, high: int | None = None, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with random integers from low to high - 1; with one argument, from 0 to that - 1."""
        if high is None:
            # The whole range of the type, or with one argument the numbers below it.
            bits = {1: 8, 2: 11, 4: 24, 8: 53} if self.dtype.is_floating_point else None
            most = bits[self.itemsize] if bits else 8 * self.itemsize - self.dtype.is_signed
            low, high = (0, low) if low else (0, 1 << min(most, 63))
            high = min(high, (1 << 63) - 1)
        expect(low < high, "random_", f"low is {low} and high", high, "low < high", RuntimeError)
        return draw("random_", generator, _integers, self, low, high)
