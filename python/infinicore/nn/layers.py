"""Layers. Weights are not initialised: load them from a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._creation import empty
from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.module import Module
from infinicore.nn.parameter import Parameter

__all__ = [
    "Bilinear",
    "Embedding",
    "EmbeddingBag",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "RMSNorm",
]


def new_parameter(sizes: Sequence[int], device: Any, dtype: Any) -> Parameter:
    """An uninitialized parameter."""
    return Parameter(empty(tuple(sizes), dtype=dtype, device=device))


class Linear(Module):
    """input @ weight.T + bias, with weight [out_features, in_features]. `alpha` scales the product.

    >>> infinicore.nn.Linear(4, 2)
    Linear(in_features=4, out_features=2, bias=False)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._make((out_features, in_features), out_features if bias else None, device, dtype)

    def _make(self, sizes: tuple[int, int], bias: int | None, device: Any, dtype: Any) -> None:
        """Creates the weight, and a bias of that length or none."""
        self.weight = new_parameter(sizes, device, dtype)
        if bias is None:
            self.register_parameter("bias", None)
        else:
            self.bias = new_parameter((bias,), device, dtype)
        self._alpha = 1.0

    @property
    def alpha(self) -> float:
        return self._alpha

    @alpha.setter
    def alpha(self, value: float) -> None:
        self._alpha = float(value)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias, alpha=self._alpha)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features},"
            f" bias={self.bias is not None}"
        )


class Embedding(Module):
    """A table: rows of weight [num_embeddings, embedding_dim] by index.

    >>> infinicore.nn.Embedding(10, 4)
    Embedding(10, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if scale_grad_by_freq or sparse:
            raise ValueError("Embedding: scale_grad_by_freq and sparse are for training")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        if _weight is not None and tuple(_weight.shape) != (num_embeddings, embedding_dim):
            raise ValueError(
                f"Embedding: _weight has shape {tuple(_weight.shape)}: expected"
                f" {(num_embeddings, embedding_dim)}"
            )
        self.weight = (
            new_parameter((num_embeddings, embedding_dim), device, dtype)
            if _weight is None
            else Parameter(_weight)
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, None, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class EmbeddingBag(Module):
    """Sums, means or largest elements of rows of weight [num_embeddings, embedding_dim], for each
    bag of indices.

    >>> infinicore.nn.EmbeddingBag(10, 4)
    EmbeddingBag(10, 4, mode='mean')
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if scale_grad_by_freq or sparse:
            raise ValueError("EmbeddingBag: scale_grad_by_freq and sparse are for training")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.mode, self.padding_idx = mode, padding_idx
        self.include_last_offset = include_last_offset
        sizes = (num_embeddings, embedding_dim)
        if _weight is not None and tuple(_weight.shape) != sizes:
            raise ValueError(
                f"EmbeddingBag: _weight has shape {tuple(_weight.shape)}: expected {sizes}"
            )
        self.weight = new_parameter(sizes, device, dtype) if _weight is None else Parameter(_weight)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"


class Bilinear(Module):
    """input1 @ weight[k] @ input2 + bias[k], with weight [out, in1, in2].

    >>> infinicore.nn.Bilinear(2, 3, 4)
    Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in1_features, in2_features), device, dtype)
        made = new_parameter((out_features,), device, dtype) if bias else None
        self.register_parameter("bias", made)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features},"
            f" out_features={self.out_features}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Root mean square normalisation over the last dimension.

    >>> infinicore.nn.RMSNorm(8)
    RMSNorm((8,), eps=1e-06, elementwise_affine=True)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = 1e-6,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        if elementwise_affine:
            self.weight = new_parameter(self.normalized_shape, device, dtype)
        else:
            self.register_parameter("weight", None)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(Module):
    """Normalisation to mean 0 and variance 1 over the last dimensions."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            made = new_parameter(self.normalized_shape, device, dtype) if wanted else None
            self.register_parameter(name, made)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalisation over groups of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = new_parameter((num_channels,), device, dtype) if wanted else None
            self.register_parameter(name, made)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class Identity(Module):
    """Returns its input."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


def _sizes(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)
