"""Complex tensors as views of their parts."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._complex_parts import PARTS, WHOLES, imag_view, real_view
from infinicore._creation import _into, _need_type
from infinicore._elements import copy
from infinicore._function import traced
from infinicore._tensor import Methods, Tensor
from infinicore.op._shapes import broadcast


def real(input: Tensor) -> Tensor:
    """A view of the real parts; for real input, the tensor itself.

    >>> infinicore.real(infinicore.tensor([1 + 2j]))
    tensor([1.])
    """
    return real_view(input) if input.dtype.is_complex else input


def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view.

    >>> infinicore.imag(infinicore.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input.dtype.is_complex:
        raise RuntimeError(f"imag: input is of type {input.dtype!r}: expected complex numbers")
    return imag_view(input)


def view_as_real(input: Tensor) -> Tensor:
    """A view of complex numbers as pairs of real numbers in a last dimension of size 2.

    >>> infinicore.view_as_real(infinicore.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input.dtype.is_complex:
        raise RuntimeError(
            f"view_as_real: input is of type {input.dtype!r}: expected complex numbers"
        )
    steps = [*(2 * step for step in input.stride()), 1]
    return _core.view_as(input, (*input.shape, 2), steps, 0, PARTS[input.dtype._code])


def view_as_complex(input: Tensor) -> Tensor:
    """A view of pairs of real numbers in a last dimension of size 2 as complex numbers.

    >>> infinicore.view_as_complex(infinicore.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    whole = WHOLES.get(input.dtype._code)
    if whole is None or not input.ndim or input.shape[-1] != 2:
        raise RuntimeError("view_as_complex: expected floats with a last dimension of size 2")
    steps = input.stride()
    if steps[-1] != 1 or any(step % 2 for step in steps[:-1]):
        raise RuntimeError("view_as_complex: expected the pairs side by side: use contiguous()")
    return _core.view_as(input, input.shape[:-1], [step // 2 for step in steps[:-1]], 0, whole)


@traced
def complex(real: Tensor, imag: Tensor, *, out: Any = None) -> Tensor:
    """Complex numbers from their real and imaginary parts.

    >>> infinicore.complex(infinicore.tensor([1.0]), infinicore.tensor([2.0]))
    tensor([1.+2.j])
    """
    whole = WHOLES.get(real.dtype._code)
    if whole is None or imag.dtype is not real.dtype:
        raise RuntimeError("complex: expected real and imag as floats of one type")
    shape = broadcast([tuple(real.shape), tuple(imag.shape)])
    _need_type("complex", out, whole)
    result = _core.empty(shape, whole, real.device)
    copy(real_view(result), real)
    copy(imag_view(result), imag)
    return _into("complex", out, result)


# The properties hide these names inside the class.
_real, _imag = real, imag


class _Methods(Methods):
    @property
    def real(self) -> Tensor:
        """The real parts, as a view."""
        return _real(self)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, as a view."""
        return _imag(self)
