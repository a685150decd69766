"""Attention: dense, packed, paged, latent (MLA) and sparse (DSA)."""
