"""Products with weights."""
