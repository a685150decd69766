"""Results of several tensors, by name."""

from __future__ import annotations

from typing import NamedTuple

from infinicore._tensor import Tensor


class Ordered(NamedTuple):
    """Elements, and their indices."""

    values: Tensor
    indices: Tensor


class Extremes(NamedTuple):
    min: Tensor
    max: Tensor


class Parts(NamedTuple):
    """mantissa * 2 ** exponent."""

    mantissa: Tensor
    exponent: Tensor


class SignAndLog(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class SingularValues(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


class Factors(NamedTuple):
    Q: Tensor
    R: Tensor


class Eigen(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class Histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor
