"""Pooling functions that also return indices, as separate names."""

from __future__ import annotations

import inspect
from typing import Any

from infinicore.nn.functional.window import fractional_pool, pool


def _with_indices(module: Any, pool_name: str) -> Any:
    work, name = getattr(module, pool_name), f"{pool_name}_with_indices"

    def function(*args: Any, **keywords: Any) -> Any:
        keywords.pop("return_indices", None)
        bound = signature.bind(*args, **keywords)
        return work(**bound.arguments, return_indices=True)

    given = inspect.signature(work).parameters
    dropped = ("return_indices", "out")
    signature = inspect.Signature([given[each] for each in given if each not in dropped])
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"What `{work.__name__}` gives with `return_indices`."
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


max_pool1d_with_indices = _with_indices(pool, "max_pool1d")
max_pool2d_with_indices = _with_indices(pool, "max_pool2d")
max_pool3d_with_indices = _with_indices(pool, "max_pool3d")
adaptive_max_pool1d_with_indices = _with_indices(pool, "adaptive_max_pool1d")
adaptive_max_pool2d_with_indices = _with_indices(pool, "adaptive_max_pool2d")
adaptive_max_pool3d_with_indices = _with_indices(pool, "adaptive_max_pool3d")
fractional_max_pool2d_with_indices = _with_indices(fractional_pool, "fractional_max_pool2d")
fractional_max_pool3d_with_indices = _with_indices(fractional_pool, "fractional_max_pool3d")
