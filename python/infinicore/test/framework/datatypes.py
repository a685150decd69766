"""Element types of the package and of torch."""

from __future__ import annotations

from infinicore.utils import to_infinicore_dtype, to_torch_dtype

__all__ = ["to_infinicore_dtype", "to_torch_dtype"]
