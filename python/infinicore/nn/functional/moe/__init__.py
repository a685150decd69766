"""Mixtures of experts (MoE)."""
