"""Windows of images: pooling, resampling, columns."""
