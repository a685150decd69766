"""Derives all generated files from the spec: `python -m spec.generate --out DIR`."""
