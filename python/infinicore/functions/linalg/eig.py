"""Eigenvalues of general square matrices, and LU factors with pivots."""

from __future__ import annotations

from typing import Any

from infinicore._complex_parts import WHOLES
from infinicore._emit import cast_to
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions.linalg import complex as forms
from infinicore.functions.linalg.linalg import _matrices
from infinicore.functions.linalg.packed import has_kernels

__all__: list[str] = []


def _whole(x: Tensor) -> Tensor:
    return x if x.dtype.is_complex else cast_to(x, WHOLES[x.dtype._code])


@function
def eig(input: Tensor) -> Any:
    """Eigenvalues and eigenvectors, complex."""
    x = _matrices("eig", input)
    if has_kernels(x):
        return forms.eig_of_real(x, True)
    return forms.eig(_whole(x))


@function
def eigvals(input: Tensor) -> Tensor:
    """Eigenvalues, complex."""
    x = _matrices("eigvals", input)
    if has_kernels(x):
        return forms.eig_of_real(x, False)  # type: ignore[no-any-return]
    return forms.eigvals(_whole(x)) if x.device.type == "cpu" else forms.eig(_whole(x))[0]


@function
def lu_factor(input: Tensor) -> Any:
    """L and U in one matrix, and pivots."""
    return forms.lu_factor(_matrices("lu_factor", input, False))
