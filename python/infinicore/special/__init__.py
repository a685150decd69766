"""Special functions, with torch's names.

infinicore.special.i0(x)
"""

from __future__ import annotations

from infinicore.special import _bessel, _gamma, _names, _normal
from infinicore.special._bessel import *
from infinicore.special._gamma import *
from infinicore.special._normal import *

globals().update(_names.NAMES)
__all__ = sorted([*_bessel.__all__, *_gamma.__all__, *_names.NAMES, *_normal.__all__])
