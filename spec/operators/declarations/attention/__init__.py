"""Attention: dense, paged, sparse, MLA, and the indexer that selects keys."""
