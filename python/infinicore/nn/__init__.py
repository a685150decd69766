"""Modules for inference, and their functions in `infinicore.nn.functional`.

`infinicore.nn.parallel` has those that share their weights out among ranks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from infinicore.nn import (
    activation,
    adaptive,
    attention,
    containers,
    conv,
    dropout,
    functional,
    images,
    init,
    layers,
    loading,
    losses,
    module,
    of_functions,
    parameter,
    rnn,
    rope,
    rope_scaling,
    transformer,
)
from infinicore.nn._constructors import check_constructors
from infinicore.nn.activation import *
from infinicore.nn.adaptive import *
from infinicore.nn.attention import *
from infinicore.nn.containers import *
from infinicore.nn.conv import *
from infinicore.nn.dropout import *
from infinicore.nn.images import *
from infinicore.nn.layers import *
from infinicore.nn.loading import *
from infinicore.nn.module import *
from infinicore.nn.of_functions import *
from infinicore.nn.parameter import *
from infinicore.nn.rnn import *
from infinicore.nn.rope import *
from infinicore.nn.rope_scaling import *
from infinicore.nn.transformer import *

if TYPE_CHECKING:
    from infinicore.nn import parallel

_PARTS = (
    *(activation, adaptive, attention, containers, conv, dropout, images, layers, loading),
    *(module, of_functions, parameter, rnn, rope, rope_scaling, transformer),
)
_MADE = {**losses.LOSSES, **of_functions.MODULES}
__all__ = [
    "functional",
    "init",
    "parallel",
    *(name for part in _PARTS for name in part.__all__),
    *_MADE,
]


_ANYTHING = (module.Module, layers.Identity, rope.RoPE)  # their constructors take what they get
_MODULES = [*globals().values(), *_MADE.values()]
check_constructors(
    {
        each: None
        for each in _MODULES
        if isinstance(each, type)
        and issubclass(each, module.Module)
        and each not in (*_ANYTHING, *(getattr(containers, name) for name in containers.__all__))
    }
)


def __getattr__(name: str) -> Any:
    # On first use: it needs the collectives, which most programs do not.
    if name == "parallel":
        return importlib.import_module("infinicore.nn.parallel")
    if name in _MADE:
        return _MADE[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
