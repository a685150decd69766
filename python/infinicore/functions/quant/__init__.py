"""Quantised rows, and products with quantised weights."""
