"""Eigenvalues of general square matrices, and LU factors with pivots."""

from __future__ import annotations

from typing import Any

from infinicore._complex_parts import WHOLES
from infinicore._emit import cast_to
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions.linalg import complex as forms
from infinicore.functions.linalg.linalg import _matrices

__all__: list[str] = []


@function
def eig(input: Tensor) -> Any:
    """Eigenvalues and eigenvectors, complex."""
    x = _matrices("eig", input)
    whole = x if x.dtype.is_complex else cast_to(x, WHOLES[x.dtype._code])
    return forms.eig(whole)


@function
def lu_factor(input: Tensor) -> Any:
    """L and U in one matrix, and pivots."""
    return forms.lu_factor(_matrices("lu_factor", input, False))
