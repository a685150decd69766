"""Text to tokens and back, and conversations to text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infinicore.llm.files.json_file import read_json
from infinicore.llm.files.stored import ModelFileError

_PLAIN_CHAT = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


class Tokenizer:
    """A `tokenizers.Tokenizer` with the names of its special tokens and a template for chats."""

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
        """`special`: with the tokens that begin a text, as the model's own tokenizer adds them."""
        ids: list[int] = self.inner.encode(text, add_special_tokens=special).ids
        if special and self._add_bos:
            first = self.inner.token_to_id(self.bos)
            if first is not None and ids[:1] != [first]:
                ids = [first, *ids]
        return ids

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        """`special`: with the text of special tokens."""
        text: str = self.inner.decode(list(ids), skip_special_tokens=not special)
        return text

    def chat(self, messages: Sequence[dict[str, Any]], **extra: Any) -> str:
        """The text of a conversation, up to where the model answers."""
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def refuse(message: str) -> None:
            raise ValueError(f"the model's chat template refuses: {message}")

        # The template comes with the model's files: it must not reach anything else.
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = refuse
        environment.globals["strftime_now"] = _now
        try:
            template = environment.from_string(self.template or _PLAIN_CHAT)
            made: str = template.render(
                messages=list(messages),
                add_generation_prompt=True,
                bos_token=self.bos or "",
                eos_token=self.eos or "",
                **extra,
            )
        except TemplateError as error:
            raise ValueError(f"the model's chat template failed: {error}") from None
        return made

    def chat_ids(self, messages: Sequence[dict[str, Any]], **extra: Any) -> list[int]:
        # The template writes the special tokens itself.
        return self.encode(self.chat(messages, **extra), special=False)

    def stream(self) -> Stream:
        return Stream(self)


class Stream:
    """Text of tokens that come one by one. What could still change (half a character) waits."""

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
        # The next text is told apart from this one's last tokens, which it may depend on.
        self._begin, self._read = self._read, len(self._ids)
        return after[len(before) :]

    def rest(self) -> str:
        """What is left at the end."""
        before = self._tokenizer.decode(self._ids[self._begin : self._read])
        return self._tokenizer.decode(self._ids[self._begin :])[len(before) :]


def tokenizer_of_folder(path: Path) -> Tokenizer:
    """Of tokenizer.json, tokenizer_config.json and chat_template.jinja."""
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
    if isinstance(template, list):  # several, by name
        named = {each.get("name"): each.get("template") for each in template}
        template = named.get("default")
    beside = path / "chat_template.jinja"
    if beside.exists():
        template = beside.read_text(encoding="utf-8")
    return Tokenizer(
        inner,
        template,
        _name(given.get("bos_token")),
        _name(given.get("eos_token")),
        bool(given.get("add_bos_token", False)),
    )


def _name(token: Any) -> str | None:
    """A token's text; some files have an object with settings in its place."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None


def _now(form: str) -> str:
    from datetime import datetime

    return datetime.now().strftime(form)
