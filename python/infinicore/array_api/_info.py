"""The capabilities of the namespace: `__array_namespace_info__`."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._defaults import _complex_default, get_default_device
from infinicore._device import _WORDS_OF
from infinicore._dtype import dtype, get_default_dtype
from infinicore.array_api._dtypes import KINDS, NAMES, named

__all__ = ["__array_namespace_info__"]


class Info:
    """Capabilities, devices and element types."""

    def capabilities(self) -> dict[str, Any]:
        """Support for boolean indexing and data-dependent shapes; the maximum number of
        dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Any:
        """The default device."""
        return get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """The default element types."""
        return {
            "real floating": get_default_dtype(),
            "complex floating": _complex_default(),
            "integral": infinicore.int64,
            "indexing": infinicore.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, dtype]:
        """Element types by name: all, or those of a kind."""
        if kind is None:
            return {name: named(name) for name in NAMES}
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for each in kinds:
            if each not in KINDS:
                raise ValueError(f"dtypes: kind is {each!r}: expected one of {', '.join(KINDS)}")
        return {name: named(name) for each in kinds for name in KINDS[each]}

    def devices(self) -> tuple[Any, ...]:
        """All devices that arrays can be on."""
        return tuple(
            infinicore.device(word, index)
            for word in _WORDS_OF
            for index in range(infinicore.context.get_device_count(word))
        )


def __array_namespace_info__() -> Info:  # noqa: N807
    """What the namespace can do."""
    return Info()
