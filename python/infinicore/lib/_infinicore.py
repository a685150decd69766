"""One function for each operator, in two forms: `op(inputs..., attributes...)` makes its results
and returns them, `op_(results..., inputs..., attributes...)` writes them.

All are derived from the table of operators; tensors come in its order, then the attributes, by
place or by name. Those below that are spelt out have another order. `Device`, `Device.Type` and
`DataType` are what `_underlying` of a device and a dtype is, and what modules made with pybind11
take and return; `infinicore.device(...)` and `infinicore.dtype(...)` turn them back. Other names
are those of `infinicore`.

    >>> from infinicore.lib import _infinicore
    >>> _infinicore.add(infinicore.ones(2), infinicore.ones(2))
    tensor([2., 2.])
    >>> x = infinicore.zeros(2)
    >>> _infinicore.add_(x, infinicore.ones(2), infinicore.ones(2))
    >>> x
    tensor([2., 2.])
"""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._device import Device
from infinicore._dtype import DataType
from infinicore._emit import emit
from infinicore._tensor import Tensor
from infinicore.lib._forms import Form
from infinicore.op._table import FUNCTIONS

__all__ = ["DataType", "Device", "Tensor"]


def topksoftmax(values: Tensor, indices: Tensor, x: Tensor, topk: int, norm: bool = False) -> None:
    """The `topk` largest probabilities of each row of x [tokens, experts] into values [tokens,
    topk] of float32 and indices of int32; with `norm` they sum up to 1."""
    emit("topksoftmax", x, topk=topk, norm=int(norm), out=(values, indices))


def moe_topk_softmax_(
    topk_weights: Tensor,
    topk_indices: Tensor,
    gating_output: Tensor,
    correction_bias: Tensor | None = None,
    renormalize: bool = False,
    moe_softcapping: float = 0.0,
) -> None:
    """The largest probabilities of each row of scores [tokens, experts] into topk_weights [tokens,
    topk] of float32 and topk_indices of int32; the bias takes part in the choice only."""
    emit(
        "moe_topk_softmax",
        gating_output,
        correction_bias,
        renormalize=renormalize,
        moe_softcapping=moe_softcapping,
        out=(topk_weights, topk_indices),
    )


def fp8_mla_rmsnorm_cache_(
    cache: Tensor,
    compressed_kv: Tensor,
    norm_weight: Tensor,
    rope: Tensor,
    slot_mapping: Tensor,
    eps: float,
) -> None:
    """Latents [tokens, 512], normalised and in float8, with their rotary keys [tokens, 64] into
    slots of a cache [pages, block_size, 656] of bytes."""
    emit("fp8_mla_rmsnorm_cache", cache, compressed_kv, norm_weight, rope, slot_mapping, eps=eps)


def fp8_mla_rmsnorm_dual_cache_(
    cache: Tensor,
    vendor_cache: Tensor,
    compressed_kv: Tensor,
    norm_weight: Tensor,
    rope: Tensor,
    slot_mapping: Tensor,
    eps: float,
) -> None:
    """As fp8_mla_rmsnorm_cache_, and what the bytes mean into vendor_cache [pages, block_size,
    576] of bfloat16."""
    emit(
        "fp8_mla_rmsnorm_cache",
        cache,
        compressed_kv,
        norm_weight,
        rope,
        slot_mapping,
        vendor_cache,
        eps=eps,
    )


_FORMS = {
    form.__name__: form
    for name in FUNCTIONS
    for form in (Form(name, writes=False), Form(name, writes=True))
}
for _name, _form in _FORMS.items():
    globals().setdefault(_name, _form)
__all__ += [name for name in _FORMS if name not in __all__]
__all__ += ["fp8_mla_rmsnorm_dual_cache_"]


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        found = getattr(infinicore, name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
