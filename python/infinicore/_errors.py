"""Error messages in terms of the function that the user called.

Functions are composed of others, and an error raised by one of those names that one. When it leaves
a public function (a native callable, which passes failed calls to `explain`), it is rewritten with
the public function's name, the user's argument and what was expected of it. Successful calls cost
nothing extra.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from infinicore import _core
from infinicore._dtype import NAMES, dtype

# Their text is their only argument, so it can be replaced; subclasses are left alone.
_PLAIN = {TypeError, ValueError, IndexError, RuntimeError, NotImplementedError, OverflowError}
_PLAIN |= {AttributeError, ZeroDivisionError, MemoryError}
# Errors for which an argument of a wrong type is the likely cause.
_OF_TYPES = (TypeError, AttributeError, OverflowError)

KNOWN: set[str] = set()  # names of functions, as errors begin with them

_HEAD = re.compile(r"([A-Za-z_][\w.]*)(?:\(\))?: ")
_NOT_BOUND = re.compile(r"[\w.<>]*?(\w+)\(\) (?=missing|takes|got|requires)")
_SUBJECT = re.compile(r"(\w+)(?=(?:\[[^]]*\]|\.\w+)* (?:is|has)\b)")
_SIGNATURE = re.compile(r"^\s+\d+\. \w+(\(.*\)) -> .*$", re.MULTILINE)
_LONGEST = 40  # length of a value in a message
_FEW = 8  # elements of a list that a message shows


def explain(
    function: Any, error: BaseException, args: tuple[Any, ...], names: tuple[str, ...] | None
) -> BaseException:
    """The error, or one to raise in its place."""
    is_plain = type(error) in _PLAIN or type(error).__name__ == "LinAlgError"
    if not is_plain or error.args != (str(error),) or not _is_ours(error):
        return error
    name = name_of(function)
    heads, text = _split(str(error))
    if heads and set(heads) <= {name, name.rstrip("_")} and "incompatible" not in text:
        error.args = (f"{name}: {text}",)  # its own names, or those of the out-of-place form
        return error
    given = dict(_given(function, args, names))
    wrong = wrong_argument(function, given) if type(error) in _OF_TYPES or not heads else None
    if wrong:
        kind: type[BaseException] = TypeError
        text = wrong
    else:
        kind = TypeError if isinstance(error, AttributeError) else type(error)
        text = _in_words_of(given, text)
    error.args = (f"{name}: {text}",)
    if kind is type(error):
        return error
    other = kind(*error.args)
    other.__traceback__ = error.__traceback__
    return other


def name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or getattr(function.__wrapped__, "__name__", "")
    return str(name).lstrip("_")


def _is_ours(error: BaseException) -> bool:
    """Not for functions that users pass to ours."""
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__", "")).startswith(("infinicore", "inspect"))


def _split(text: str) -> tuple[list[str], str]:
    """Splits off function names in front of the text."""
    if found := _NOT_BOUND.match(text):
        return [], text[found.end() :]
    heads: list[str] = []
    while (found := _HEAD.match(text)) and _is_function(found[1]):
        heads.append(found[1].lstrip("_"))
        text = text[found.end() :]
    return heads, text


def _is_function(word: str) -> bool:
    if word.startswith(("infiniop", "infinirt", "infiniccl")):
        return True
    return word.lstrip("_") in KNOWN or hasattr(_core.Tensor, word) or hasattr(_core, word)


# ---- The arguments ------------------------------------------------------------------------------


def _given(
    function: Any, args: tuple[Any, ...], names: tuple[str, ...] | None
) -> Iterator[tuple[str, Any]]:
    """The arguments by the names of their parameters."""
    count = len(args) - len(names or ())
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter, value in zip(parameters, args[:count], strict=False):
        if parameter.kind is parameter.VAR_POSITIONAL:
            break
        yield parameter.name, value
    yield from zip(names or (), args[count:], strict=True)


def wrong_argument(
    function: Any, given: Mapping[str, Any], only: tuple[str, ...] = ()
) -> str | None:
    """Describes the first argument that does not have its parameter's type, among parameters of
    known types."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    for name, value in given.items():
        parameter = parameters.get(name)
        if parameter is None or value is parameter.default:
            continue
        if only and str(parameter.annotation) not in only:
            continue
        wanted = [word.strip() for word in str(parameter.annotation).split("|")]
        kinds = [_KINDS.get(word) for word in wanted]
        if any(kind is None or kind[1](value) for kind in kinds):
            continue
        expected = " or ".join(dict.fromkeys(kind[0] for kind in kinds if kind))
        found = type(value).__name__ if isinstance(value, (type(None), _core.Tensor)) else None
        return f"{name} is {found or _shown(value)}: expected {expected}"
    return None


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _core.Tensor) or hasattr(value, "__dlpack__")


