"""Functions of neural networks. They take the arguments of torch's functions of the same names."""

from infinicore.nn.functional.activation import gelu, relu, sigmoid, silu, tanh
from infinicore.nn.functional.attention import flash_attention
from infinicore.nn.functional.gated import glu, silu_and_mul, swiglu
from infinicore.nn.functional.linear import bilinear, embedding, linear
from infinicore.nn.functional.normalization import layer_norm, rms_norm
from infinicore.nn.functional.rotary import RopeAlgo, rope
from infinicore.nn.functional.softmax import causal_softmax, log_softmax, softmax, softmin
