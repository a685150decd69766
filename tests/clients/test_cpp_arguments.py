"""Arguments of infinicore::op that are unset, do not fit, or are also results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.cpp.mapping import REFUSED

from . import cpp_calls
from .cpp_calls import FUNCTIONS, Caller, Entry
from .test_cpp_composites import argument, communicator, floats, ints, number_of

infinicore = pytest.importorskip("infinicore")

pytestmark = pytest.mark.requires("c++")

__all__ = ["communicator"]  # a fixture

# These report other errors first, or ignore unset tensors.
OTHERS = {"gptq_marlin_gemm_workspace_size", "deepseek_moe", "allgatherv_many_"}


def with_tensors() -> list[Any]:
    """Functions that need a tensor."""
    return [
        pytest.param(entry, id=f"{entry.function.full_name}-{entry.number}")
        for entry in FUNCTIONS
        if any(each.plain == "Tensor" for each in entry.function.arguments)
        and entry.function.full_name not in {*REFUSED, *OTHERS}
    ]


@pytest.mark.parametrize("entry", with_tensors())
def test_nothing_but_empty_tensors(call: Caller, entry: Entry) -> None:
    function = entry.function
    given = ["none" if each.plain == "std::string" else None for each in function.arguments]
    with pytest.raises(RuntimeError, match="is empty: expected a tensor") as caught:
        call(entry, given, [None] * 4, False)
    name, argument_name = str(caught.value).split(" is empty")[0].split(": ")
    assert argument_name in [each.name for each in function.arguments]
    # Errors of a static member name the function that does its work.
    names = {each.function.full_name for each in FUNCTIONS if each.header == entry.header}
    assert name in names


@pytest.mark.parametrize("name", ["lerp", "lerp_", "float_power", "float_power_"])
def test_overloads_with_an_empty_tensor(call: Caller, name: str) -> None:
    """Each argument in turn; a number is allowed where another overload takes a tensor."""
    for entry in FUNCTIONS:
        if entry.function.full_name != name:
            continue
        tensors = [a.name for a in entry.function.arguments if a.plain == "Tensor"]
        for empty in tensors:
            given = [
                0.5 if each.name not in tensors else None if each.name == empty else argument(x)
                for each, x in zip(
                    entry.function.arguments, [floats(2, 3) for _ in range(4)], strict=False
                )
            ]
            with pytest.raises(RuntimeError, match=f"{name}: {empty} is empty"):
                call(entry, given, [argument(floats(2, 3))], False)


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_results_over_inputs(call: Caller, recorded: bool) -> None:
    # Products of a batch, whose result is one of the factors.
    for position in (1, 2):
        factors = [floats(2, 3, 3), floats(2, 3, 3) * 2]
        product = factors[0] @ factors[1]
        given = [factors[position - 1], *factors]
        call(number_of("matmul_"), [*map(argument, given), 1.0], [], recorded)
        np.testing.assert_allclose(given[0].numpy(), product.numpy(), rtol=1e-5, atol=1e-5)
    # A tensor concatenated from its own halves, swapped.
    whole = floats(4, 3)
    expected = np.concatenate([whole.numpy()[2:], whole.numpy()[:2]])
    halves = [argument(whole[2:]), argument(whole[:2])]
    call(number_of("cat_"), [argument(whole), halves, 0], [], recorded)
    np.testing.assert_array_equal(whole.numpy(), expected)
    # beta * input + alpha * a @ b over input, over a, and over b.
    for position in range(3):
        given = [floats(2, 3, 3), floats(2, 3, 3) * 2, floats(2, 3, 3) - 1]
        expected = infinicore.baddbmm(*given, beta=0.5, alpha=2.0).numpy()
        arguments = [argument(each) for each in (given[position], *given)]
        call(number_of("baddbmm_"), [*arguments, 0.5, 2.0], [], recorded)
        np.testing.assert_allclose(given[position].numpy(), expected, rtol=1e-5, atol=1e-5)
    # A layer over its own input.
    x, weight = floats(3, 4), floats(4, 4)
    expected = (x @ weight.T).numpy()
    call(
        number_of("linear_"),
        [argument(x), argument(x), argument(weight), None, 1.0],
        [],
        recorded,
    )
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "situ_and_mul_",
            (floats(6), floats(2, 3), floats(2, 3), 4.0, 25.0),
            r"situ_and_mul_: out has shape \[6\]: expected \[2, 3\]",
        ),
        (
            "bilinear_",
            (floats(2, 3), floats(3, 4), floats(3, 5), floats(2, 4, 5), None),
            r"bilinear_: out has shape \[2, 3\]: expected \[3, 2\]",
        ),
        (
            "vocab_parallel_embedding_",
            (floats(3, 4), ints([3, 4, 5, 6]), floats(2, 3), 4, 6),
            r"vocab_parallel_embedding_: output has shape \[3, 4\]: expected \[4, 3\]",
        ),
        (
            "linear_w8a8i8_",
            (
                floats(6, 3),
                floats(3, 8),
                ints(np.ones((6, 8)), infinicore.int8),
                floats(6),
                None,
            ),
            r"linear_w8a8i8_: out has shape \[6, 3\]: expected \[3, 6\]",
        ),
    ],
)
def test_results_of_other_shapes(call: Caller, name: str, given: Any, message: str) -> None:
    """As many elements are not enough."""
    with pytest.raises(RuntimeError, match=message):
        call(number_of(name), [argument(value) for value in given], [], False)


def test_lists_of_experts(call: Caller) -> None:
    hidden = floats(2, 8)
    chosen, shares = ints([[0, 1], [1, 0]]), floats(2, 2)
    weights = [[floats(*shape) for _ in range(2)] for shape in ((4, 8), (4, 8), (8, 4))]

    def refusal(*lists: Any) -> str:
        given = [argument(hidden), argument(chosen), argument(shares)]
        given += [[argument(each) for each in some] for some in lists]
        with pytest.raises(RuntimeError) as caught:
            call(number_of("deepseek_moe"), [*given, 4, 2], [argument(floats(2, 8))], False)
        return str(caught.value)

    gate, up, down = weights
    said = refusal(gate[:1], up, down)
    assert said == "deepseek_moe_: gate_weights has 1 tensors: expected 2"
    said = refusal(gate, [up[0], floats(8, 4)], down)
    assert said.startswith("deepseek_moe_: up_weights[1] is ")
    assert ": expected [4, 8] F32 without gaps on CPU:0" in said
    said = refusal(gate, up, [floats(4, 8).T, down[1]])
    assert said.startswith("deepseek_moe_: down_weights[0] is ")


def test_scattering_to_another_rank(call: Caller, communicator: Any) -> None:
    comm, x = cpp_calls.Arg(data=communicator.value), floats(3, 4)
    made = argument(infinicore.zeros(3, 4))
    with pytest.raises(RuntimeError, match="reduce_scatterv: rank is 1: expected less than 1"):
        call(number_of("reduce_scatterv"), [argument(x), [3], 1, 0, comm], [made], False)
    given = [argument(infinicore.zeros(2, 4)), argument(x), [3], 0, comm]
    with pytest.raises(RuntimeError, match=r"output has shape \[2, 4\]: expected \[3, 4\]"):
        call(number_of("reduce_scatterv_"), given, [], False)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("allreduce", [0]),
        ("broadcast", [0]),
        ("allgather", [1]),
        ("allgatherv", [[3]]),
        ("reduce_scatter", [1, 0]),
        ("reduce_scatterv", [[3], 0, 0]),
    ],
)
def test_no_communicator(call: Caller, name: str, values: Any) -> None:
    x = floats(3, 4)
    with pytest.raises(RuntimeError, match="comm is no live communicator"):
        call(number_of(name), [argument(x), *values, None], [argument(floats(3, 4))], False)
