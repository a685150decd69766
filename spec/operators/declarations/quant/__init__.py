"""Quantisation, and products with quantised weights."""
