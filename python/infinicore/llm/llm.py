"""From prompts to texts, in one call."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import infinicore
from infinicore.llm.engine import Engine, EngineOptions
from infinicore.llm.files import open_model
from infinicore.llm.loading import no_collection
from infinicore.llm.request import Request
from infinicore.llm.sampling import SamplingParams

Prompt = str | Sequence[int]


@dataclass(frozen=True)
class Completion:
    """The output for a prompt. `logprobs` has the log probability of each token and those of the
    best alternatives, if requested."""

    text: str
    tokens: list[int]
    finish_reason: str  # "stop", "length" or "cancelled"
    prompt_tokens: int
    cached_tokens: int = 0
    logprobs: list[tuple[float, list[tuple[int, float]]]] | None = field(default=None, repr=False)


class LLM:
    """A language model: a Hugging Face folder, a .gguf file, or a known name ("smollm2").

    >>> llm = infinicore.llm.LLM("smollm2")
    >>> llm.generate(["Once upon a time"], max_tokens=4)[0].text
    ', the city of'
    """

    def __init__(self, model: Any, *, progress: bool = False, **options: Any) -> None:
        """`options` are those of `EngineOptions`. With `tp` or `pp` this process is one of several
        ranks that share the model (`infini launch`, mpirun, ...)."""
        with no_collection():
            self.engine = self._load(model, EngineOptions(**options), progress)

    @staticmethod
    def _load(model: Any, chosen: EngineOptions, progress: bool) -> Engine:
        checkpoint = open_model(model)
        bar = _Bar(checkpoint) if progress and sys.stderr.isatty() else None
        kind: type[Engine] = Engine
        if chosen.tp * chosen.pp > 1:
            from infinicore.llm.parallel import ParallelEngine

            kind = ParallelEngine
        try:
            return kind(checkpoint, chosen, progress=bar)
        finally:
            if bar is not None:
                bar.close()

    @property
    def tokenizer(self) -> Any:
        return self.engine.tokenizer

    def follow(self) -> bool:
        """On ranks other than 0: follow rank 0 until it ends, then return True."""
        return self.engine.follow()

    def close(self) -> None:
        """Make the other ranks end."""
        self.engine.close()

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        params: SamplingParams | None = None,
        **changes: Any,
    ) -> list[Completion]:
        """Complete prompts (texts or lists of token ids) as one batch. `changes` are settings of
        `SamplingParams`."""
        params = replace(params or SamplingParams(), **changes)
        requests: list[Request] = []
        try:
            for prompt in _several(prompts):
                requests.append(self._add(prompt, params))
            while any(request.finish_reason is None for request in requests):
                self.engine.step()
        except BaseException:
            for request in requests:
                self.engine.cancel(request)
            raise
        return [self.completion(request) for request in requests]

    def stream(
        self, prompt: Prompt, params: SamplingParams | None = None, **changes: Any
    ) -> Iterator[str]:
        """Yields pieces of text as they are generated."""
        params = replace(params or SamplingParams(), **changes)
        request = self._add(prompt, params)
        pieces = TextPieces(self.tokenizer, params.stop)
        try:
            while request.finish_reason is None:
                self.engine.step()
                yield from pieces.new(request)
        finally:
            self.engine.cancel(request)

    def chat(self, messages: Sequence[dict[str, Any]], **changes: Any) -> Completion:
        """The reply to a conversation: messages with "role" and "content"."""
        return self.generate([self.tokenizer.chat_ids(messages)], **changes)[0]

    def chat_stream(self, messages: Sequence[dict[str, Any]], **changes: Any) -> Iterator[str]:
        """Yields the reply to a conversation in pieces."""
        return self.stream(self.tokenizer.chat_ids(messages), **changes)

    def embed(self, prompts: Prompt | Sequence[Prompt]) -> Any:
        """Embeddings of prompts: the mean of the last hidden states of each prompt's tokens,
        normalised to length 1; float32 [prompts, hidden]."""
        rows = []
        for prompt in _several(prompts):
            hidden = self.engine.hidden(self._ids(prompt)).to(infinicore.float32).mean(0)
            rows.append(hidden / (hidden * hidden).sum().sqrt())
        return infinicore.stack(rows, 0)

    def _ids(self, prompt: Prompt) -> list[int]:
        if isinstance(prompt, str):
            ids: list[int] = self.tokenizer.encode(prompt)
            return ids
        return list(prompt)

    def _add(self, prompt: Prompt, params: SamplingParams) -> Request:
        return self.engine.add(self._ids(prompt), params)

    def completion(self, request: Request) -> Completion:
        """The output of a request."""
        text = self.tokenizer.decode(request.output)
        if request.finish_reason == "stop":
            text = cut(text, request.params.stop)[0]
        logprobs = None
        if request.params.logprobs is not None:
            logprobs = [(each.logprob or 0.0, each.top) for each in request.chosen]
        return Completion(
            text,
            list(request.output),
            request.finish_reason or "cancelled",
            len(request.prompt),
            request.cached,
            logprobs,
        )


def cut(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text up to the first stop text, and whether there was one."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return (text[: min(places)], True) if places else (text, False)


class TextPieces:
    """Yields the new text of a request after each step. Text that may become a stop text is held
    back."""

    def __init__(self, tokenizer: Any, stops: Sequence[str]) -> None:
        self._stream, self._stops = tokenizer.stream(), list(stops)
        self._read, self._waiting = 0, ""

    def new(self, request: Request) -> Iterator[str]:
        while self._read < len(request.output):
            self._waiting += self._stream.add(request.output[self._read])
            self._read += 1
        if request.finish_reason is not None:
            self._waiting += self._stream.rest()
        text, stopped = cut(self._waiting, self._stops)
        held = 0 if stopped or request.finish_reason is not None else self._held(text)
        ready, self._waiting = text[: len(text) - held], text[len(text) - held :]
        if ready:
            yield ready

    def _held(self, text: str) -> int:
        """The number of characters at the end that could begin a stop text."""
        longest = min(max((len(stop) for stop in self._stops), default=0) - 1, len(text))
        for size in range(longest, 0, -1):
            end = text[-size:]
            if any(len(stop) > size and stop.startswith(end) for stop in self._stops):
                return size
        return 0


def _several(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, str):
        return [prompts]
    listed = list(prompts)
    if listed and isinstance(listed[0], Integral):
        return [listed]  # type: ignore[list-item]
    return listed  # type: ignore[return-value]


class _Bar:
    """Progress of loading, on a terminal."""

    def __init__(self, checkpoint: Any) -> None:
        names = list(checkpoint.names())
        self._total = sum(checkpoint.get(name).nbytes for name in names) or 1
        self._done = 0

    def __call__(self, count: int) -> None:
        self._done += count
        share = min(self._done / self._total, 1.0)
        filled = "#" * int(share * 30)
        print(f"\rloading [{filled:<30}] {share:4.0%}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print("\r" + " " * 46 + "\r", end="", file=sys.stderr, flush=True)
