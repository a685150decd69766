"""Checked access to the fields of a request's JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from infinicore.llm.server.errors import ApiError, bad

#: Settings that clients send but that have no effect here.
IGNORED = frozenset(
    ("user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key")
)

#: Fields that would change the result but are unsupported here, with the values that mean "not
#: used".
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
    """Each `take` removes a field; fields left over at the end are unknown."""

    def __init__(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise ApiError(400, "the body is not a JSON object", code="invalid_json")
        # null is the same as absent.
        self._left = {name: value for name, value in body.items() if value is not None}

    def take(self, name: str) -> Any:
        return self._left.pop(name, None)

    def _checked(
        self, name: str, default: Any, is_fine: Callable[[Any], bool], expected: str
    ) -> Any:
        value = self.take(name)
        if value is None:
            return default
        if not is_fine(value):
            raise bad(name, value, expected)
        return value

    def text(self, name: str) -> str | None:
        made: str | None = self._checked(name, None, lambda v: isinstance(v, str), "a text")
        return made

    def flag(self, name: str) -> bool:
        return bool(self._checked(name, False, lambda v: isinstance(v, bool), "true or false"))

    def whole(self, name: str, least: int, most: int) -> int | None:
        expected = f"a whole number from {least} to {most}"
        made: int | None = self._checked(
            name, None, lambda v: isinstance(v, int) and _is_number(v, least, most), expected
        )
        return made

    def number(
        self, name: str, default: float, least: float, most: float, above: bool = False
    ) -> float:
        """`above`: the lower bound is exclusive."""
        begin = f"above {least:g}" if above else f"from {least:g} on"

        def is_fine(value: Any) -> bool:
            return _is_number(value, least, most) and not (above and value == least)

        return float(self._checked(name, default, is_fine, f"a number {begin}, at most {most:g}"))

    def texts(self, name: str, most: int) -> tuple[str, ...]:
        """One text or several, none of them empty."""

        def is_fine(value: Any) -> bool:
            listed = [value] if isinstance(value, str) else value
            are_texts = isinstance(listed, list) and all(isinstance(e, str) and e for e in listed)
            return are_texts and len(listed) <= most

        expected = f"a text or up to {most} texts that are not empty"
        value = self._checked(name, (), is_fine, expected)
        return (value,) if isinstance(value, str) else tuple(value)

    def wholes(self, name: str, most: int) -> tuple[int, ...]:
        return tuple(
            self._checked(
                name, (), lambda v: is_ids(v) and len(v) <= most, f"up to {most} token ids"
            )
        )

    def record(self, name: str) -> Fields | None:
        """A nested object."""
        value = self._checked(name, None, lambda v: isinstance(v, dict), "an object")
        return None if value is None else Fields(value)

    def end(self, inside: str = "") -> None:
        """Raises an error for fields that were not taken."""
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


def _is_number(value: Any, least: float, most: float) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and least <= value <= most


def is_ids(value: Any) -> bool:
    """A list of token ids."""
    return isinstance(value, list) and all(
        isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 1 << 31
        for each in value
    )
