"""The operators: `language` defines how they are declared, `declarations` has all of them."""

from __future__ import annotations

from . import declarations
from .language.model import REGISTRY, Operator

FAMILIES = declarations.FAMILIES

# Enumerations used by parameters.
ENUMS = """
enum infiniopRoPEAlgo_t  Which elements of a head make a pair.
    INFINIOP_ROPE_ALGO_GPT_J = 0     neighbours: 2i and 2i + 1
    INFINIOP_ROPE_ALGO_GPT_NEOX = 1  halves: i and i + D/2
    INFINIOP_ROPE_ALGO_COUNT = 2

enum infiniopReduction_t  What becomes of the losses of the elements.
    INFINIOP_REDUCTION_NONE = 0
    INFINIOP_REDUCTION_MEAN = 1
    INFINIOP_REDUCTION_SUM = 2

enum infiniopScatterReduction_t  How updates of one place are folded.
    INFINIOP_SCATTER_SUM = 0
    INFINIOP_SCATTER_PROD = 1
    INFINIOP_SCATTER_MEAN = 2
    INFINIOP_SCATTER_AMAX = 3
    INFINIOP_SCATTER_AMIN = 4

enum infiniopGridPadding_t  What lies around an image that is sampled.
    INFINIOP_GRID_PADDING_ZEROS = 0
    INFINIOP_GRID_PADDING_BORDER = 1      the outermost elements, repeated
    INFINIOP_GRID_PADDING_REFLECTION = 2  the image, mirrored again and again

enum infiniopFusedMoeActivation_t  What an expert applies between its two products.
    INFINIOP_FUSED_MOE_ACT_SILU = 0
    INFINIOP_FUSED_MOE_ACT_SWIGLU = 1
    INFINIOP_FUSED_MOE_ACT_SITUGLU = 2
"""

OPERATORS: tuple[Operator, ...] = tuple(REGISTRY[name] for name in sorted(REGISTRY))
