"""The exception that every failing call of an operator raises."""

from __future__ import annotations

from infinicore.op._table import STATUS_NAMES
from infinicore.rt._error import InfiniRTError

# Hints, by the name of the status without its prefix.
_HINTS = {
    "BAD_TENSOR_DTYPE": "op.info(name) lists the element types that an operator takes",
    "BAD_TENSOR_SHAPE": "op.info(name) shows the shapes that an operator takes",
    "BAD_TENSOR_STRIDES": "make the tensor contiguous first, or copy it with op.rearrange",
    "NOT_IMPLEMENTED": "the back end of the current device has no way to do this case",
}


class InfiniOPError(InfiniRTError):
    """A call of an operator failed.

    >>> try:
    ...     op.add(numpy.zeros(2), numpy.zeros(3), out=numpy.zeros(3))
    ... except op.InfiniOPError as error:
    ...     print(error.status, error.name, error.function)
    """

    status: int
    """The status: a number of infiniStatus_t. `name` is its name in C."""

    def __init__(self, status: int, message: str) -> None:
        name = STATUS_NAMES.get(status, f"status {status}")
        super().__init__(status, name, message)
        self.args = (status, message)  # what pickle passes to the constructor
        self.code = self.status = status
        self.hint = _HINTS.get(name.removeprefix("INFINI_STATUS_"))
