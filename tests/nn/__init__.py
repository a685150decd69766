"""Modules, their state, and files of weights."""
