"""Indexing: elements read and written by indices and masks."""
