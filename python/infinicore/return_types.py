"""Named tuples for functions that return several tensors, with torch's names.

>>> infinicore.linalg.eigh(infinicore.eye(2)).__class__
<class 'infinicore.return_types.linalg_eigh'>
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_FIELDS = {
    "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_inv_ex": "inverse info",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_qr": "Q R",
    "linalg_slogdet": "sign logabsdet",
    "linalg_solve_ex": "result info",
    "linalg_svd": "U S Vh",
}

__all__ = sorted(_FIELDS)


def _shown(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"infinicore.return_types.{type(self).__name__}(\n{parts})"


def _made(name: str, fields: str) -> Any:
    base = namedtuple(name, fields)  # type: ignore[misc]
    body = {"__slots__": (), "__repr__": _shown, "__module__": __name__}
    return type(name, (base,), {**body, "__doc__": f"{', '.join(fields.split())}."})


globals().update({name: _made(name, fields) for name, fields in _FIELDS.items()})


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
