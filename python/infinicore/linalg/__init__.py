"""Linear algebra on batches of matrices, with torch's names.

infinicore.linalg.solve(A, b)
infinicore.linalg.svd(A, full_matrices=False).S
"""

from __future__ import annotations

from infinicore._public import as_public
from infinicore.linalg import _factors, _ldl, _lu, _norms, _products, _solvers
from infinicore.linalg._factors import *
from infinicore.linalg._ldl import *
from infinicore.linalg._lu import *
from infinicore.linalg._lu import unpacked as unpacked
from infinicore.linalg._norms import *
from infinicore.linalg._products import *
from infinicore.linalg._solvers import *

_PARTS = (_factors, _ldl, _lu, _norms, _products, _solvers)
__all__ = sorted(name for part in _PARTS for name in part.__all__)
globals().update({name: as_public(globals()[name]) for name in __all__})
