"""The extension modules use the stable ABI from Python 3.12 on, which lacks CPython's macros.

Older versions build without it, so their compilers accept them.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACRO = re.compile(r"\bPy[A-Z][A-Za-z]*_(?:GET|SET|AS|READ|WRITE)_?[A-Z_]+\b")


def test_no_macros_outside_the_stable_abi() -> None:
    found = [
        f"{source.relative_to(ROOT)}: {name}"
        for source in (ROOT / "csrc" / "python").rglob("*.[ch]*")
        for name in MACRO.findall(source.read_text(encoding="utf-8"))
    ]
    assert not found
