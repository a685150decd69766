"""Activations, shrinkage, gates and softmax against ref."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812
from kit import ref
from kit.functions import Case, Drawn, Run, T, runs
from kit.functions import case as plain_case
from kit.place import put


def case(name: str, *args: Any, **keywords: Any) -> Case:
    if name in ("swiglu", "silu_and_mul", "causal_softmax"):
        keywords.setdefault("reference", globals()[f"_{name}"])
    keywords.setdefault("reference", getattr(ref, name, None))
    return plain_case(f"nn.functional.{name}", *args, **keywords)


def _swiglu(up: ref.Tensor, gate: ref.Tensor) -> ref.Tensor:
    return up * ref.silu(gate)


def _silu_and_mul(x: ref.Tensor) -> ref.Tensor:
    half = x.shape[-1] // 2
    return ref.silu(x[..., :half]) * x[..., half:]


def _causal_softmax(x: ref.Tensor) -> ref.Tensor:
    rows, columns = x.shape[-2:]
    seen = ref.ones(rows, columns, dtype=ref.bool).tril(columns - rows)
    return ref.softmax(x.masked_fill(~seen, -ref.inf), -1)


X: Drawn = T(3, 4, low=-6, high=6)
PLAIN = [
    "relu",
    "relu6",
    "silu",
    "gelu",
    "sigmoid",
    "tanh",
    "logsigmoid",
    "leaky_relu",
    "elu",
    "celu",
    "selu",
    "mish",
    "hardswish",
    "hardsigmoid",
    "hardtanh",
    "softplus",
    "softsign",
    "hardshrink",
    "softshrink",
    "tanhshrink",
]

CASES = [
    *(case(name, X) for name in PLAIN),
    *(case(name, T()) for name in ("silu", "elu", "hardshrink", "softplus", "softmax")),
    *(case(name, T(0, 3), skip="layouts out") for name in ("silu", "leaky_relu", "mish")),
    case("gelu", X, approximate="tanh"),
    case("leaky_relu", X, negative_slope=0.3),
    case("leaky_relu", X, negative_slope=2.0),
    case("elu", X, alpha=0.7),
    case("celu", X, alpha=0.7),
    case("hardtanh", X, min_val=-2.5, max_val=0.5),
    case("hardshrink", X, lambd=2.0),
    case("softshrink", X, lambd=2.0),
    case("softplus", X, beta=2.0, threshold=4.0),
    case("threshold", X, threshold=1.0, value=-7.0),
    case("rrelu", X),
    case("rrelu", X, lower=0.2, upper=0.4),
    case("prelu", T(3, 4, 2), T(4)),
    case("prelu", T(3, 4), T(1)),
    case("prelu", T(5), T(1)),
    case("glu", T(3, 4)),
    case("glu", T(6, 4), dim=0),
    case("swiglu", T(3, 4), T(3, 4)),
    case("silu_and_mul", T(3, 8)),
    case("softmax", T(3, 4, 5), dim=1),
    case("softmax", T(3, 4, 5), -1, dtype=None),
    case("softmin", T(3, 4), dim=0),
    case("log_softmax", T(3, 4), dim=1),
    case("log_softmax", T(3, 4), dim=0),
    case("causal_softmax", T(2, 3, 5), kinds="f32 f16 bf16"),
    case("causal_softmax", T(4, 4), kinds="f32 f16 bf16"),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


IN_PLACE = [
    "relu",
    "relu6",
    "silu",
    "leaky_relu",
    "elu",
    "celu",
    "selu",
    "mish",
    "hardswish",
    "hardsigmoid",
    "hardtanh",
    "rrelu",
]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    x = ref.linspace(-4, 4, 12).reshape(3, 4)
    ours = put(x.clone())
    assert getattr(F, name)(ours, inplace=True) is ours
    expected = getattr(ref, name)(x)
    ref.assert_close(ref.tensor(ours.tolist()), expected)


@pytest.mark.parametrize("name", ["relu_", "elu_", "selu_", "leaky_relu_", "hardtanh_", "celu_"])
def test_forms_that_write(name: str) -> None:
    x = ref.linspace(-4, 4, 12)
    ours = put(x.clone())
    assert getattr(F, name)(ours) is ours
    expected = getattr(ref, name[:-1])(x)
    ref.assert_close(ref.tensor(ours.tolist()), expected)


def test_softmax_in_another_type() -> None:
    x = infinicore.ones(2, 4, dtype=infinicore.float16)
    assert F.softmax(x, -1, dtype=infinicore.float32).dtype is infinicore.float32


def test_random_slopes() -> None:
    x = infinicore.full((1000,), -1.0)
    slopes = [-value for value in F.rrelu(x, 0.25, 0.5, training=True).tolist()]
    assert 0.25 <= min(slopes) < max(slopes) <= 0.5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.gelu(x, "fast"), "gelu: approximate is fast"),
        (lambda x: F.softshrink(x, -1.0), "softshrink: lambd is -1.0"),
        (lambda x: F.glu(x, 0), "glu: size 0 of input is 3: expected an even number"),
        (lambda x: F.prelu(x, infinicore.ones(2)), "prelu: weight.shape"),
        (lambda x: F.hardtanh(x, 2, 1), "hardtanh: min_val is 2"),
    ],
)
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        call(infinicore.ones(3, 4))


def test_dimension_out_of_range() -> None:
    with pytest.raises(IndexError, match="softmax: dim is 2"):
        F.softmax(infinicore.ones(3, 4), 2)
