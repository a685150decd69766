"""A model on disk: its configuration, its weights by name, its tokenizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infinicore._tensor import Tensor


class ModelFileError(ValueError):
    """A model file is damaged, incomplete or of an unknown kind."""


@dataclass(frozen=True)
class Stored:
    """A weight in a mapped file. `data` has the weight's own shape, or for a block format of GGUF
    (`packed` is its type number) bytes [rows, bytes of a row]."""

    name: str
    shape: tuple[int, ...]
    data: Tensor
    packed: int | None = None

    @property
    def nbytes(self) -> int:
        return int(self.data.numel()) * int(self.data.dtype.itemsize)


class Checkpoint(ABC):
    """Weights have Hugging Face's names, whatever their names in the file."""

    #: Keys and values as in a Hugging Face config.json.
    config: dict[str, Any]
    #: Where it came from, for messages.
    source: str

    @abstractmethod
    def names(self) -> Iterator[str]:
        """All weights."""

    @abstractmethod
    def get(self, name: str) -> Stored | None:
        """A weight, or None if there is none of that name."""

    @abstractmethod
    def tokenizer(self) -> Any:
        """An `infinicore.llm.tokenizer.Tokenizer`."""
