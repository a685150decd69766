"""Operators as functions, derived from their table."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._emit import emit
from infinicore.op._operator import Function
from infinicore.op._operator import function as operator_named


class Form:
    """An operator as a function; with `writes`, the results are its first arguments."""

    def __init__(self, name: str, writes: bool) -> None:
        self.operator, self.writes = name, writes
        self.__name__ = self.__qualname__ = f"{name}_" if writes else name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        this = operator_named(self.operator)
        outputs = [slot[0] for slot in this.outputs] if self.writes else []
        inputs = [slot[0] for slot in this.inputs]
        return f"{self.__name__}({', '.join([*outputs, *inputs, *_settings(this)])})"

    def __repr__(self) -> str:
        return f"<function {self.__doc__}>"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        this = operator_named(self.operator)
        given = list(args)
        out: Any = keywords.pop("out", None)
        if self.writes and this.outputs:
            needed = sum(not optional for _, _, optional in this.outputs)
            names = [slot[0] for slot in this.outputs]
            count = min(len(given), len(this.outputs))
            out = given[:count] + [keywords.pop(n) for n in names[count:] if n in keywords]
            if len(out) < needed:
                raise TypeError(f"{self.__name__}: expected {', '.join(names)} to write to")
            del given[:count]
        names = [slot[0] for slot in this.inputs]
        inputs = given[: len(names)]
        inputs += [keywords.pop(name, None) for name in names[len(inputs) :]]
        settings = _settings(this)
        rest = given[len(names) :]
        if len(rest) > len(settings):
            raise TypeError(f"{self.__name__}: too many arguments: expected {self.__doc__}")
        values = dict(zip(settings, rest, strict=False))
        for name, value in keywords.items():
            if name not in settings or name in values:
                raise TypeError(f"{self.__name__}: no argument {name!r}: expected {self.__doc__}")
            values[name] = value
        for name in settings:
            if name not in values and name not in this.defaults:
                raise TypeError(f"{self.__name__}: {name} is missing: expected {self.__doc__}")
        if this.found:  # the number of results is known only after the call
            return getattr(infinicore, self.operator)(*inputs)
        if isinstance(out, list) and len(out) == 1:
            out = out[0]
        made = emit(self.operator, *inputs, out=out, **values)
        return None if self.writes else made


def _settings(this: Function) -> list[str]:
    """The attributes and scalars that a caller sets, each once."""
    names = dict.fromkeys([*(each.name for each in this.attributes), *this.scalars])
    return [name for name in names if name not in this.derived and name not in this.counts]
