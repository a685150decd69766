"""From the JSON of a request to prompts and sampling parameters."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from infinicore.llm.sampling import SamplingParams
from infinicore.llm.server.errors import ApiError, bad
from infinicore.llm.server.fields import Fields, is_ids

_MOST_PROMPTS = 2048
_MOST_STOPS = 16
_ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass
class Generation:
    """A request for text. `max_tokens` None: as many as fit."""

    model: str | None
    params: SamplingParams
    max_tokens: int | None
    n: int
    stream: bool
    usage_at_end: bool
    messages: list[dict[str, Any]] = field(default_factory=list)
    template: dict[str, Any] = field(default_factory=dict)
    prompts: list[Any] = field(default_factory=list)

    def of_choice(self, index: int, max_tokens: int) -> SamplingParams:
        """The parameters of the index-th of `n` outputs, which differ only in the seed."""
        seed = self.params.seed
        if seed is None:
            seed = secrets.randbits(63)
        elif index:
            text = f"{seed},{index}".encode()
            seed = int.from_bytes(blake2b(text, digest_size=7).digest(), "little")
        return replace(self.params, seed=seed, max_tokens=max_tokens)


def read_json(body: bytes) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is not JSON: {error}", code="invalid_json") from None


def chat(body: Any) -> Generation:
    """/v1/chat/completions"""
    fields = Fields(body)
    messages = _messages(fields.take("messages"))
    wanted = fields.whole("max_completion_tokens", 1, 1 << 30)
    older = fields.whole("max_tokens", 1, 1 << 30)
    logprobs = fields.flag("logprobs")
    top = fields.whole("top_logprobs", 0, 20)
    if top is not None and not logprobs:
        raise bad("top_logprobs", top, "logprobs to be true beside it")
    template = fields.take("chat_template_kwargs")
    if template is not None and not isinstance(template, dict):
        raise bad("chat_template_kwargs", template, "an object")
    made = _common(fields, (top or 0) if logprobs else None)
    made.messages, made.template = messages, template or {}
    made.max_tokens = wanted if wanted is not None else older
    fields.end()
    return made


def completion(body: Any) -> Generation:
    """/v1/completions"""
    fields = Fields(body)
    prompts = inputs(fields, "prompt")
    wanted = fields.whole("max_tokens", 1, 1 << 30)
    made = _common(fields, fields.whole("logprobs", 0, 5))
    made.prompts, made.max_tokens = prompts, 16 if wanted is None else wanted
    fields.end()
    return made


def inputs(fields: Fields, name: str) -> list[Any]:
    """A text, token ids, or a list of either."""
    value = fields.take(name)
    if value is None:
        raise ApiError(400, f"{name} is missing", name, "missing_field")
    if isinstance(value, str) or (value and is_ids(value)):
        return [value]
    is_fine = isinstance(value, list) and all(isinstance(e, str) or is_ids(e) for e in value)
    if not is_fine or not value or len(value) > _MOST_PROMPTS:
        raise bad(
            name, value, f"a text, token ids, or a list of up to {_MOST_PROMPTS} of one of them"
        )
    return list(value)


def _common(fields: Fields, logprobs: int | None) -> Generation:
    params = SamplingParams(
        max_tokens=1,  # set when the prompt is known
        temperature=fields.number("temperature", 1.0, 0, 2),
        top_p=fields.number("top_p", 1.0, 0, 1, above=True),
        top_k=fields.whole("top_k", 0, 1 << 30) or 0,
        min_p=fields.number("min_p", 0.0, 0, 1),
        repetition_penalty=fields.number("repetition_penalty", 1.0, 0, 10, above=True),
        presence_penalty=fields.number("presence_penalty", 0.0, -2, 2),
        frequency_penalty=fields.number("frequency_penalty", 0.0, -2, 2),
        stop=fields.texts("stop", _MOST_STOPS),
        stop_token_ids=fields.wholes("stop_token_ids", _MOST_STOPS),
        ignore_eos=fields.flag("ignore_eos"),
        seed=fields.whole("seed", -(1 << 63), (1 << 63) - 1),
        logprobs=logprobs,
        json_schema=_schema(fields.record("response_format")),
    )
    stream = fields.flag("stream")
    options = fields.record("stream_options")
    usage_at_end = False
    if options is not None:
        if not stream:
            raise ApiError(
                400, "stream_options is only allowed with stream: true", "stream_options"
            )
        usage_at_end = options.flag("include_usage")
        options.take("include_obfuscation")
        options.end("stream_options")
    n = fields.whole("n", 1, 128) or 1
    return Generation(fields.text("model"), params, None, n, stream, usage_at_end)


def _schema(form: Fields | None) -> Any:
    """The schema of response_format; None: any text."""
    if form is None:
        return None
    kind = form.take("type")
    if kind == "text":
        form.end("response_format")
        return None
    if kind == "json_object":
        form.end("response_format")
        return {"type": "object"}
    if kind != "json_schema":
        raise bad("response_format.type", kind, "text, json_object or json_schema")
    inner = form.record("json_schema")
    form.end("response_format")
    if inner is None:
        name = "response_format.json_schema"
        raise ApiError(400, f"{name} is missing", name, "missing_field")
    schema = inner.take("schema")
    for known in ("name", "description", "strict"):
        inner.take(known)
    inner.end("response_format.json_schema")
    if not isinstance(schema, dict):
        raise bad("response_format.json_schema.schema", schema, "an object")
    return schema


def _messages(value: Any) -> list[dict[str, Any]]:
    if value is None:
        raise ApiError(400, "messages is missing", "messages", "missing_field")
    if not isinstance(value, list) or not value:
        raise bad("messages", value, "a list of at least one message")
    return [_message(each, f"messages[{i}]") for i, each in enumerate(value)]


def _message(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise bad(where, value, "an object with role and content")
    role = value.get("role")
    if role not in _ROLES:
        raise bad(f"{where}.role", role, "one of " + ", ".join(_ROLES))
    content = value.get("content")
    if isinstance(content, list):
        for i, part in enumerate(content):
            is_text = isinstance(part, dict) and part.get("type") == "text"
            if not is_text or not isinstance(part.get("text"), str):
                raise bad(f"{where}.content[{i}]", part, "a part of the type text")
        content = "".join(part["text"] for part in content)
    if content is None and role == "assistant":
        content = ""
    if not isinstance(content, str):
        raise bad(f"{where}.content", content, "a text, or a list of parts of the type text")
    # Templates of open models do not know the role "developer".
    return {"role": "system" if role == "developer" else role, "content": content}
