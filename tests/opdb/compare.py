"""Compares a call with torch's: the kind of the first difference, and a message."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

import infinicore

from .samples import (
    Call,
    Operator,
    change_call,
    mapped,
    our_call,
    to_theirs,
    twin,
    wide,
    without_seed,
)

RIGHT = ("right", "")
SEEDS = 12  # a function with this many equal results is not random
# torch's own bounds between two right results: a few units of the last place.
BOUNDS = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


def run(function: Callable[..., Any], call: Call) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(call.input, *call.args, **call.kwargs)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    else:
        yield value


def tensors(call: Call) -> list[torch.Tensor]:
    parts = leaves([call.input, call.args, call.kwargs])
    return [each for each in parts if isinstance(each, (torch.Tensor, infinicore.Tensor))]


def compare(operator: Operator, call: Call, one_value: Callable[[Any], Any]) -> tuple[str, str]:
    theirs = change_call(twin, call)
    try:
        expected = run(operator.theirs, theirs)
    except Exception as error:
        return "skipped", f"torch: {error}"
    shared = change_call(twin, call)
    try:
        made = run(operator.ours, our_call(shared))
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"
    return (
        _structure(expected, made)
        or _views(theirs, expected, shared, made)
        or _values(operator, call, one_value, expected, mapped(to_theirs, made))
        or RIGHT
    )


def _structure(expected: Any, made: Any) -> tuple[str, str] | None:
    theirs, ours = list(leaves(expected)), list(leaves(made))
    if len(theirs) != len(ours):
        return "shape", f"torch gives {len(theirs)} results: {len(ours)}"
    for a, b in zip(theirs, ours, strict=True):
        if isinstance(a, torch.Tensor) != isinstance(b, infinicore.Tensor):
            return "type", f"torch gives a {type(a).__name__}: {type(b).__name__}"
        if not isinstance(a, torch.Tensor):
            continue
        if tuple(a.shape) != tuple(b.shape):
            return "shape", f"torch gives {tuple(a.shape)}: {tuple(b.shape)}"
        if a.dtype != to_theirs(b.dtype):
            return "dtype", f"torch gives {a.dtype}: {b.dtype!r}"
    return None


def _views(theirs: Call, expected: Any, ours: Call, made: Any) -> tuple[str, str] | None:
    """A result aliases an argument exactly where torch's does."""
    places = list(zip(tensors(theirs), tensors(ours), strict=True))
    for a, b in zip(leaves(expected), leaves(made), strict=True):
        if not isinstance(a, torch.Tensor) or a.numel() == 0:
            continue
        for their_argument, our_argument in places:
            memory, ours_memory = their_argument.untyped_storage(), our_argument.untyped_storage()
            is_view = a.untyped_storage().data_ptr() == memory.data_ptr()
            first = ours_memory.data_ptr()
            is_ours = first <= b.data_ptr() < first + ours_memory.nbytes()
            if is_view != is_ours:
                return "view", f"torch gives {'a view' if is_view else 'new memory'}"
            if not is_view:
                continue
            offset, our_offset = a.data_ptr() - memory.data_ptr(), b.data_ptr() - first
            # A dimension of one element has no meaningful stride.
            strides = [x for x, n in zip(a.stride(), a.shape, strict=True) if n > 1]
            our_strides = [x for x, n in zip(b.stride(), b.shape, strict=True) if n > 1]
            if (offset, strides) != (our_offset, our_strides):
                wanted, found = (offset, tuple(a.stride())), (our_offset, tuple(b.stride()))
                return "strides", f"torch gives offset and strides {wanted}: {found}"
    return None


