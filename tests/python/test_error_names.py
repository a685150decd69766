"""Errors name the function that was called, even if an inner function raised them."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import infinicore
from infinicore import nn, tensor
from infinicore.nn import functional as F  # noqa: N812

pytestmark = pytest.mark.host

ones = infinicore.ones

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "tril_indices": (lambda: infinicore.tril_indices("x", 3), "row is 'x': expected an integer"),
    "view_as": (lambda: ones(2, 3).view_as(ones(4)), "called with .*other=float32"),
    "broadcast_to": (lambda: infinicore.broadcast_to(ones(3, 3), []), "size="),
    "amax": (lambda: infinicore.amax(ones(2, 3), out=ones(7)), "out has shape"),
    "solve": (lambda: infinicore.linalg.solve(ones(3, 3), ones(7)), "B=float32"),
    "hermite_polynomial_h": (
        lambda: infinicore.special.hermite_polynomial_h(ones(2, 3), ones(4)),
        "n=float32",
    ),
    "le": (lambda: infinicore.le(ones(2), ones(3)), "other=float32"),
    "cholesky_solve": (lambda: infinicore.cholesky_solve([], 1.5), "input is .*expected a tensor"),
    "full": (lambda: infinicore.full((2,), "x"), "fill_value is 'x': expected a number"),
    "upsample": (lambda: F.upsample(ones(2, 2)), "expected 3, 4 or 5"),
    "max_pool2d_with_indices": (lambda: F.max_pool2d_with_indices("x", 2), "input is 'x'"),
    "unsqueeze": (lambda: ones(2).unsqueeze("a"), "dim"),
    "det_": (lambda: ones(3, 2, 2).det_(), "expected"),
    "nrm2": (lambda: infinicore.nrm2(ones(2, 2)), "x has shape"),
    "kaiser": (lambda: infinicore.signal.windows.kaiser("x"), "M is 'x': expected an integer"),
    "where": (lambda: ones(2).where(ones(3) > 0, ones(2)), "do not broadcast"),
}


@pytest.mark.parametrize("name", CALLS)
def test_inner_functions_stay_unnamed(name: str) -> None:
    call, text = CALLS[name]
    with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
        call()
    assert re.match(rf"{name}: .*({text})", str(caught.value), re.DOTALL), str(caught.value)
    assert "infiniop" not in str(caught.value)


# They accept anything, or forward it.
ANYTHING = {"Operand", "function", "is_tensor", "is_storage", "load", "save"}
ANYTHING |= {"set_device", "set_default_device"}


def public() -> Iterator[tuple[str, Any]]:
    spaces = (infinicore, F, infinicore.linalg, infinicore.fft, infinicore.special)
    for space in (*spaces, infinicore.masked, infinicore.signal.windows):
        for name in sorted(getattr(space, "__all__", None) or dir(space)):
            value = getattr(space, name)
            if callable(value) and not inspect.isclass(value) and not name.startswith("_"):
                yield name, value


def test_every_function_refuses_nonsense_in_its_own_name() -> None:
    """All arguments are of an unsupported type: the error begins with the function's name."""
    wrong: list[str] = []
    count = 0
    for name, function in public():
        parameters = inspect.signature(function).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind in (0, 1)]
        if not needed or name in ANYTHING:
            continue
        try:
            function(*[Ellipsis] * len(needed))
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:
            count += 1
            own = {name, str(getattr(function, "__name__", name)).lstrip("_")}
            if str(error).partition(":")[0].rstrip("()") not in own | {f"{n}_" for n in own}:
                wrong.append(f"{name}: {error!r}")
    assert count > 900
    assert not wrong, "\n".join(wrong)


def test_errors_of_given_functions_stay_as_they_are() -> None:
    def fail(x: float) -> float:
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        ones(2).apply_(fail)


def test_public_functions_are_functions() -> None:
    for function in (infinicore.tril_indices, infinicore.linalg.solve, F.upsample):
        assert pickle.loads(pickle.dumps(function)) is function
        assert "(" in str(inspect.signature(function))


def test_keywords_that_are_unknown() -> None:
    with pytest.raises(TypeError, match=r"^arange: .*'nonsense'"):
        infinicore.arange(3, nonsense=1)
    with pytest.raises(TypeError, match=r"^GroupNorm: .*'nonsense'"):
        nn.GroupNorm(2, 4, nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^cat: .*missing|^cat: argument 'tensors'"):
        infinicore.cat()
    with pytest.raises(ValueError, match=r"^scatter_add: out has shape"):
        infinicore.scatter_add(ones(2, 2), 0, tensor([[0]]), ones(1, 1), out=ones(3, 3))
