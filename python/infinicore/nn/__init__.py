"""Modules for inference, and their functions in `infinicore.nn.functional`.

`infinicore.nn.parallel` has those that share their weights out among ranks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from infinicore.nn import functional, of_functions
from infinicore.nn.attention import (
    MultiheadAttention,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from infinicore.nn.containers import ModuleDict, ModuleList, ParameterList, Sequential
from infinicore.nn.conv import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
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
from infinicore.nn.of_functions import Flatten, Unflatten
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
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "Identity",
    "IncompatibleKeys",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "Linear",
    "Llama3RopeScalingConfig",
    "LongRopeScalingConfig",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
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
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Unflatten",
    "YarnRopeScalingConfig",
    "functional",
    "load_safetensors",
    "parallel",
    "read_safetensors",
    "save_safetensors",
    *of_functions.MODULES,
]


def __getattr__(name: str) -> Any:
    # On first use: it needs the collectives, which most programs do not.
    if name == "parallel":
        return importlib.import_module("infinicore.nn.parallel")
    if name in of_functions.MODULES:
        return of_functions.MODULES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
