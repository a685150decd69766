"""Modules for inference, and their functions in `infinicore.nn.functional`.

`infinicore.nn.parallel` has those that share their weights out among ranks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from infinicore.nn import functional, losses, of_functions
from infinicore.nn.activation import PReLU, RReLU, Softmax2d
from infinicore.nn.adaptive import AdaptiveLogSoftmaxWithLoss
from infinicore.nn.attention import MultiheadAttention
from infinicore.nn.containers import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
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
from infinicore.nn.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from infinicore.nn.images import (
    CrossMapLRN2d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)
from infinicore.nn.layers import (
    GELU,
    Bilinear,
    Embedding,
    EmbeddingBag,
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
from infinicore.nn.parameter import Buffer, Parameter
from infinicore.nn.rnn import (
    GRU,
    LSTM,
    RNN,
    GRUCell,
    LSTMCell,
    RNNBase,
    RNNCell,
    RNNCellBase,
)
from infinicore.nn.rope import RoPE
from infinicore.nn.rope_scaling import (
    Llama3RopeScalingConfig,
    LongRopeScalingConfig,
    RopeScalingConfig,
    YarnRopeScalingConfig,
)
from infinicore.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

if TYPE_CHECKING:
    from infinicore.nn import parallel

__all__ = [
    "PReLU",
    "RReLU",
    "Softmax2d",
    "AdaptiveLogSoftmaxWithLoss",
    "ParameterDict",
    "AlphaDropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
    "CrossMapLRN2d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "Bilinear",
    "EmbeddingBag",
    "Buffer",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "GELU",
    "GRU",
    "LSTM",
    "RNN",
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
    "GRUCell",
    "GroupNorm",
    "Identity",
    "IncompatibleKeys",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LSTMCell",
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
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
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
    *losses.LOSSES,
    *of_functions.MODULES,
]


def __getattr__(name: str) -> Any:
    # On first use: it needs the collectives, which most programs do not.
    if name == "parallel":
        return importlib.import_module("infinicore.nn.parallel")
    for made in (losses.LOSSES, of_functions.MODULES):
        if name in made:
            return made[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
