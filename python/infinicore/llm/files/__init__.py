"""Models on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from infinicore.llm.files.known import KNOWN, fetch
from infinicore.llm.files.stored import Checkpoint, ModelFileError, Stored

__all__ = ["KNOWN", "Checkpoint", "ModelFileError", "Stored", "open_model"]


def open_model(model: Any) -> Checkpoint:
    """Open a Hugging Face folder, a .gguf file, or a model of a known name."""
    from infinicore.llm.files.folder import Folder
    from infinicore.llm.files.gguf import GgufFile

    path = Path(model).expanduser()
    if not path.exists() and str(model) in KNOWN:
        path = fetch(str(model))
    if not path.exists():
        raise FileNotFoundError(
            f"{model}: no such file or folder: expected a Hugging Face folder, a .gguf file, or"
            f" one of {', '.join(KNOWN)}"
        )
    return Folder(path) if path.is_dir() else GgufFile(path)
