"""Data types: their numbers in C, their names, their sizes."""

from __future__ import annotations

from libinfiniop._enums import DTYPE_BYTES, InfiniDtype

__all__ = ["InfiniDtype", "InfiniDtypeNames", "InfiniDtypeSizes"]

# Keys are numbers: a plain int of that value finds its row too.
InfiniDtypeNames: dict[int, str] = {dt: dt.name for dt in InfiniDtype}
InfiniDtypeSizes = DTYPE_BYTES
