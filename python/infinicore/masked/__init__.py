"""Functions of the elements that a mask leaves, with torch's names.

    infinicore.masked.mean(x, 1, mask=x > 0)

Elements where the mask is false count as if they were not there. Functions that keep the shape
compute with a neutral element in their place.
"""

from __future__ import annotations

from infinicore._public import as_public
from infinicore.masked import _folds, _maps
from infinicore.masked._folds import *
from infinicore.masked._maps import *

__all__ = sorted([*_folds.__all__, *_maps.__all__])
globals().update({name: as_public(globals()[name]) for name in __all__})
