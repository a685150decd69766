"""There are no gradients here, so the functions that disable them do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar, overload

Called = TypeVar("Called", bound=Callable[..., Any])


class _Nothing(contextlib.ContextDecorator):
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@overload
def no_grad() -> _Nothing: ...
@overload
def no_grad(function: Called) -> Called: ...
def no_grad(function: Any = None) -> Any:
    """A context manager and decorator without effect: there are no gradients.

    >>> with infinicore.no_grad():
    ...     infinicore.ones(1) + 1
    tensor([2.])
    """
    return _Nothing() if function is None else function


@overload
def inference_mode(mode: bool = True) -> _Nothing: ...
@overload
def inference_mode(mode: Called) -> Called: ...
def inference_mode(mode: Any = True) -> Any:
    """A context manager and decorator without effect: inference mode is always on.

    >>> with infinicore.inference_mode():
    ...     infinicore.ones(1) + 1
    tensor([2.])
    """
    return mode if callable(mode) else _Nothing()


def is_grad_enabled() -> bool:
    """False.

    >>> infinicore.is_grad_enabled()
    False
    """
    return False
