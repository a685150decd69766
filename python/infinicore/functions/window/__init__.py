"""Windowed functions of signals and images."""