def _values(
    operator: Operator, call: Call, one_value: Callable[[Any], Any], expected: Any, made: Any
) -> tuple[str, str] | None:
    theirs, ours = _processed(one_value, expected), _processed(one_value, made)
    exact: list[Any] | None = None
    for index, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if not isinstance(a, torch.Tensor):
            if a != to_theirs(b) and not (a != a and b != b):
                return "values", f"torch gives {a}: {b}"
            continue
        relative, absolute = BOUNDS.get(a.dtype, (0.0, 0.0))
        a, b = a.resolve_conj().resolve_neg(), b.resolve_conj().resolve_neg()
        if torch.allclose(a, b, relative, absolute, equal_nan=True) or _is_random(operator, call):
            continue
        if a.dtype in BOUNDS:
            exact = exact if exact is not None else _exact(operator, call, one_value)
            if index < len(exact) and _close_to(exact[index], a, b, relative, absolute):
                continue
        return "values", _worst(a, b)
    return None


def _processed(one_value: Callable[[Any], Any], result: Any) -> list[Any]:
    try:
        return list(leaves(one_value(result)))
    except (TypeError, AttributeError, IndexError):
        return list(leaves(result))


def _exact(operator: Operator, call: Call, one_value: Callable[[Any], Any]) -> list[Any]:
    # Integers become floats of the default type.
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return _processed(one_value, run(operator.theirs, change_call(wide, call)))
    except Exception:
        return []
    finally:
        torch.set_default_dtype(before)


def _close_to(
    exact: Any, theirs: torch.Tensor, ours: torch.Tensor, relative: float, absolute: float
) -> bool:
    """The error against double precision is at most twice torch's largest error."""
    if not isinstance(exact, torch.Tensor) or exact.shape != ours.shape:
        return False
    kind = torch.complex128 if exact.is_complex() else torch.float64
    exact, theirs, ours = exact.to(kind), theirs.to(kind), ours.to(kind)
    finite = exact.isfinite() & theirs.isfinite() & ours.isfinite()
    if not torch.equal(theirs[~finite].isnan(), ours[~finite].isnan()):
        return False
    ours_error, error = (ours - exact).abs()[finite], (theirs - exact).abs()[finite]
    infinite = ~finite & ~ours.isnan()
    if not torch.equal(theirs[infinite], ours[infinite]):
        return False
    if not finite.any():
        return True
    return bool((ours_error <= relative * exact[finite].abs() + absolute + 2 * error.max()).all())


def _worst(a: torch.Tensor, b: torch.Tensor) -> str:
    where = ~torch.isclose(a, b, 0, 0, equal_nan=True)
    at = int(where.flatten().nonzero()[0]) if bool(where.any()) else 0
    return f"torch gives {a.flatten()[at].item()} at element {at}: {b.flatten()[at].item()}"


def _is_random(operator: Operator, call: Call) -> bool:
    """torch's result depends on the seed, or contains uninitialised memory."""
    if "empty" in operator.info.name:
        return True
    function = operator.theirs
    if isinstance(function, types.FunctionType):  # the database's lambdas set a seed of their own
        scope = {**function.__globals__, "wrapper_set_seed": without_seed}
        given = function.__defaults__, function.__closure__
        copied = types.FunctionType(function.__code__, scope, function.__name__, *given)
        copied.__kwdefaults__ = function.__kwdefaults__
        function = copied
    results = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        results.append(list(leaves(run(function, change_call(twin, call)))))
    return any(
        isinstance(a, torch.Tensor) and not torch.equal(a, b) and not bool(a.isnan().any())
        for other in results[1:]
        for a, b in zip(results[0], other, strict=True)
    )


def refuses(operator: Operator, call: Call) -> tuple[str, str]:
    """Calls that torch rejects are rejected."""
    try:
        run(operator.theirs, change_call(twin, call))
        return "skipped", "torch accepts it"
    except Exception as error:
        theirs = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        run(operator.ours, our_call(change_call(twin, call)))
    except Exception as error:
        refusals = (TypeError, ValueError, RuntimeError, IndexError)
        # An unbound method of a non-tensor raises AttributeError.
        if isinstance(error, refusals) or not isinstance(call.input, torch.Tensor):
            return RIGHT
        return "error", f"torch: {theirs}; ours: {type(error).__name__}: {error}"
    return "accepted", f"torch: {theirs}"
