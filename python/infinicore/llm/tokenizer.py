"""Text to tokens and back, and conversations to text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infinicore.llm.files.json_file import read_json
from infinicore.llm.files.stored import ModelFileError

_MOST_TEXT = 1 << 24  # characters of a repeated text in a template
_MOST_POWER = 1 << 12
_PLAIN_CHAT = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


class Tokenizer:
    """A `tokenizers.Tokenizer` with the names of its special tokens and a chat template."""

    def __init__(
        self,
        inner: Any,
        template: str | None = None,
        bos: str | None = None,
        eos: str | None = None,
        add_bos: bool = False,
    ) -> None:
        self.inner, self.template = inner, template
        self.bos, self.eos = bos, eos
        self._add_bos = add_bos and bos is not None

    def encode(self, text: str, special: bool = True) -> list[int]:
        """`special`: add the initial tokens that the model's own tokenizer adds."""
        ids: list[int] = self.inner.encode(text, add_special_tokens=special).ids
        if special and self._add_bos:
            first = self.inner.token_to_id(self.bos)
            if first is not None and ids[:1] != [first]:
                ids = [first, *ids]
        return ids

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        """`special`: include the text of special tokens."""
        text: str = self.inner.decode(list(ids), skip_special_tokens=not special)
        return text

    def chat(self, messages: Sequence[dict[str, Any]], **extra: Any) -> str:
        """The text of a conversation, up to the start of the reply."""
        environment = _environment()
        try:
            template = environment.from_string(self.template or _PLAIN_CHAT)
            made: str = template.render(
                messages=list(messages),
                add_generation_prompt=True,
                bos_token=self.bos or "",
                eos_token=self.eos or "",
                **extra,
            )
        except _RefusedError as error:
            raise ValueError(f"the model's chat template refuses: {error}") from None
        except Exception as error:  # a template may fail in any way
            kind, text = type(error).__name__, " ".join(str(error).split())[:300]
            raise ValueError(f"the model's chat template failed: {kind}: {text}") from None
        return made

    def chat_ids(self, messages: Sequence[dict[str, Any]], **extra: Any) -> list[int]:
        # The template writes the special tokens itself.
        return self.encode(self.chat(messages, **extra), special=False)

    def stream(self) -> Stream:
        return Stream(self)


class Stream:
    """Incremental decoding. Text that could still change (an incomplete character) is held back."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._begin = self._read = 0

    def add(self, token: int) -> str:
        """The new text, which may be empty."""
        self._ids.append(token)
        before = self._tokenizer.decode(self._ids[self._begin : self._read])
        after = self._tokenizer.decode(self._ids[self._begin :])
        if len(after) <= len(before) or after.endswith("\ufffd"):
            return ""
        # The next text may depend on the last tokens, so they are decoded again with it.
        self._begin, self._read = self._read, len(self._ids)
        return after[len(before) :]

    def rest(self) -> str:
        """The remaining text at the end."""
        before = self._tokenizer.decode(self._ids[self._begin : self._read])
        return self._tokenizer.decode(self._ids[self._begin :])[len(before) :]


def tokenizer_of_folder(path: Path) -> Tokenizer:
    """Loads tokenizer.json, tokenizer_config.json and chat_template.jinja."""
    from tokenizers import Tokenizer as Inner

    file = path / "tokenizer.json"
    if not file.exists():
        raise ModelFileError(f"{path}: no tokenizer.json")
    try:
        inner = Inner.from_file(str(file))
    except Exception as error:
        raise ModelFileError(f"{file}: {error}") from None
    settings = path / "tokenizer_config.json"
    given = read_json(settings) if settings.exists() else {}
    template = given.get("chat_template")
    if isinstance(template, list):  # several templates, by name
        named = {
            each.get("name"): each.get("template") for each in template if isinstance(each, dict)
        }
        template = named.get("default")
    beside = path / "chat_template.jinja"
    if beside.exists():
        try:
            template = beside.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelFileError(f"{beside}: {error}") from None
    return Tokenizer(
        inner,
        template if isinstance(template, str) else None,
        _name(given.get("bos_token")),
        _name(given.get("eos_token")),
        bool(given.get("add_bos_token", False)),
    )


class _RefusedError(Exception):
    """A template rejects the conversation with a reason."""


def _environment() -> Any:
    """A sandbox for templates, which are untrusted parts of model files. They get the same
    environment as in transformers."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(["*", "**"])

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            # Repeated texts and lists, and powers, could exhaust the memory.
            sizes = [len(each) for each in (left, right) if hasattr(each, "__len__")]
            counts = [abs(each) for each in (left, right) if isinstance(each, (int, float))]
            if (sizes and max(sizes) * max(counts, default=1) > _MOST_TEXT) or (
                operator == "**" and max(counts, default=0) > _MOST_POWER
            ):
                raise OverflowError(f"the result of {operator} is too large")
            return super().call_binop(context, operator, left, right)

    def refuse(message: str) -> None:
        raise _RefusedError(message)

    def to_json(value: Any, indent: int | None = None, **_: Any) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    made = Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = _now
    made.filters["tojson"] = to_json  # Jinja's own escapes < and & for HTML
    return made


def _name(token: Any) -> str | None:
    """A token's text; some files have an object with settings instead."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None


def _now(form: str) -> str:
    from datetime import datetime

    return datetime.now().strftime(form)
