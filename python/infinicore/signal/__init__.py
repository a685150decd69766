"""Signals: `infinicore.signal.windows`."""

from __future__ import annotations

from infinicore.signal import windows

__all__ = ["windows"]
