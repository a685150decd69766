"""Functions called with objects of other libraries, and functions as objects."""

# Annotations are objects here, not strings: a user's function is recognised by them all the same.

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import infinicore

NUMBERS = [np.float32(2), np.float64(2), np.int64(2), np.int8(2), np.float16(2), np.bool_(True)]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
def test_numbers_of_numpy_are_numbers(number: Any) -> None:
    x = infinicore.tensor([1.0, 3.0])
    value = number.item()
    for made, plain in (
        (x * number, x * value),
        (number * x, value * x),
        (number - x, value - x),
        (x < number, x < value),
        (infinicore.maximum(x, number), infinicore.maximum(x, value)),
    ):
        assert made.dtype is plain.dtype
        assert made.tolist() == plain.tolist()


@pytest.mark.host
def test_arrays_among_operands() -> None:
    x, n = infinicore.tensor([1.0, 3.0]), np.array([10.0, 20.0], np.float32)
    for made in (x + n, n + x, infinicore.add(x, n), infinicore.add(n, x)):
        assert isinstance(made, infinicore.Tensor)
        assert made.dtype is infinicore.float32
        assert made.tolist() == [11.0, 23.0]
    n[0] = 0
    assert (x + n).tolist() == [1.0, 23.0]
    x += n
    assert x.tolist() == [1.0, 23.0]


def test_numbers_of_numpy_as_attributes() -> None:
    x = infinicore.ones(2, 3)
    assert x.sum(np.int64(1)).tolist() == [3.0, 3.0]
    assert x.clamp(np.float32(2), 3).tolist() == [[2.0] * 3] * 2
    assert x.reshape(np.int64(3), np.int32(2)).shape == (3, 2)


@pytest.mark.parametrize("wrong", ["a", object(), [1, 2], None], ids=lambda w: type(w).__name__)
def test_what_is_no_operand_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="add: "):
        infinicore.add(infinicore.ones(2), wrong)


def test_functions_are_objects_by_name() -> None:
    for function in (infinicore.add, infinicore.nn.functional.conv2d):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


def test_a_function_of_ones_own() -> None:
    @infinicore.function
    def capped(input: infinicore.Operand, other: infinicore.Operand | None = None) -> Any:
        return (input / 2).tanh() * 2 if other is None else input + other

    x = infinicore.tensor([0.5, 9.0])
    assert np.allclose(capped(x).numpy(force=True), np.tanh(x.numpy(force=True) / 2) * 2)
    assert np.allclose(capped(0.5).item(), np.tanh(0.25) * 2)  # the body sees a tensor
    assert capped(x, 1).tolist() == [1.5, 10.0]
    assert capped(x, np.float32(1)).tolist() == [1.5, 10.0]


@pytest.mark.parametrize("wrong", ["a", None, [1]], ids=str)
def test_what_is_no_number_fills_nothing(wrong: Any) -> None:
    with pytest.raises(TypeError, match="fill_: value is"):
        infinicore.ones(2).fill_(wrong)
    with pytest.raises(TypeError, match="expected a number"):
        infinicore.full((2,), wrong)


def test_what_is_no_type() -> None:
    x = infinicore.ones(2, 2)
    for call in (
        lambda: x.sum(dtype="x"),
        lambda: x.cumsum(0, dtype=5),
        lambda: infinicore.nn.functional.softmax(x, 1, dtype="x"),
    ):
        with pytest.raises(TypeError, match=r"dtype is .*: expected an element type"):
            call()


@pytest.mark.host
def test_integers_become_numpys_usual_ones() -> None:
    for kind, usual in ((infinicore.int64, np.int64), (infinicore.uint64, np.uint64)):
        x = infinicore.ones(2, dtype=kind)
        assert type(x.numpy()[0]) is usual
        assert memoryview(x).tolist() == [1, 1]


@pytest.mark.host
@pytest.mark.requires("torch")
def test_tensors_of_torch_among_operands() -> None:
    import torch

    x, t = infinicore.tensor([1.0, 3.0]), torch.tensor([10.0, 20.0])
    for made in (x + t, infinicore.add(x, t), infinicore.add(t, x), infinicore.maximum(x, t) + x):
        assert isinstance(made, infinicore.Tensor)
        assert made.tolist() == [11.0, 23.0]
    assert infinicore.matmul(x, t).item() == 70.0
    assert (x * torch.tensor(2.0)).tolist() == [2.0, 6.0]
    assert infinicore.cat([x, infinicore.from_torch(t)]).shape == (4,)
