"""torch's functions in NumPy: references for tests, computed in float64.

    x = ref.randn(3, 4)                        # float32, as in torch
    ref.softmax(x, -1) @ x.T                   # functions, methods and operators by torch's names
    ref.assert_close(ref.of(made), expected)   # `made` is a tensor of infinicore

Functions of `torch.nn.functional` are here too. Where torch is installed,
tests/functions/test_second_opinion.py compares them all with torch itself.
"""

from __future__ import annotations

from typing import Any

from . import activations as activations
from . import elementwise as elementwise
from . import indexing as indexing
from . import layers as layers
from . import losses as losses
from . import matrices as matrices
from . import reductions as reductions
from . import shapes as shapes
from . import windows as windows
from .compare import assert_close as assert_close
from .compare import from_torch as from_torch
from .compare import of as of
from .compare import to_torch as to_torch
from .creation import arange as arange
from .creation import empty as empty
from .creation import eye as eye
from .creation import full as full
from .creation import linspace as linspace
from .creation import manual_seed as manual_seed
from .creation import ones as ones
from .creation import rand as rand
from .creation import randint as randint
from .creation import randn as randn
from .creation import randperm as randperm
from .creation import tensor as tensor
from .creation import zeros as zeros
from .tensor import FUNCTIONS as FUNCTIONS
from .tensor import Tensor as Tensor
from .tensor import bfloat16 as bfloat16
from .tensor import bool_ as bool_
from .tensor import float16 as float16
from .tensor import float32 as float32
from .tensor import float64 as float64
from .tensor import int8 as int8
from .tensor import int16 as int16
from .tensor import int32 as int32
from .tensor import int64 as int64
from .tensor import is_float as is_float
from .tensor import mapped as mapped
from .tensor import tensors_in as tensors_in
from .tensor import uint8 as uint8

inf = float("inf")
bool = bool_


def __getattr__(name: str) -> Any:
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"no reference for {name}") from None
