"""Vector functions by their BLAS names."""
