"""Random numbers and sampling."""
