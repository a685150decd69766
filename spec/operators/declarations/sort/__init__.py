"""Sorting, top-k, search and counts."""
