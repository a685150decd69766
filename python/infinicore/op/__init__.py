"""The operators, on tensors of any library in the current device's memory.

    op.silu(x)                          # a new array or tensor, like x
    op.add(a, b, out=c, stream=s)       # into c, in the order of a stream
    plan = op.describe("add", a, b)     # checked and planned once ...
    plan(c, a, b, stream=s)             # ... run many times

Inputs are NumPy arrays, torch tensors, memory of `infinicore.rt` or anything else with DLPack, the
buffer protocol or `__array_interface__`; nothing is copied, and strides are honoured. Without a
stream the work is complete when the call returns. With one it is enqueued there, its arguments are
kept alive until it is done, and if the stream is being captured it is recorded. Failing calls raise
`InfiniOPError`.
"""

from infinicore.op import _functions
from infinicore.op._arrays import view
from infinicore.op._call import Plan, describe
from infinicore.op._error import InfiniOPError
from infinicore.op._functions import *  # noqa: F403
from infinicore.op._info import Info, info, operators

__all__ = ["InfiniOPError", "Info", "Plan", "describe", "info", "operators", "view"]
__all__ += _functions.__all__
