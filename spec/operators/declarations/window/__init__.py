"""Windows: pooling, resampling, grids and patches."""
