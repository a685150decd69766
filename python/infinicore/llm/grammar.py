"""Output constrained to a JSON schema, by the package `llguidance`."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

_MOST_COMPILED = 64  # compiled schemas kept per tokenizer
# If arbitrary white space is allowed, models may generate it endlessly.
_DEFAULTS: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class Grammar:
    """The tokens that may come next. `mask` forbids the others in a row of logits, `accept`
    advances by a token. `schema` is a JSON schema as a dict or as text; {"type": "object"} is any
    object.

    A grammar that fails (`error`) allows only the end, so that one request never affects the
    others."""

    def __init__(self, schema: Any, tokenizer: Any) -> None:
        self._words, compiled = _compiled(schema, tokenizer)
        self._matcher = compiled.deep_copy()
        self.error = ""

    @property
    def is_complete(self) -> bool:
        """The text satisfies the schema and nothing can follow it."""
        return bool(self._matcher.is_stopped()) or bool(self.error)

    def mask(self, logits: Any) -> None:
        """Set the logits (a NumPy array [vocab]) of forbidden tokens to minus infinity."""
        import numpy as np

        bits = np.zeros(-(-self._words.vocab_size // 32), np.uint32)
        if not self.is_complete:
            self._matcher.unsafe_compute_mask_ptr(bits.ctypes.data, bits.nbytes)
            self._check()
        allowed = np.unpackbits(bits.view(np.uint8), bitorder="little").view(bool)[: len(logits)]
        ends = [token for token in self._words.eos_tokens if token < len(logits)]
        if self.is_complete:
            allowed[:] = False
            allowed[ends] = True
        if not allowed.any():
            return  # no end token is known: the engine stops by `is_complete`
        logits[len(allowed) :] = -np.inf
        logits[: len(allowed)][~allowed] = -np.inf

    def accept(self, token: int) -> None:
        """Advance by the chosen token."""
        if not self.is_complete:
            self._matcher.consume_token(token)
            self._check()

    def _check(self) -> None:
        if self._matcher.is_error():
            self.error = _one_line(self._matcher.get_error())


class _Words:
    """A tokenizer in llguidance's form, and the schemas compiled for it."""

    def __init__(self, tokenizer: Any) -> None:
        import llguidance

        inner = tokenizer.inner
        end = None if tokenizer.eos is None else inner.token_to_id(tokenizer.eos)
        self.inner = llguidance.LLTokenizer(inner.to_str(), eos_token=end)
        self.vocab_size = int(self.inner.vocab_size)
        self.eos_tokens = [] if end is None else [int(end)]
        self.compiled: OrderedDict[str, Any] = OrderedDict()


_words: WeakKeyDictionary[Any, _Words] = WeakKeyDictionary()
_lock = threading.Lock()


def _compiled(schema: Any, tokenizer: Any) -> tuple[_Words, Any]:
    """A matcher in its initial state, to be copied."""
    try:
        from llguidance import LLMatcher
    except ImportError:
        raise ModuleNotFoundError(
            "Grammar: output by a JSON schema needs the package llguidance: pip install llguidance"
        ) from None
    try:
        text = schema if isinstance(schema, str) else json.dumps(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"Grammar: schema is not JSON: {error}") from None
    with _lock:
        words = _words.get(tokenizer)
        if words is None:
            words = _words[tokenizer] = _Words(tokenizer)
        found = words.compiled.get(text)
    if found is None:
        # Compiled without the lock: a large schema takes seconds, and the engine needs others
        # meanwhile.
        try:
            source = LLMatcher.grammar_from_json_schema(text, defaults=_DEFAULTS)
            found = LLMatcher(words.inner, source)
        except ValueError as error:
            raise ValueError(f"Grammar: schema is refused: {_one_line(error)}") from None
        if found.is_error():
            raise ValueError(f"Grammar: schema is refused: {_one_line(found.get_error())}")
    with _lock:
        words.compiled[text] = found
        words.compiled.move_to_end(text)
        if len(words.compiled) > _MOST_COMPILED:
            words.compiled.popitem(last=False)
    return words, found


def check_schema(schema: Any, tokenizer: Any) -> None:
    """Compile a schema before its request is queued; raises ValueError for an invalid one."""
    _compiled(schema, tokenizer)


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:300]
