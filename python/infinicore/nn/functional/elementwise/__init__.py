"""Activations, thresholds and gates."""
