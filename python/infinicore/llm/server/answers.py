"""The JSON of responses, complete and in chunks."""

from __future__ import annotations

import math
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from infinicore.llm.llm import TextPieces, cut
from infinicore.llm.sampling import Chosen
from infinicore.llm.server.ticket import Ticket

_LEAST = -9999.0  # JSON has no infinity


class Choice:
    """The text of one output, read from its ticket as it grows."""

    def __init__(self, index: int, ticket: Ticket, tokenizer: Any, params: Any) -> None:
        self.index, self.ticket, self.tokenizer = index, ticket, tokenizer
        self.wants_logprobs = params.logprobs is not None
        self._stops = params.stop
        self._pieces = TextPieces(tokenizer, params.stop)
        self._reported = 0  # tokens whose logprobs were sent
        self.length = 0  # characters so far

    def new(self) -> tuple[str, list[Chosen]]:
        """The text and the tokens that have not been read yet."""
        waiting: Any = self.ticket  # the output and its finish reason, like a request
        text = "".join(self._pieces.new(waiting))
        tokens: list[Chosen] = []
        # Tokens whose text is held back are held back too.
        if self.wants_logprobs and (text or self.ticket.ended):
            tokens = self.ticket.chosen[self._reported :]
            self._reported += len(tokens)
        return text, tokens

    def whole(self) -> tuple[str, list[Chosen]]:
        """The text and the tokens of an output that has ended."""
        text = self.tokenizer.decode(self.ticket.output)
        if self.ticket.finish_reason == "stop":
            text = cut(text, self._stops)[0]
        return text, self.ticket.chosen


class Form(ABC):
    """The response format of /v1/chat/completions or /v1/completions."""

    prefix = kind = chunk_kind = ""

    def __init__(self, model: str) -> None:
        self.head = {
            "id": f"{self.prefix}-{secrets.token_hex(12)}",
            "object": self.kind,
            "created": int(time.time()),
            "model": model,
        }

    def whole(self, choices: Sequence[Choice], usage: dict[str, Any]) -> dict[str, Any]:
        made = [self.choice(each) for each in choices]
        return {**self.head, "choices": made, "usage": usage}

    def chunk(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return {**self.head, "object": self.chunk_kind, "choices": choices, **more}

    def first(self, choice: Choice) -> Iterator[dict[str, Any]]:
        """The first chunk of a stream."""
        yield from ()

    @abstractmethod
    def choice(self, choice: Choice) -> dict[str, Any]:
        """A choice of the complete response."""

    @abstractmethod
    def delta(self, choice: Choice) -> dict[str, Any] | None:
        """The new part, or None."""


class ChatForm(Form):
    prefix, kind, chunk_kind = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def choice(self, choice: Choice) -> dict[str, Any]:
        text, tokens = choice.whole()
        return {
            "index": choice.index,
            "message": {"role": "assistant", "content": text, "refusal": None},
            "logprobs": self._logprobs(choice, tokens),
            "finish_reason": choice.ticket.finish_reason,
        }

    def first(self, choice: Choice) -> Iterator[dict[str, Any]]:
        yield _chat_delta(choice, {"role": "assistant", "content": ""}, None, None)

    def delta(self, choice: Choice) -> dict[str, Any] | None:
        text, tokens = choice.new()
        end = choice.ticket.finish_reason
        if not text and not tokens and end is None:
            return None
        content = {"content": text} if text else {}
        return _chat_delta(choice, content, self._logprobs(choice, tokens), end)

    def _logprobs(self, choice: Choice, tokens: Sequence[Chosen]) -> dict[str, Any] | None:
        if not choice.wants_logprobs:
            return None

        def entry(token: int, logprob: float | None) -> dict[str, Any]:
            text = choice.tokenizer.decode([token], special=True)
            # An incomplete character has no text yet.
            data = None if "\ufffd" in text else list(text.encode())
            name = _token_text(choice.tokenizer, token)
            return {"token": name, "logprob": _finite(logprob), "bytes": data}

        content = [
            {**entry(each.token, each.logprob), "top_logprobs": [entry(*pair) for pair in each.top]}
            for each in tokens
        ]
        return {"content": content, "refusal": None}


class TextForm(Form):
    prefix, kind, chunk_kind = "cmpl", "text_completion", "text_completion"

    def choice(self, choice: Choice) -> dict[str, Any]:
        return self._made(choice, *choice.whole())

    def delta(self, choice: Choice) -> dict[str, Any] | None:
        text, tokens = choice.new()
        if not text and not tokens and choice.ticket.finish_reason is None:
            return None
        return self._made(choice, text, tokens)

    def _made(self, choice: Choice, text: str, tokens: Sequence[Chosen]) -> dict[str, Any]:
        return {
            "index": choice.index,
            "text": text,
            "logprobs": self._logprobs(choice, tokens),
            "finish_reason": choice.ticket.finish_reason,
        }

    def _logprobs(self, choice: Choice, tokens: Sequence[Chosen]) -> dict[str, Any] | None:
        if not choice.wants_logprobs:
            return None
        texts, offsets = [], []
        for each in tokens:
            texts.append(_token_text(choice.tokenizer, each.token))
            offsets.append(choice.length)
            choice.length += len(texts[-1])
        tops = [
            {_token_text(choice.tokenizer, token): _finite(value) for token, value in each.top}
            for each in tokens
        ]
        return {
            "tokens": texts,
            "token_logprobs": [_finite(each.logprob) for each in tokens],
            "top_logprobs": tops,
            "text_offset": offsets,
        }


def usage(tickets: Sequence[Ticket], n: int) -> dict[str, Any]:
    """`n` outputs have one prompt."""
    prompt = sum(each.prompt_tokens for each in tickets[::n])
    output = sum(len(each.output) for each in tickets)
    cached = sum(min(each.cached, each.prompt_tokens) for each in tickets[::n])
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _chat_delta(
    choice: Choice, content: dict[str, Any], logprobs: Any, end: str | None
) -> dict[str, Any]:
    return {"index": choice.index, "delta": content, "logprobs": logprobs, "finish_reason": end}


def _token_text(tokenizer: Any, token: int) -> str:
    text: str = tokenizer.decode([token], special=True)
    # For an incomplete character, the tokenizer's name of the token, so that such tokens differ.
    return tokenizer.inner.id_to_token(token) or text if "\ufffd" in text else text


def _finite(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else _LEAST