def _is_integer(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return value.numel() == 1 if isinstance(value, _core.Tensor) else hasattr(value, "__index__")


def _is_number(value: Any) -> bool:
    if isinstance(value, _core.Tensor):
        return bool(value.numel() == 1)
    return isinstance(value, (int, float, complex)) or hasattr(value, "__float__")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or hasattr(value, "__iter__")


# By the text of the annotation; others, such as Any, are not checked.
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "Tensor": ("a tensor", _is_tensor),
    "Operand": ("a tensor or a number", lambda value: _is_tensor(value) or _is_number(value)),
    "int": ("an integer", _is_integer),
    "float": ("a number", _is_number),
    "complex": ("a number", _is_number),
    "bool": ("a boolean", lambda value: isinstance(value, (bool, int))),
    "str": ("a string", lambda value: isinstance(value, str)),
    "dtype": ("an element type such as infinicore.float32", lambda value: isinstance(value, dtype)),
    "None": ("None", lambda value: value is None),
    "Sequence[int]": ("integers in a list", _is_list),
    "Sequence[Tensor]": ("tensors in a list", _is_list),
    "Sequence[Any]": ("a list", _is_list),
    "list[int]": ("integers in a list", _is_list),
    "tuple[int, ...]": ("integers in a tuple", _is_list),
}


# ---- The text -----------------------------------------------------------------------------------


def _in_words_of(given: dict[str, Any], text: str) -> str:
    """The text with the public parameter names; if it mentions none, all arguments are appended."""
    if "incompatible function arguments" in text and (expected := _SIGNATURE.findall(text)):
        text = f"the arguments don't fit: expected {' or '.join(expected)}"
    text = re.sub(r"\b(\w+)_desc\b", r"\1", text)
    text = re.sub(r"(?<=dtype )[A-Z]\w+|(?<=expected )[A-Z]+\d+\b", _dtype_name, text)
    subject = _SUBJECT.match(text)
    if subject and subject[1] not in given:
        meant = [name for name, value in given.items() if _is_about(value, text)]
        if len(meant) == 1:
            return meant[0] + text[subject.end(1) :]
    if not given or any(re.search(rf"\b{name}\b", text) for name in given):
        return text
    called = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
    return f"{text} (called with {called})"


def _is_about(value: Any, text: str) -> bool:
    """Whether a description in the text matches the value."""
    _, _, said = text.partition(" is ") if " is " in text else text.partition(" has ")
    found, _, _ = said.partition(": expected")
    if isinstance(value, _core.Tensor):
        shape = [f"shape {tuple(value.shape)}", f"shape {list(value.shape)}"]
        kind = f"{value.dtype!r}".rpartition(".")[2]
        return found in (*shape, f"dtype {kind}", f"type {value.dtype!r}")
    if isinstance(value, (list, tuple)):
        return found == type(value).__name__ or (len(value) <= _FEW and found == _shown(value))
    return found in (repr(value), str(value), type(value).__name__)


def _shown(value: Any) -> str:
    if isinstance(value, _core.Tensor):
        return f"{value.dtype!r} {tuple(value.shape)}".removeprefix("infinicore.")
    if type(value) in (list, tuple):  # not their repr: tensors among them would be read
        few = [_shown(each) for each in value[:_FEW]] + ["..."] * (len(value) > _FEW)
        text = f"[{', '.join(few)}]" if type(value) is list else f"({', '.join(few)})"
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _dtype_name(found: re.Match[str]) -> str:
    for name, kind in NAMES.items():
        if kind._code == found[0]:
            return name
    return found[0]


_core.set_explainer(explain)
