"""The decorator that turns a body into a function of the package.

A body is written as if it ran on tensors. It runs once for each signature (layouts of tensors,
values of everything else), on tensors without data; the operators that it calls are recorded,
fused, and replayed by the extension module from then on.

A parameter annotated `Operand` takes a tensor or a number; a number's value is not part of the
signature, and the body sees a zero-dimensional tensor in its place.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from infinicore import _core
from infinicore._data import as_tensor
from infinicore._device import device
from infinicore._dtype import dtype
from infinicore._emit import copy
from infinicore._errors import KNOWN

if TYPE_CHECKING:
    from infinicore._tensor import Tensor

    # What the body sees. Callers may also pass numbers, as the package's stub says.
    Operand: TypeAlias = Tensor
else:
    Operand = Annotated[Any, "Operand"]  # recognized by this text

_core.add_identity_type(dtype)
_core.add_identity_type(device)
# Pickled by name, like Python functions.
copyreg.pickle(_core.Function, lambda made: str(made.__qualname__))  # type: ignore[attr-defined]

Result = TypeVar("Result")

_MISSING = object()

FUNCTIONS: dict[str, Any] = {}  # all functions by name, for tests and docs


def function(body: Callable[..., Result]) -> Callable[..., Result]:
    """A function of the package, with an `out=` argument if the body returns something and has
    none."""
    signature = inspect.signature(body)
    parameters = list(signature.parameters.values())
    inner: Callable[..., Any] = body
    if "out" not in signature.parameters and signature.return_annotation not in (None, "None"):
        parameters.append(
            inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
        )
        inner = _with_out(body)
    made = FUNCTIONS[body.__name__] = _recording(body, inner, parameters)
    made._has_in_place = True
    return made  # type: ignore[no-any-return]


def traced(body: Callable[..., Result]) -> Callable[..., Result]:
    """A public function that only calls others, replayed like theirs: it costs one look-up instead
    of the Python code around each of them. Its body must not read elements, or write to a tensor
    that it is given other than `out`."""
    parameters = list(inspect.signature(body).parameters.values())
    made = _recording(body, body, parameters)
    made._has_in_place = False
    return made  # type: ignore[no-any-return]


def _recording(
    body: Callable[..., Any], inner: Callable[..., Any], parameters: list[inspect.Parameter]
) -> Any:
    rows = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{body.__name__}: a body has no *args")
        preset = _MISSING if parameter.default is parameter.empty else parameter.default
        is_operand = "Operand" in str(parameter.annotation)
        rows.append((parameter.name, preset, is_operand, parameter.kind == parameter.KEYWORD_ONLY))
    inner = _with_checks(body.__name__.lstrip("_"), parameters, inner)

    @functools.wraps(inner)
    def outer(*args: Any, **keywords: Any) -> Any:
        # Arrays and numbers of other libraries arrive here, because their values are not part of
        # the signature.
        if any(map(_is_foreign, args)) or any(map(_is_foreign, keywords.values())):
            own = {name: _own(value) for name, value in keywords.items()}
            return made(*map(_own, args), **own)
        return inner(*args, **keywords)

    made: Any = _core.make_function(body.__name__, outer, rows, _MISSING)
    made._made_of = (outer, rows)
    signature = inspect.signature(body)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(body, name))
    made.__signature__ = signature.replace(parameters=parameters)
    KNOWN.add(body.__name__.lstrip("_"))
    return made


def as_operator(made: Any, reflected: bool = False) -> Any:
    """A function as a method such as `__add__`, which returns NotImplemented for operands that are
    neither tensors nor numbers; with its operands exchanged if it is `reflected`, like
    `__radd__`."""
    outer, rows = made._made_of

    @functools.wraps(outer)
    def body(*args: Any, **keywords: Any) -> Any:
        for each in args:
            if not isinstance(each, (_core.Tensor, int, float, complex)) and not _is_foreign(each):
                return NotImplemented
        return outer(*(args[::-1] if reflected else args), **keywords)

    form: Any = _core.make_function(made.__name__, body, rows, _MISSING)
    form.__doc__, form.__signature__ = made.__doc__, made.__signature__
    return form


def _is_foreign(value: Any) -> bool:
    """Whether an object is an array of another library: NumPy, torch, or any with DLPack."""
    if isinstance(value, _core.Tensor):
        return False
    return hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")


def _own(value: Any) -> Any:
    if not _is_foreign(value):
        return value
    return value.item() if value.ndim == 0 else as_tensor(value)


def _with_checks(
    name: str, parameters: list[inspect.Parameter], body: Callable[..., Any]
) -> Callable[..., Any]:
    """The body, with a check of the arguments annotated as tensors. It runs once for a signature,
    so the check costs nothing later."""
    wanted: list[tuple[int, str, tuple[type, ...], bool, str]] = []
    for place, parameter in enumerate(parameters):
        kind = str(parameter.annotation)
        optional = parameter.default is None or "None" in kind
        if parameter.name == "out":
            types: tuple[type, ...] = (_core.Tensor, tuple, list)
            wanted.append((place, "out", types, True, "a tensor"))
        elif kind in ("Tensor", "Tensor | None"):
            wanted.append((place, parameter.name, (_core.Tensor,), optional, "a tensor"))
        elif "Operand" in kind:
            types = (_core.Tensor, int, float, complex)
            wanted.append((place, parameter.name, types, optional, "a tensor or a number"))

    @functools.wraps(body)
    def inner(*args: Any, **keywords: Any) -> Any:
        for place, argument, types, optional, text in wanted:
            value = args[place] if place < len(args) else keywords.get(argument, _MISSING)
            if value is _MISSING or isinstance(value, types) or (value is None and optional):
                continue
            raise TypeError(f"{name}: {argument} is {type(value).__name__}: expected {text}")
        return body(*args, **keywords)

    return inner


def _with_out(body: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(body)
    def inner(*args: Any, out: Any = None, **keywords: Any) -> Any:
        result = body(*args, **keywords)
        return result if out is None else write(body.__name__, out, result)

    return inner


def write(name: str, out: Any, result: Any) -> Any:
    """Copies results into the `out` tensors, which are returned."""
    if isinstance(result, (tuple, list)):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}: out is {type(out).__name__}: expected {len(result)} tensors")
        for one, each in zip(out, result, strict=True):
            if one is not None:
                copy(name, one, each)
        return type(result)._make(out) if hasattr(result, "_make") else type(result)(out)
    copy(name, out, result)
    return out
