"""Human-readable information about operators."""

from __future__ import annotations

from typing import NamedTuple

from infinicore.op._operator import function
from infinicore.op._table import OPERATORS


class Info(NamedTuple):
    """The declaration of an operator. Printing it shows everything."""

    name: str
    group: str
    doc: str
    tensors: tuple[str, ...]  # one line per tensor: role, name, element types, shape
    where: tuple[str, ...]  # conditions
    c: str  # C declarations of its functions
    definition: str  # the definition in Python
    unsupported: str  # why the CPU does not support it; empty if it does

    def __str__(self) -> str:
        parts = [f"{self.name} ({self.group})\n{self.doc}", "\n".join(self.tensors)]
        if self.where:
            parts.append("where " + "; ".join(self.where))
        if self.unsupported:
            parts.append(f"not on the CPU: {self.unsupported}")
        return "\n\n".join([*parts, self.c, self.definition])


def operators() -> list[str]:
    """The names of all operators.

    >>> "silu" in op.operators()
    True
    """
    return list(OPERATORS)


def info(name: str) -> Info:
    """The declaration of an operator: tensors, conditions, C functions, definition.

    >>> print(op.info("rms_norm"))
    """
    from infinicore.op import _functions
    from infinicore.op._sources import SOURCES

    this = function(name)
    row = OPERATORS[this.operator]
    c, definition = SOURCES[this.operator]
    lines = []
    for tensor in this.tensors:
        shape = " or ".join(f"[{', '.join(sizes)}]" for sizes in tensor.shapes)
        role = "" if tensor.role == "in" else tensor.role + " "
        optional = "?" if tensor.optional else ""
        lines.append(f"{role}{tensor.name}{optional}  {tensor.kinds}  {shape}")
    doc = (getattr(_functions, name).__doc__ or "").partition("\n\n")[0]
    return Info(
        name=name,
        group=row["group"],
        doc=" ".join(doc.split()),
        tensors=tuple(lines),
        where=tuple(this.where),
        c=c,
        definition=definition,
        unsupported=row.get("unsupported", ""),
    )
