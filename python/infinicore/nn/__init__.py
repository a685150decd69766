"""Modules for inference, and their functions in `infinicore.nn.functional`.

`infinicore.nn.parallel` has those that share their weights out among ranks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from infinicore.nn import functional
from infinicore.nn.containers import ModuleDict, ModuleList, ParameterList, Sequential
from infinicore.nn.layers import (
    GELU,
    Dropout,
    Embedding,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
)
from infinicore.nn.loading import load_safetensors, read_safetensors, save_safetensors
from infinicore.nn.module import IncompatibleKeys, Module
from infinicore.nn.parameter import Parameter
from infinicore.nn.rope import RoPE
from infinicore.nn.rope_scaling import (
    Llama3RopeScalingConfig,
    LongRopeScalingConfig,
    RopeScalingConfig,
    YarnRopeScalingConfig,
)

if TYPE_CHECKING:
    from infinicore.nn import parallel

__all__ = [
    "GELU",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "Identity",
    "IncompatibleKeys",
    "LayerNorm",
    "Linear",
    "Llama3RopeScalingConfig",
    "LongRopeScalingConfig",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "RoPE",
    "RopeScalingConfig",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "YarnRopeScalingConfig",
    "functional",
    "load_safetensors",
    "parallel",
    "read_safetensors",
    "save_safetensors",
]


def __getattr__(name: str) -> Any:
    # On first use: it needs the collectives, which most programs do not.
    if name == "parallel":
        return importlib.import_module("infinicore.nn.parallel")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
