"""Functions of masked tensors, with torch's names.

    infinicore.masked.mean(x, 1, mask=x > 0)

Elements where the mask is false are ignored. Functions that keep the shape replace them by a
neutral element.
"""

from __future__ import annotations

from infinicore._public import as_public
from infinicore.masked import _folds, _maps
from infinicore.masked._folds import *
from infinicore.masked._maps import *

__all__ = sorted([*_folds.__all__, *_maps.__all__])
globals().update({name: as_public(globals()[name]) for name in __all__})
