"""The names of `infinicore`, collected once: by the first import of this module."""

from __future__ import annotations

from infinicore import _namespace

NAMES = _namespace.collect()
