"""Modules for inference, and their functions in `infinicore.nn.functional`."""

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

__all__ = [
    "GELU",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "Identity",
    "IncompatibleKeys",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "RoPE",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "functional",
    "load_safetensors",
    "read_safetensors",
    "save_safetensors",
]
