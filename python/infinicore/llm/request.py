"""A request: a prompt and its output."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field

from infinicore.llm.sampling import Chooser, Chosen, SamplingParams

_numbers = itertools.count(1)


@dataclass(eq=False)
class Request:
    """The tokens of the prompt and of the output so far; how many of them are cached (`kept`) and
    in which blocks."""

    prompt: list[int]
    params: SamplingParams
    chooser: Chooser
    number: int = field(default_factory=lambda: next(_numbers))
    output: list[int] = field(default_factory=list)
    chosen: list[Chosen] = field(default_factory=list)
    kept: int = 0
    first_position: int = 0  # first row of the tables of sines and cosines (LongRoPE)
    blocks: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    finish_reason: str | None = None  # "stop", "length" or "cancelled"
    begun: float = field(default_factory=time.monotonic)
    first_token: float | None = None
    cached: int = 0  # tokens of the prompt that were already cached
    preemptions: int = 0

    def __len__(self) -> int:
        return len(self.prompt) + len(self.output)

    @property
    def left(self) -> int:
        """Tokens that are not in the cache yet."""
        return len(self) - self.kept

    @property
    def root(self) -> bytes:
        """Requests with different rotations cannot share blocks."""
        return self.first_position.to_bytes(4, "little") if self.first_position else b""

    def tokens(self, begin: int, end: int) -> list[int]:
        size = len(self.prompt)
        if end <= size:
            return self.prompt[begin:end]
        if begin >= size:
            return self.output[begin - size : end - size]
        return self.prompt[begin:] + self.output[: end - size]
