"""Functions that are an operator and nothing more."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit
from infinicore._function import Operand, function
from infinicore._tensor import Tensor


def _named(body: Any, name: str, module: str, text: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__module__ = module
    body.__doc__ = text
    return function(body)


def unary(module: str, name: str, text: str, example: str = "", operator: str = "") -> Any:
    """A function of one tensor, element by element. `example` is "call -> result"."""
    operator = operator or name

    def body(input: Tensor, *, out: Any = None) -> Tensor:
        return emit(operator, input, out=out)  # type: ignore[no-any-return]

    return _named(body, name, module, _text(text, example))


def binary(module: str, name: str, text: str, example: str = "", operator: str = "") -> Any:
    """A function of two tensors or numbers, element by element, broadcast."""
    operator = operator or name

    def body(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
        return emit(operator, input, other, out=out)  # type: ignore[no-any-return]

    return _named(body, name, module, _text(text, example))


def _text(text: str, example: str) -> str:
    if not example:
        return text
    call, result = example.split(" -> ")
    return f"{text}\n\n    >>> infinicore.{call}\n    {result}\n    "
