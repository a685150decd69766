"""Cumulative sums, products and extrema."""
