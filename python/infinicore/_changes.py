"""Counts how often something that a recorded graph may rely on was replaced: an attribute of a
module, or the memory of a tensor (`set_`). Whoever replaces it says so."""

from __future__ import annotations

count = 0


def note() -> None:
    global count
    count += 1
