"""Files of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infinicore.llm.files.stored import ModelFileError


def read_json(file: Path) -> dict[str, Any]:
    """The object in a file of JSON."""
    try:
        made = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{file}: {error}") from None
    if not isinstance(made, dict):
        raise ModelFileError(f"{file}: expected a JSON object, got {type(made).__name__}")
    return made
