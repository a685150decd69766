"""Attributes and functions of torch tensors with constant results here: there are no gradients, and
one dense layout."""

from __future__ import annotations

from typing import Any

from infinicore import _changes, _core
from infinicore._tensor import Methods, Tensor
from infinicore.functions._checks import need_tensor


class layout:  # noqa: N801
    """The memory layout of a tensor: `infinicore.strided` is the only one.

    >>> infinicore.ones(2).layout
    infinicore.strided
    """

    def __repr__(self) -> str:
        return "infinicore.strided"

    def __reduce__(self) -> str:
        return "strided"


strided = layout()

# Properties that are False.
NEVER = (
    *("is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested"),
    *("is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu"),
    *("requires_grad", "retains_grad"),
)


def _never(name: str) -> property:
    return property(lambda self: False, doc=f"{name}: False for all tensors of infinicore.")


def detach(input: Tensor) -> Tensor:
    """A new tensor that shares the memory.

    >>> infinicore.detach(infinicore.ones(1))
    tensor([1.])
    """
    return need_tensor("detach", "input", input).detach()


def is_conj(input: Tensor) -> bool:
    """Whether this is a lazily conjugated view: always False, since `conj` is computed immediately.

    >>> infinicore.is_conj(infinicore.ones(1))
    False
    """
    need_tensor("is_conj", "input", input)
    return False


def is_neg(input: Tensor) -> bool:
    """Whether this is a lazily negated view: always False, since `neg` is computed immediately.

    >>> infinicore.is_neg(infinicore.ones(1))
    False
    """
    need_tensor("is_neg", "input", input)
    return False


def is_inference(input: Tensor) -> bool:
    """Whether this is an inference tensor: always True.

    >>> infinicore.is_inference(infinicore.ones(1))
    True
    """
    need_tensor("is_inference", "input", input)
    return True


def is_distributed(input: Tensor) -> bool:
    """Whether the elements are distributed over several machines: always False.

    >>> infinicore.is_distributed(infinicore.ones(1))
    False
    """
    need_tensor("is_distributed", "input", input)
    return False


class _Methods(Methods):
    @property
    def layout(self) -> layout:
        """infinicore.strided."""
        return strided

    @property
    def data(self) -> Tensor:
        """A new tensor that shares the memory; assigning to this attribute replaces memory and
        layout."""
        return self.detach()

    @data.setter
    def data(self, other: Tensor) -> None:
        _core.rebind(self, need_tensor("data", "the new value", other))
        _changes.note()

    @property
    def is_leaf(self) -> bool:
        """Whether this is a leaf of the autograd graph: always True."""
        return True

    @property
    def grad(self) -> None:
        """None: there are no gradients."""
        return None

    grad_fn = grad

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Returns the tensor itself. Only False is accepted, since there are no gradients."""
        if requires_grad:
            raise RuntimeError(
                "requires_grad_: requires_grad is True: expected False, since there are no"
                " gradients"
            )
        return self

    def backward(self, *args: Any, **keywords: Any) -> None:
        """Raises an error: there are no gradients."""
        raise RuntimeError("backward: there are no gradients: infinicore is for inference")

    def is_shared(self) -> bool:
        """Whether the memory is shared with other processes: always False."""
        return False

    def share_memory_(self) -> Tensor:
        """Raises an error: tensors cannot be moved to shared memory."""
        raise RuntimeError(
            "share_memory_: tensors are not shared between processes: expected the tensor to be"
            " pickled, or infinicore.rt's IpcGetMemHandle for memory of a device"
        )


for _name in NEVER:
    setattr(Tensor, _name, _never(_name))
