"""Checks of constructor arguments of modules: invalid ones raise an error that names the module
when it is constructed, instead of when it first runs.

A rule consists of the modules that it applies to, an argument, a condition on it (and on the
others), and the expected value in words. Arguments annotated `int` or `float` are checked without a
rule.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from infinicore import _core
from infinicore._errors import KNOWN, explain, wrong_argument

Rule = tuple[str, Callable[[Any, dict[str, Any]], bool], str]
_TYPES = ("int", "float", "int | None", "float | None")


def _is_row(value: Any, given: dict[str, Any]) -> bool:
    count = given["num_embeddings"]
    return value is None or -count <= value < count


def _is_padding(value: Any, given: dict[str, Any]) -> bool:
    if isinstance(value, str):
        steps = given["stride"]
        each = steps if isinstance(steps, (tuple, list)) else (steps,)
        return value == "valid" or (value == "same" and all(step == 1 for step in each))
    return hasattr(value, "__index__") or _are_integers(value, given)


def _is_ratio(value: Any, given: dict[str, Any]) -> bool:
    if (value is None) == (given["output_size"] is None):
        return False
    each = value if isinstance(value, (tuple, list)) else (value,)
    return value is None or all(0 < ratio < 1 for ratio in each)


def _are_numbers(value: Any, given: dict[str, Any]) -> bool:
    each = value if isinstance(value, (tuple, list)) else (value,)
    return value is None or all(hasattr(number, "__float__") for number in each)


def _is_tensor(value: Any, given: dict[str, Any]) -> bool:
    return value is None or isinstance(value, _core.Tensor)


def _is_positive(value: Any, given: dict[str, Any]) -> bool:
    return bool(value > 0)


def _are_positive(value: Any, given: dict[str, Any]) -> bool:
    return all(size > 0 for size in (value if isinstance(value, (tuple, list)) else (value,)))


def _is_multiple(value: Any, given: dict[str, Any]) -> bool:
    return bool(given["num_groups"] > 0 and value % given["num_groups"] == 0)


def _are_integers(value: Any, given: dict[str, Any]) -> bool:
    return all(hasattr(size, "__index__") for size in value)


_RULES: dict[str, tuple[Rule, ...]] = {
    "Bilinear": (("in1_features", _is_positive, "more than 0"),),
    "Embedding EmbeddingBag": (("padding_idx", _is_row, "one of the num_embeddings rows"),),
    "GroupNorm": (("num_channels", _is_multiple, "a multiple of num_groups, which is positive"),),
    "Conv1d Conv2d Conv3d": (
        ("groups", _is_positive, "more than 0"),
        ("padding", _is_padding, "sizes, 'valid', or 'same' where stride is 1"),
    ),
    "ConvTranspose1d ConvTranspose2d ConvTranspose3d": (("groups", _is_positive, "more than 0"),),
    "FractionalMaxPool2d FractionalMaxPool3d": (
        ("output_ratio", _is_ratio, "between 0 and 1, or None where output_size is given"),
        ("_random_samples", _is_tensor, "a tensor"),
        ("kernel_size", _are_positive, "more than 0"),
    ),
    "Hardtanh": (("max_val", lambda value, given: value > given["min_val"], "more than min_val"),),
    "HuberLoss": (("delta", _is_positive, "more than 0"),),
    "MultiMarginLoss": (("p", lambda value, _: value in (1, 2), "1 or 2"),),
    "TripletMarginLoss TripletMarginWithDistanceLoss": (("margin", _is_positive, "more than 0"),),
    "MultiheadAttention": (
        ("embed_dim", _is_positive, "more than 0"),
        ("num_heads", _is_positive, "more than 0"),
    ),
    "Transformer TransformerEncoderLayer TransformerDecoderLayer": (
        ("d_model", _is_positive, "more than 0"),
        ("nhead", _is_positive, "more than 0"),
    ),
    "Unflatten": (("unflattened_size", _are_integers, "integers in a tuple"),),
    "Upsample": (("scale_factor", _are_numbers, "a number, or one for each dimension"),),
}


def check_constructors(modules: Iterable[type]) -> None:
    """Makes the constructors of these modules check their arguments."""
    rules = {name: of for names, of in _RULES.items() for name in names.split()}
    for module in modules:
        KNOWN.add(module.__name__)
        module.__init__ = _checked(module, rules.get(module.__name__, ()))  # type: ignore[misc]


def _checked(module: type, rules: tuple[Rule, ...]) -> Any:
    inner: Any = module.__init__  # type: ignore[misc]
    signature_of = functools.cache(inspect.signature)  # when a module is constructed, not on import

    @functools.wraps(inner)
    def init(self: Any, *args: Any, **keywords: Any) -> None:
        signature = signature_of(inner)
        try:
            given = signature.bind(self, *args, **keywords)
            if wrong := wrong_argument(init, given.arguments, _TYPES):
                raise TypeError(f"{module.__name__}: {wrong}")
            given.apply_defaults()
            for argument, holds, expected in rules:
                _check(module.__name__, argument, holds, expected, given.arguments)
            inner(self, *args, **keywords)
        except Exception as error:
            shown = dict(zip(list(signature.parameters)[1:], args, strict=False)) | keywords
            raise explain(module, error, tuple(shown.values()), tuple(shown)) from None

    return init


def _check(name: str, argument: str, holds: Any, expected: str, given: dict[str, Any]) -> None:
    value = given[argument]
    try:
        if holds(value, given):
            return
    except TypeError:
        pass  # not comparable, so not what was expected
    raise ValueError(f"{name}: {argument} is {value!r}: expected {expected}")
