"""Padding and pixels."""
