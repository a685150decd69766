"""Copies: the same elements in another layout."""
