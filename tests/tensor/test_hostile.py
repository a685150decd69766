"""Hostile arguments: an error message, never a crash, and no leaks."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import _core
from infinicore.nn import functional
from kit import process

X = infinicore.arange(6, dtype=infinicore.float32)


# ---- Objects that are not tensors ---------------------------------------------------------------


class Uninitialised(infinicore.Tensor):  # type: ignore[misc]
    def __init__(self) -> None:
        pass


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize(
    "make", [Uninitialised, lambda: infinicore.Tensor.__new__(infinicore.Tensor)]
)
def test_tensor_without_init(make: Any) -> None:
    empty = make()
    for use in (
        lambda: empty[0],
        lambda: infinicore.add(empty, 1),
        lambda: infinicore.cat([empty, X]),
        lambda: memoryview(empty),
        lambda: infinicore.from_dlpack(empty),
        lambda: empty.shape,
        lambda: empty.tolist(),
        lambda: infinicore.add(X, X, out=empty),
    ):
        with pytest.raises((TypeError, BufferError, RuntimeError)):
            use()


def test_methods_of_other_objects() -> None:
    with pytest.raises(TypeError):
        infinicore.Tensor.__getitem__(object(), 0)  # type: ignore[arg-type]


# ---- Numbers beyond everything ------------------------------------------------------------------


def test_sizes_that_wrap_around() -> None:
    for use in (
        lambda: X.narrow(0, 1, 2**63 - 1),
        lambda: X.as_strided((2,), (1,), 2**62),
        lambda: X.as_strided((2,), (1,), -(2**61)),
        lambda: X[1:].as_strided((2,), (1,), -(2**63)),
        lambda: infinicore.ones(1).expand(2**60),
        lambda: infinicore.ones(1).expand(2**40, 2**40),
        lambda: infinicore.empty(2**62, 2**62),
        lambda: X[0:1].expand(2**32, 2**32),
    ):
        with pytest.raises((RuntimeError, ValueError)):
            use()


def test_more_dimensions_than_there_are() -> None:
    for use in (
        lambda: infinicore.ones([1] * 65),
        lambda: infinicore.ones(1).view(*[1] * 65),
        lambda: infinicore.ones(1).view(*[1] * 100_000),
        lambda: X[(None,) * 64],
        lambda: infinicore.ones(1).expand(*[1] * 65),
    ):
        with pytest.raises((RuntimeError, ValueError), match="dimensions"):
            use()
    assert infinicore.empty([1] * 64).ndim == 64


def test_lists_too_long_for_memory() -> None:
    with pytest.raises((MemoryError, RuntimeError)):
        infinicore.ones(1, dtype=infinicore.uint8).expand(2**60).tolist()


# ---- Signatures ---------------------------------------------------------------------------------


def test_lists_that_hold_themselves() -> None:
    knot: list[Any] = [X]
    knot.append(knot)
    with pytest.raises((TypeError, ValueError, RecursionError)):
        infinicore.sum(X, dim=knot)  # type: ignore[arg-type]


def test_text_that_is_none() -> None:
    with pytest.raises(ValueError, match="approximate"):
        functional.gelu(X, approximate="\ud800")


def test_default_type_is_part_of_a_recipe() -> None:
    whole = infinicore.arange(3)
    assert (whole / 2).dtype is infinicore.float32
    try:
        infinicore.set_default_dtype(infinicore.float64)
        assert (whole / 2).dtype is infinicore.float64
    finally:
        infinicore.set_default_dtype(infinicore.float32)
    assert (whole / 2).dtype is infinicore.float32


def test_recorded_functions_tell_equal_values_apart() -> None:
    @infinicore.graph
    def scaled(x: Any, factor: Any) -> Any:
        return x + 100 if factor is True else x * factor

    ones = infinicore.ones(2)
    for factor, wanted in ((1, 1.0), (True, 101.0), (1.0, 1.0), (True, 101.0)):
        assert scaled(ones, factor).tolist() == [wanted] * 2
    assert np.signbit(scaled(ones, -0.0).numpy(force=True)).all()
    assert not np.signbit(scaled(ones, 0.0).numpy(force=True)).any()
    before = len(scaled.graphs)
    scaled(ones, float("nan"))
    scaled(ones, float("nan"))
    assert len(scaled.graphs) == before + 1


# ---- Bodies -------------------------------------------------------------------------------------


def test_results_in_containers() -> None:
    @infinicore.function
    def named(x: Any) -> Any:
        return {"y": x + 1}

    @infinicore.function
    def nested(x: Any) -> Any:
        return x, [x + 1]

    @infinicore.function
    def shape(x: Any) -> Any:
        return x.shape

    for _ in range(2):
        assert named(X)["y"].tolist() == (X + 1).tolist()
        assert nested(X)[1][0].tolist() == (X + 1).tolist()
        assert shape(X) == (6,) and type(shape(X)) is infinicore.Size


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_body_that_raises(error: type[BaseException]) -> None:
    @infinicore.function
    def body(x: Any) -> Any:
        _ = x + 1
        raise error

    for _ in range(2):
        with pytest.raises(error):
            body(X)
        assert not _core.is_tracing()
    with pytest.raises(error), infinicore.record():
        body(X)
    assert not infinicore.is_graph_recording()
    assert (X + 1).tolist() == [1, 2, 3, 4, 5, 6]


def test_functions_that_nobody_holds_are_collected() -> None:
    def make() -> Any:
        @infinicore.function
        def passing(x: Any) -> Any:
            return x * 2 + 1

        return passing(X)

    for _ in range(20):
        make()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(200):
        make()
    gc.collect()
    assert sys.getallocatedblocks() - before < 1000


# ---- The extension module -----------------------------------------------------------------------


@pytest.mark.parametrize("tensors", [[], [X], [X] * 20, [None] * 3, [[X, X]] * 3, [[]] * 2, [5]])
def test_step_with_other_tensors_than_the_operator_has(tensors: list[Any]) -> None:
    for operator in range(0, 60, 7):
        for attributes in ((), (1,), ("a",)):
            with pytest.raises((TypeError, ValueError, IndexError, RuntimeError, KeyError)):
                _core.step(operator, 0, tensors, attributes, (), [object()])


@pytest.mark.parametrize("wrong", [X, 5.0, 2**70, 99, -1, "float", object()])
def test_types_and_devices_that_are_none(wrong: Any) -> None:
    with pytest.raises(TypeError, match="dtype"):
        _core.empty((2,), wrong, X.device)
    with pytest.raises(TypeError, match="device"):
        _core.empty((2,), infinicore.float32, wrong)


def test_functions_are_made_by_bodies_only() -> None:
    for make in (_core.Function, lambda: object.__new__(_core.Function)):
        with pytest.raises(TypeError):
            make()


def test_graph_has_no_such_node() -> None:
    with infinicore.record() as made:
        _ = X + 1
    with pytest.raises(IndexError, match="no such"):
        made.graph._native.run_node(99)


def test_owner_of_memory_that_was_refused() -> None:
    owner = object()
    before = sys.getrefcount(owner)
    for _ in range(10):
        with pytest.raises(RuntimeError):
            _core.from_address(64, (2**62, 9), None, infinicore.float32, X.device, owner)
    assert sys.getrefcount(owner) == before


@pytest.mark.host
def test_buffers_in_the_order_of_fortran() -> None:
    matrix = infinicore.ones(2, 3)
    assert memoryview(matrix).tobytes(order="F") == matrix.numpy(force=True).tobytes(order="F")
    assert bytes(X) == X.numpy(force=True).tobytes()


# ---- The first use in many threads --------------------------------------------------------------

FIRST = """
import sys, threading
import infinicore

