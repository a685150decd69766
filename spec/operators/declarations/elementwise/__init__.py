"""Elementwise mathematics, activations, comparison and fills."""
