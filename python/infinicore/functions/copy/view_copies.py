"""Copying forms of view functions: the name of the view with the suffix `_copy`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from infinicore._complex import view_as_complex, view_as_real
from infinicore._function import traced, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_tensor
from infinicore.functions.copy import split as parts
from infinicore.functions.copy import views


def _copying(view: Callable[..., Any]) -> Callable[..., Any]:
    """The copying form of a view function, with `out`."""
    name = f"{view.__name__.lstrip('_')}_copy"

    @functools.wraps(view)
    def copied(*args: Any, out: Any = None, **keywords: Any) -> Any:
        made = view(*args, **keywords)
        if out is not None:
            return write(name, out, made)
        return tuple(each.clone() for each in made) if isinstance(made, tuple) else made.clone()

    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    given = inspect.signature(view)
    setattr(copied, "__signature__", given.replace(parameters=[*given.parameters.values(), out]))  # noqa: B010
    copied.__name__ = copied.__qualname__ = name
    copied.__module__ = __name__
    copied.__doc__ = f"As `{name.removesuffix('_copy')}`, in memory of its own."
    # Recipes are shared by inputs of any offset, but that of as_strided is absolute.
    return copied if view is views.as_strided else traced(copied)


# ---- Views without a function of their own ----------------------------------------------------


def _unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    at = dim_of("unbind_copy", need_tensor("unbind_copy", "input", input), dim)
    return parts.unbind(input.movedim(at, 0).clone())


def _alias(input: Tensor) -> Tensor:
    return need_tensor("alias_copy", "input", input)


def _detach(input: Tensor) -> Tensor:
    return need_tensor("detach_copy", "input", input)


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    at = dim_of("slice_copy", need_tensor("slice_copy", "input", input), dim)
    if step < 1:
        raise ValueError(f"slice_copy: step is {step}: expected 1 or more")
    key = (*(slice(None),) * at, slice(start, end, step))
    return input[key]


def _unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return need_tensor("unfold_copy", "input", input).unfold(dimension, size, step)


def _view(input: Tensor, size: Any = None, dtype: Any = None) -> Tensor:
    made: Any = need_tensor("view_copy", "input", input)
    return made.reshape(size) if dtype is None else made.view(dtype)  # type: ignore[no-any-return]


def _permute(input: Tensor, dims: Any) -> Tensor:
    return views.permute(input, dims)


def _expand(input: Tensor, size: Any, *, implicit: bool = False) -> Tensor:
    return views.expand(input, size)


def _split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    return parts.split(input, split_size, dim)


alias_copy = _copying(_alias)
as_strided_copy = _copying(views.as_strided)
detach_copy = _copying(_detach)
diagonal_copy = _copying(views.diagonal)
expand_copy = _copying(_expand)
permute_copy = _copying(_permute)
select_copy = _copying(views.select)
slice_copy = _copying(_slice)
split_copy = _copying(_split)
split_with_sizes_copy = _copying(parts.split_with_sizes)
squeeze_copy = _copying(views.squeeze)
t_copy = _copying(views.t)
transpose_copy = _copying(views.transpose)
unbind_copy = _copying(_unbind)
unfold_copy = _copying(_unfold)
unsqueeze_copy = _copying(views.unsqueeze)
view_as_complex_copy = _copying(view_as_complex)
view_as_real_copy = _copying(view_as_real)
view_copy = _copying(_view)
