"""libinfiniop opens the libraries under test, also when they are not those of the package."""

from __future__ import annotations

import os

if chosen := os.environ.get("INFINI_TEST_ROOT"):
    os.environ.setdefault("INFINI_ROOT", chosen)
