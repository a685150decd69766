"""BLAS level 1."""
