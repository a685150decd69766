"""What the declarations cannot say, for drawing cases: one entry for an operator that needs it."""

from __future__ import annotations

from kit.drawing import Rules

CASES: dict[str, Rules] = {}
