"""Windows over signals."""
