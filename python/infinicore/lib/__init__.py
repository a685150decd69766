"""Module names that older programs import: `infinicore.lib._infinicore`."""

from __future__ import annotations

from infinicore.lib import _infinicore

__all__ = ["_infinicore"]