sys.setswitchinterval(1e-6)
ready = threading.Barrier(8)
results = []

def work(name):
    ready.wait()
    results.append((getattr(infinicore, name)(1), infinicore.ones(3).sum().item()))

names = ["ones", "zeros", "arange", "empty"] * 2
threads = [threading.Thread(target=work, args=[name]) for name in names]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert [value for _, value in results] == [3.0] * 8
"""


def test_the_first_use_in_many_threads() -> None:
    for _ in range(3):
        done = process.run([sys.executable, "-c", FIRST])
        assert done.returncode == 0, done.stderr


# ---- The end of the interpreter -----------------------------------------------------------------

LATE = """
import threading
import numpy as np
import infinicore

array = np.ones(3, np.float32)

working = threading.Barrier(4, timeout=30)  # a thread that fails must not leave the others waiting

def work():
    (infinicore.ones(10) + 1).sum().item()
    working.wait()
    while True:
        (infinicore.ones(10) + 1).sum().item()
        infinicore.from_numpy(array, copy=False)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
left = infinicore.from_numpy(np.ones(3), copy=False)
lent = memoryview(infinicore.ones(3))
infinicore.start_graph_recording()
open_result = left + 1
working.wait()
"""


def test_threads_that_work_when_the_interpreter_ends() -> None:
    for _ in range(3):
        done = process.run([sys.executable, "-c", LATE], timeout=60)
        assert done.returncode == 0, done.stderr
