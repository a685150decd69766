"""One function for each operator, in two forms: `op(inputs..., attributes...)` returns new results,
`op_(results..., inputs..., attributes...)` writes to the given ones.

All are derived from the table of operators; tensors come in its order, then the attributes,
positionally or by keyword. The functions written out below have a different order. `Device`,
`Device.Type` and `DataType` are the types of `_underlying` of a device and a dtype, which modules
built with pybind11 take and return; `infinicore.device(...)` and `infinicore.dtype(...)` convert
them back. Other names are those of `infinicore`.

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
from infinicore._public import as_public
from infinicore._tensor import Tensor
from infinicore.functions.binding_names import (
    fp8_mla_rmsnorm_cache_,
    fp8_mla_rmsnorm_dual_cache_,
    moe_topk_softmax_,
)
from infinicore.lib._forms import Form
from infinicore.op._table import FUNCTIONS

__all__ = [
    "DataType",
    "Device",
    "Tensor",
    "fp8_mla_rmsnorm_cache_",
    "fp8_mla_rmsnorm_dual_cache_",
    "moe_topk_softmax_",
]


def topksoftmax(values: Tensor, indices: Tensor, x: Tensor, topk: int, norm: bool = False) -> None:
    """The `topk` largest probabilities of each row of x [tokens, experts] into values [tokens,
    topk] of float32 and indices of int32; with `norm` they sum up to 1."""
    emit("topksoftmax", x, topk=topk, norm=int(norm), out=(values, indices))


for _name in ("fp8_mla_rmsnorm_cache_", "fp8_mla_rmsnorm_dual_cache_", "moe_topk_softmax_"):
    globals()[_name] = as_public(globals()[_name])
_FORMS = {
    form.__name__: form
    for name in FUNCTIONS
    for form in (Form(name, writes=False), Form(name, writes=True))
}
for _name, _form in _FORMS.items():
    globals().setdefault(_name, _form)
__all__ += [name for name in _FORMS if name not in __all__]


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        found = getattr(infinicore, name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
