"""Mixture of experts: routing, and feed-forward blocks."""
