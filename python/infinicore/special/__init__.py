"""Special functions, with torch's names.

infinicore.special.i0(x)
"""

from __future__ import annotations

from infinicore._public import as_public
from infinicore.special import _bessel, _gamma, _names, _normal, _polynomials
from infinicore.special._bessel import *
from infinicore.special._gamma import *
from infinicore.special._normal import *
from infinicore.special._polynomials import *

globals().update(_names.NAMES)
_PARTS = (_bessel, _gamma, _normal, _polynomials)
__all__ = sorted([*_names.NAMES, *(name for part in _PARTS for name in part.__all__)])
globals().update({name: as_public(globals()[name]) for name in __all__})
