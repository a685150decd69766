"""The attributes of tensors that the array API requires."""

from __future__ import annotations

import importlib
from typing import Any

from infinicore._tensor import Methods, Tensor

__all__: list[str] = []

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class _Methods(Methods):
    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the array API standard: `infinicore.array_api`."""
        if api_version is not None and api_version not in _VERSIONS:
            raise ValueError(
                f"__array_namespace__: api_version is {api_version!r}:"
                f" expected one of {', '.join(_VERSIONS)}"
            )
        return importlib.import_module("infinicore.array_api")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """The tensor on another device; the array API's name for `to`."""
        if stream is not None:
            raise ValueError("to_device: stream is given: copies go to the current stream")
        return self.to(device)
