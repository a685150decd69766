"""Functions of elements."""
