"""Texts and conversations to token ids, off the event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from infinicore.llm.server.errors import ApiError, bad
from infinicore.llm.server.worker import Worker

_LETTERS_AT_ONCE = 2048  # shorter texts are tokenised faster than handed to another thread


async def encode(worker: Worker, prompt: Any, param: str) -> list[int]:
    """The token ids of a text, or given ids, checked."""
    if not isinstance(prompt, str):
        most = worker.llm.engine.config.vocab
        for token in prompt:
            if token >= most:
                raise bad(param, token, f"token ids from 0 to {most - 1}")
        return list(prompt)
    tokenizer = worker.llm.tokenizer
    try:
        if len(prompt) <= _LETTERS_AT_ONCE:
            ids: list[int] = tokenizer.encode(prompt)
            return ids
        return await asyncio.to_thread(tokenizer.encode, prompt)
    except (ValueError, TypeError) as error:  # a lone surrogate
        raise bad(param, prompt, f"a text that can be encoded ({error})") from None


async def encode_chat(
    worker: Worker, messages: list[dict[str, Any]], extra: dict[str, Any]
) -> list[int]:
    """The token ids of a conversation, up to the start of the reply."""
    reserved = {"messages", "add_generation_prompt", "bos_token", "eos_token"} & extra.keys()
    if reserved:
        raise bad("chat_template_kwargs", min(reserved), "other names than the template's own")
    make = worker.llm.tokenizer.chat_ids
    try:
        if sum(len(each["content"]) for each in messages) <= _LETTERS_AT_ONCE:
            ids: list[int] = make(messages, **extra)
            return ids
        return await asyncio.to_thread(make, messages, **extra)
    except (ValueError, TypeError) as error:
        raise ApiError(400, str(error), "messages", "template_error") from None


def check_length(worker: Worker, ids: list[int], wanted: int | None, param: str) -> int:
    """The number of tokens that may be generated; raises if `wanted` do not fit."""
    longest = worker.longest
    if not ids:
        raise ApiError(400, f"{param} has no tokens: expected at least one", param, "invalid_value")
    room = longest - len(ids)
    if room < (wanted or 1):
        more = "" if wanted is None else f" and asks for {wanted} more"
        raise ApiError(
            400,
            f"{param} has {len(ids)} tokens{more}: expected at most {longest} in all",
            param,
            "context_length_exceeded",
        )
    return wanted or room
