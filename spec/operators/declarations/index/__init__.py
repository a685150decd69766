"""Indexing: gather, scatter and selection."""
