"""Hugging Face folders: config.json, *.safetensors, tokenizer.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infinicore.llm.files.json_file import read_json
from infinicore.llm.files.stored import Checkpoint, ModelFileError, Stored
from infinicore.nn.loading import map_safetensors


class Folder(Checkpoint):
    """A model in a folder. The weights share the files' pages."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self.source = str(self.path)
        if not (self.path / "config.json").exists():
            raise ModelFileError(f"{self.path}: no config.json: expected a Hugging Face folder")
        self.config = read_json(self.path / "config.json")
        text = self.config.get("text_config")  # of multimodal models
        if isinstance(text, dict):
            self.config = {**self.config, **text}
        generation = self.path / "generation_config.json"
        if generation.exists():
            ends = read_json(generation).get("eos_token_id")
            if ends is not None:
                self.config["eos_token_id"] = ends
        self._tensors: dict[str, Any] = {}
        for file in self._files():
            for name, tensor in map_safetensors(file)[0].items():
                if name in self._tensors:
                    raise ModelFileError(f"{self.path}: two files have a weight {name!r}")
                self._tensors[name] = tensor
        # Multimodal models have the text model under a prefix.
        self._prefix = (
            "language_model."
            if any(name.startswith("language_model.") for name in self._tensors)
            else ""
        )

    def _files(self) -> list[Path]:
        index = self.path / "model.safetensors.index.json"
        if not index.exists():
            found = sorted(self.path.glob("*.safetensors"))
            if not found:
                raise ModelFileError(f"{self.path}: no *.safetensors")
            return found
        places = read_json(index).get("weight_map")
        if not isinstance(places, dict):
            raise ModelFileError(f"{index}: weight_map is missing")
        names = sorted({str(name) for name in places.values()})
        for name in names:
            # A name with a path could refer to any file.
            if Path(name).name != name or name in ("", ".."):
                raise ModelFileError(f"{index}: {name!r}: expected the name of a file beside it")
            if not (self.path / name).exists():
                raise ModelFileError(f"{self.path}: {name} is missing, which {index.name} names")
        return [self.path / name for name in names]

    def names(self) -> Iterator[str]:
        # Other weights (the vision part) do not belong to the text model.
        size = len(self._prefix)
        return (name[size:] for name in self._tensors if name.startswith(self._prefix))

    def get(self, name: str) -> Stored | None:
        tensor = self._tensors.get(self._prefix + name)
        return None if tensor is None else Stored(name, tuple(tensor.shape), tensor)

    def tokenizer(self) -> Any:
        from infinicore.llm.tokenizer import tokenizer_of_folder

        return tokenizer_of_folder(self.path)
