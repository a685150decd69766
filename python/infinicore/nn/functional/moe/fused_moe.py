"""The activations of MoE experts, between their two products."""

from __future__ import annotations

__all__ = ["ACT_SILU", "ACT_SITUGLU", "ACT_SWIGLU"]

ACT_SILU, ACT_SWIGLU, ACT_SITUGLU = 0, 1, 2
