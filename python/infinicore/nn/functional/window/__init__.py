"""Pooling, resampling, and unfolding of images."""
