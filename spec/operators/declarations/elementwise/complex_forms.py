"""Elementwise operators on complex numbers, made of those that say `complex_as="form"`: each takes
and gives the real and the imaginary parts, as tensors of any strides, so that parts of complex
tensors are given as views. Back ends see maps of floats with two results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...language.complex_numbers import Complex
from ...language.expression import Array, Node
from ...language.model import REGISTRY, Operator, operator
from . import activation, arithmetic, comparison, elementwise, transcendental

_BASES = (activation, arithmetic, comparison, elementwise, transcendental)  # declared before


def _parts(result: Any) -> Any:
    return (result.real, result.imag) if isinstance(result, Complex) else result


def _unary(base: Callable[..., Any]) -> Callable[..., Any]:
    def definition(x_real: Array, x_imag: Array) -> Any:
        return _parts(base(Complex(x_real, x_imag)))

    return definition


def _binary(base: Callable[..., Any]) -> Callable[..., Any]:
    def definition(a_real: Array, a_imag: Array, b_real: Array, b_imag: Array) -> Any:
        return _parts(base(Complex(a_real, a_imag), Complex(b_real, b_imag)))

    return definition


def _outputs(base: Operator, count: int) -> dict[str, str]:
    """Names and dtypes of the results: of complex ones two, of real ones and truths one."""
    pairs = [Complex(Node("tensor"), Node("tensor")) for _ in range(count)]
    if isinstance(base.definition(*pairs), Complex):
        return {"y_real": "F32|F64", "y_imag": "=y_real"}
    return {"y": "BOOL" if base.outputs[0].dtypes == ("BOOL",) else "F32|F64"}


def _declare(base: Operator) -> None:
    binary = len(base.inputs) == 2
    inputs = ("a_real", "a_imag", "b_real", "b_imag") if binary else ("x_real", "x_imag")
    outputs = _outputs(base, len(base.inputs))
    first = inputs[0] if "BOOL" in outputs.values() else next(iter(outputs))
    lines = [f"out {name} {dtypes} [*S]" for name, dtypes in outputs.items()]
    for name in inputs:
        lines.append(f"{name} {'F32|F64' if name == first else f'={first}'} [*S]")
    form = (_binary if binary else _unary)(base.definition)
    form.__name__, form.__module__ = f"complex_{base.name}", __name__
    form.__doc__ = f"`{base.name}` of complex numbers, given as parts: {base.doc}"
    parameters = ", ".join([*(f"!{name}" for name in outputs), *inputs])
    operator(f"Complex{base.c_name}({parameters})", "\n".join(lines))(form)


_FORMS = ("form", "linear")
for _base in [each for each in REGISTRY.values() if each.options.get("complex_as") in _FORMS]:
    _declare(_base)


@operator(
    "ComplexConj(!y_real, !y_imag, x_real, x_imag)",
    """
    out y_real F8|F16|F32|F64 [*S]
    out y_imag =y_real        [*S]
    x_real     =y_real        [*S]
    x_imag     =y_real        [*S]
    """,
)
def complex_conj(x_real: Array, x_imag: Array) -> Any:
    """Conjugates of complex numbers, given as parts."""
    return x_real, -x_imag


@operator(
    "ComplexFromParts(!y_real, !y_imag, x_real, x_imag)",
    """
    out y_real F8|F16|F32|F64 [*S]
    out y_imag =y_real        [*S]
    x_real     PLAIN          [*S]
    x_imag     =x_real        [*S]
    """,
    rounds=True,
)
def complex_from_parts(x_real: Array, x_imag: Array) -> Any:
    """Complex numbers from tensors of their parts, converted as by `cast`. A back end can write
    both parts together, which two copies cannot."""
    return x_real, x_imag
