"""The fields of a request's JSON, taken one by one and checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from infinicore.llm.server.errors import ApiError, bad

#: Settings that change nothing here, and that clients send.
IGNORED = frozenset(
    ("user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key")
)

#: Fields that change the result and that this server does not have, with what means "not used".
_REFUSED: dict[str, Sequence[Any]] = {
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "echo": (False,),
    "suffix": ("",),
    "best_of": (1,),
}


class Fields:
    """Each `take` removes a field; what is left over at the end is unknown."""

    def __init__(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise ApiError(400, "the body is not a JSON object", code="invalid_json")
        # null is the same as absent.
        self._left = {name: value for name, value in body.items() if value is not None}

    def take(self, name: str) -> Any:
        return self._left.pop(name, None)

    def text(self, name: str) -> str | None:
        value = self.take(name)
        if value is not None and not isinstance(value, str):
            raise bad(name, value, "a text")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise bad(name, value, "true or false")
        return value

    def whole(self, name: str, least: int, most: int) -> int | None:
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise bad(name, value, f"a whole number from {least} to {most}")
        return value

    def number(
        self, name: str, default: float, least: float, most: float = math.inf, above: bool = False
    ) -> float:
        """`above`: the least value is not one of those allowed."""
        value = self.take(name)
        if value is None:
            return default
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        begin = f"above {least:g}" if above else f"from {least:g} on"
        expected = f"a number {begin}" + ("" if math.isinf(most) else f", at most {most:g}")
        if not is_number or not least <= value <= most or (above and value == least):
            raise bad(name, value, expected)
        if not math.isfinite(value):
            raise bad(name, value, expected)
        return float(value)

    def texts(self, name: str, most: int) -> tuple[str, ...]:
        """One text or several, none of them empty."""
        value = self.take(name)
        if value is None:
            return ()
        listed = [value] if isinstance(value, str) else value
        is_fine = isinstance(listed, list) and all(isinstance(e, str) and e for e in listed)
        if not is_fine or len(listed) > most:
            raise bad(name, value, f"a text or up to {most} texts that are not empty")
        return tuple(listed)

    def wholes(self, name: str, most: int) -> tuple[int, ...]:
        value = self.take(name)
        if value is None:
            return ()
        if not is_ids(value) or len(value) > most:
            raise bad(name, value, f"up to {most} token ids")
        return tuple(value)

    def record(self, name: str) -> Fields | None:
        """An object with fields of its own."""
        value = self.take(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise bad(name, value, "an object")
        return Fields(value)

    def end(self, inside: str = "") -> None:
        """All fields were taken; raises for those that are not known."""
        for name, value in self._left.items():
            where = f"{inside}.{name}" if inside else name
            if name in IGNORED:
                continue
            if name not in _REFUSED:
                raise ApiError(400, f"{where}: unknown field", where, "unknown_field")
            if value not in _REFUSED[name]:
                raise ApiError(
                    400, f"{where} is not supported by this server", where, "unsupported_field"
                )


def is_ids(value: Any) -> bool:
    """A list of token ids."""
    return isinstance(value, list) and all(
        isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 1 << 31
        for each in value
    )
