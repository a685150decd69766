"""Tensors as text."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

from infinicore import _core
from infinicore._defaults import _complex_default
from infinicore._dtype import bool_, get_default_dtype, int64
from infinicore._tensor import Methods, Tensor

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options: dict[str, Any] = {**_PROFILES["default"], "sci_mode": None}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed: digits after the decimal point, the number of elements above
    which a tensor is summarized, how many are then shown at each edge, the line width, and whether
    numbers are in scientific notation (None: depending on the values). A profile is "default",
    "short" or "full".

    >>> infinicore.set_printoptions(precision=2)
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions: profile is {profile!r}: expected one of {', '.join(_PROFILES)}"
            )
        _options.update(_PROFILES[profile])
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise ValueError(f"set_printoptions: {name} is {value!r}: expected 0 or more")
        _options[name] = value
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current print options.

    >>> infinicore.get_printoptions()["precision"]
    4
    """
    return dict(_options)


@contextlib.contextmanager
def printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    sci_mode: bool | None = None,
    profile: str | None = None,
) -> Iterator[None]:
    """A context manager with the options of `set_printoptions`.

    >>> with infinicore.printoptions(precision=2):
    ...     print(infinicore.tensor([0.123456]))
    tensor([0.12])
    """
    before = dict(_options)
    try:
        set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)
        yield
    finally:
        _options.update(before)


# ---- Numbers -------------------------------------------------------------------------------------


class _Form:
    """One format for all numbers of a tensor, so that columns are aligned."""

    def __init__(self, values: list[float]) -> None:
        precision, mode = int(_options["precision"]), _options["sci_mode"]
        sizes = [abs(v) for v in values if math.isfinite(v) and v != 0]
        least, most = (min(sizes), max(sizes)) if sizes else (0.0, 0.0)
        self.whole = all(v == math.floor(v) for v in sizes)
        wide = bool(sizes) and (most / least > 1000 or most > 1e8)
        self.exponent = wide or (not self.whole and bool(sizes) and least < 1e-4)
        if mode is not None:
            self.exponent = mode
        self.pattern = f".{precision}{'e' if self.exponent else 'f'}"
        self.width = max((len(self.bare(v)) for v in values), default=0)

    def bare(self, value: float) -> str:
        if not math.isfinite(value):
            return format(value)
        if self.whole and not self.exponent:
            return f"{value:.0f}."
        return format(value, self.pattern)

    def text(self, value: float) -> str:
        return self.bare(value).rjust(self.width)


class _ComplexForm:
    def __init__(self, values: list[complex]) -> None:
        self.real = _Form([v.real for v in values])
        self.imag = _Form([v.imag for v in values])
        self.width = self.real.width + self.imag.width + 2

    def text(self, value: complex) -> str:
        negative = math.copysign(1, value.imag) < 0 and not math.isnan(value.imag)
        size = self.imag.bare(-value.imag if negative else value.imag)
        size = size.rjust(self.imag.width - 1 if negative else 0)
        return f"{self.real.text(value.real)}{'-' if negative else '+'}{size.strip()}j"


class _PlainForm:
    def __init__(self, values: list[Any]) -> None:
        self.width = max((len(str(v)) for v in values), default=0)

    def text(self, value: Any) -> str:
        return str(value).rjust(self.width)


def _leaves(values: Any) -> list[Any]:
    if not isinstance(values, list):
        return [values]
    if values and isinstance(values[0], list):
        return [leaf for each in values for leaf in _leaves(each)]
    return values


# ---- Tensors -------------------------------------------------------------------------------------


def _edges(tensor: Tensor, count: int) -> Tensor:
    """The part of a large tensor that is shown: the elements near the edges, on the host."""
    for dim, size in enumerate(tensor.shape):
        if size > 2 * count:
            ends = [tensor.narrow(dim, 0, count), tensor.narrow(dim, size - count, count)]
            shape = list(tensor.shape)
            shape[dim] = 2 * count
            joined = _core.empty(shape, tensor.dtype, tensor.device)
            for i, end in enumerate(ends):
                _core.copy_from(joined.narrow(dim, i * count, count), end)
            tensor = joined
    return tensor


def _lines(values: Any, shape: tuple[int, ...], form: Any, indent: int, count: int | None) -> str:
    """Values in brackets; `shape` is that of the whole tensor, `count` the items at an edge."""
    if not shape:
        return form.text(values)  # type: ignore[no-any-return]
    cut = count is not None and shape[0] > 2 * count
    if len(shape) == 1:
        items = [form.text(value) for value in values]
        if cut:
            items[count:count] = [" ..."]
        per_line = max(1, int((_options["linewidth"] - indent) // (form.width + 2)))
        rows = [items[i : i + per_line] for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(", ".join(row) for row in rows) + "]"
    parts = [_lines(value, shape[1:], form, indent + 1, count) for value in values]
    if cut:
        parts[count:count] = ["..."]
    between = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return "[" + between.join(parts) + "]"


def to_text(tensor: Tensor) -> str:
    name = "tensor("
    notes = []
    kind = tensor.dtype
    if tensor.device.type != "cpu":
        notes.append(f"device='{tensor.device}'")
    traced = tensor._role not in ("", "recorded") or _core.is_tracing()
    if traced or _core.is_graph_recording():
        state = "traced" if traced else "recorded"  # there are no values yet
        return f"{name}..., size={tuple(tensor.shape)}, dtype={kind!r}, {state})"
    if tensor.numel() == 0:
        if tensor.ndim != 1:
            notes.append(f"size={tuple(tensor.shape)}")
        if kind is not get_default_dtype():
            notes.append(f"dtype={kind!r}")
        return ", ".join([f"{name}[]", *notes]) + ")"
    if kind not in (get_default_dtype(), int64, bool_, _complex_default()):
        notes.append(f"dtype={kind!r}")
    count: int | None = None
    shown = tensor
    if tensor.numel() > _options["threshold"]:
        count = int(_options["edgeitems"])
        shown = _edges(tensor, count)
    values = shown.tolist()
    leaves = _leaves(values)
    form: Any
    if kind.is_complex:
        form = _ComplexForm(leaves)
    elif kind.is_floating_point:
        form = _Form(leaves)
    else:
        form = _PlainForm(leaves)
    body = _lines(values, tuple(tensor.shape), form, len(name), count)
    if not notes:
        return f"{name}{body})"
    last = len(body) - body.rfind("\n") - 1 + (len(name) if "\n" not in body else 0)
    suffix = ", ".join(notes)
    if last + len(suffix) + 3 > _options["linewidth"]:
        return f"{name}{body},\n{' ' * len(name)}{suffix})"
    return f"{name}{body}, {suffix})"


class _Methods(Methods):
    def __repr__(self) -> str:
        return to_text(self)

    def __str__(self) -> str:
        return to_text(self)

    def __format__(self, pattern: str) -> str:
        return format(self.item() if pattern and not self.ndim else str(self), pattern)
