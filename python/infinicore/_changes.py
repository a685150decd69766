"""Counts replacements of things that recorded graphs may depend on: attributes of modules, and the
memory of tensors (`set_`). The code that replaces one increments the count."""

from __future__ import annotations

count = 0


def note() -> None:
    global count
    count += 1
