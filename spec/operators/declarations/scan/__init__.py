"""Scans: running sums, products and extremes."""
