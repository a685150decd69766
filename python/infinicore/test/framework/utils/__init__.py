"""Comparing and converting tensors."""
