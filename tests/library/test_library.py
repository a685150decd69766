"""Operator kernels in Python, on every device: written with infinicore's own functions."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import infinicore
from infinicore import library
from infinicore.nn import functional as F  # noqa: N812
from kit.place import KIND, ON_HOST


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    for kernel in library.kernels():
        kernel.unregister()


class Counted:
    """relu composed of other functions; counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, input: Any, *, out: Any) -> None:
        self.calls += 1
        low = infinicore.zeros_like(input)  # memory of its own
        infinicore.maximum(input, low, out=out)


X = [-1.0, 0.5, -2.0, 3.0]
RELU = [0.0, 0.5, 0.0, 3.0]


def test_it_serves_the_operator() -> None:
    relu = Counted()
    x = infinicore.tensor(X)
    kernel = library.register("relu", relu, device=KIND)
    assert library.kernels() == [kernel] == library.kernels("relu") and kernel.is_registered
    for call in (F.relu, infinicore.relu if hasattr(infinicore, "relu") else F.relu):
        before = relu.calls
        assert call(x).tolist() == RELU and relu.calls == before + 1
    out = infinicore.empty(4)
    assert F.relu(x, out=out) is out and out.tolist() == RELU
    assert F.relu(x.view(2, 2).T).tolist() == [[0, 0], [0.5, 3]]
    before = relu.calls
    kernel.unregister()
    assert F.relu(x).tolist() == RELU and relu.calls == before and library.kernels() == []
    with pytest.raises(ValueError, match="is not registered"):
        kernel.unregister()


def test_as_decorator_and_context() -> None:
    @library.register("swiglu", device=KIND)
    def mine(a: Any, b: Any, *, out: Any) -> None:
        """Twice as much."""
        infinicore.mul(a * 2, F.silu(b), out=out)

    x = infinicore.tensor(X)
    assert isinstance(mine, library.Kernel) and mine.__doc__ == "Twice as much."
    doubled = F.swiglu(x, x).tolist()
    with library.builtin():
        plain = F.swiglu(x, x).tolist()
    assert doubled == pytest.approx([2 * each for each in plain])
    assert F.swiglu(x, x).tolist() == doubled
    out = infinicore.empty(4)
    mine(x, x, out=out)  # still a function
    assert out.tolist() == doubled
    with mine:
        pass
    assert F.swiglu(x, x).tolist() == pytest.approx(plain) and not mine.is_registered
    assert "swiglu" in repr(mine) and "python" in repr(mine)


def test_attributes_and_predicates() -> None:
    seen: list[Any] = []

    def norm(x: Any, w: Any, *, epsilon: float, out: Any) -> None:
        seen.append(epsilon)
        out.copy_(x * 0 + epsilon)

    def narrow(x: Any, w: Any, epsilon: float) -> bool:
        with pytest.raises(RuntimeError, match="values can't be read"):
            x.sum().item()
        return x.shape[-1] == 4 and epsilon < 1

    x, w = infinicore.ones(2, 4), infinicore.ones(4)
    library.register("rms_norm", norm, device=KIND, when=narrow)
    assert F.rms_norm(x, (4,), w, 0.5).tolist() == [[0.5] * 4] * 2 and seen == [0.5]
    assert F.rms_norm(x, (4,), w, 2.0).tolist() != [[2.0] * 4] * 2
    wide = F.rms_norm(infinicore.ones(2, 8), (8,), infinicore.ones(8), 0.5)
    assert seen == [0.5] and wide[0, 0].item() == pytest.approx(1.5**-0.5)


def test_element_types_and_order() -> None:
    def giving(value: float) -> Any:
        return lambda input, *, out: out.fill_(value)

    halves = library.register("relu", giving(2), device=KIND, dtypes=(infinicore.float16,))
    x = infinicore.tensor(X)
    assert F.relu(x).tolist() == RELU and F.relu(x.half()).tolist() == [2] * 4
    every = library.register("relu", giving(3), device=KIND)
    assert F.relu(x).tolist() == [3] * 4 == F.relu(x.half()).tolist()
    assert library.kernels("relu") == [every, halves]
    library.unregister("relu", device=KIND)
    assert not library.kernels() and F.relu(x.half()).tolist() == RELU
    with pytest.raises(ValueError, match="no kernel serves relu"):
        library.unregister("relu")


def test_nothing_is_left_to_the_kernel() -> None:
    def never(input: Any, *, out: Any) -> None:
        raise AssertionError("called")

    library.register("relu", never, device=KIND)
    assert F.relu(infinicore.empty(0, 3)).shape == (0, 3)


def test_recorded() -> None:
    relu = Counted()
    x = infinicore.tensor(X)
    with library.register("relu", relu, device=KIND):
        with infinicore.record() as made:
            y = F.relu(x * 2) + 1
        nodes = [node.name for node in made.graph.nodes]
        assert "relu[python]" in nodes and len(nodes) == 3
    calls = relu.calls
    for factor in (1, -1, 3):
        x.copy_(infinicore.tensor(X) * factor)
        made.graph.run()
        assert y.tolist() == [max(2 * each * factor, 0) + 1 for each in X]
    # A device replays what it captured; the host calls the function again.
    assert relu.calls == calls + (3 if ON_HOST else 0)


def test_a_graph_keeps_what_its_kernels_allocate() -> None:
    relu = Counted()
    x = infinicore.tensor(X)
    with library.register("relu", relu, device=KIND), infinicore.record() as made:
        y = F.relu(x)
    assert [each[2] for each in made.graph._native.segments] == [not ON_HOST]
    gc.collect()
    rubbish = [infinicore.full((4,), -9.0) for _ in range(200)]
    made.graph.run()
    assert y.tolist() == RELU and all(each.tolist() == [-9] * 4 for each in rubbish[::50])
    del made
    assert y.tolist() == RELU


def test_in_a_traced_function_and_a_stream() -> None:
    relu = Counted()

    @infinicore.function
    def layer(x: infinicore.Operand) -> Any:
        return F.relu(x) * 2

    x = infinicore.tensor(X)
    with library.register("relu", relu, device=KIND):
        assert layer(x).tolist() == [2 * each for each in RELU] and relu.calls == 1
        assert layer(x + 1).tolist() == [0, 3, 0, 8] and relu.calls == 2
        stream = infinicore.context.Stream() if hasattr(infinicore.context, "Stream") else None
        if stream is not None:
            with infinicore.stream(stream):
                assert layer(x).tolist() == [2 * each for each in RELU]


def test_what_a_kernel_raises() -> None:
    def bad(input: Any, *, out: Any) -> None:
        raise KeyError("a kernel's own")

    x = infinicore.tensor(X)
    with library.register("relu", bad, device=KIND):
        for _ in range(2):
            with pytest.raises(KeyError, match="a kernel's own"):
                F.relu(x)
        with infinicore.record() as made:
            F.relu(x)
        with pytest.raises(KeyError, match="a kernel's own"):
            made.graph.run()
    assert F.relu(x).tolist() == RELU


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"operator": "reluu"}, ValueError, "no operator is called 'reluu': is it 'relu'"),
        ({"operator": "argwhere"}, ValueError, "operators on tensors alone"),
        ({"device": "abacus"}, ValueError, "is no device type"),
        ({"language": "cobol"}, ValueError, "language is 'cobol': expected one of 'python'"),
        ({"call": 3}, TypeError, "expected a function, got int"),
        ({"call": lambda x: None}, TypeError, r"expected relu\(\w+, \*, out\)"),
        ({"dtypes": ("float16",)}, TypeError, "expected types as infinicore.float16"),
    ],
    ids=["name", "kind", "device", "language", "number", "parameters", "types"],
)
def test_mistakes(change: dict[str, Any], error: Any, words: str) -> None:
    given = {"operator": "relu", "call": Counted(), "device": KIND, **change}
    with pytest.raises(error, match=words):
        library.register(given.pop("operator"), given.pop("call"), **given)
    assert library.kernels() == []


def test_signature() -> None:
    assert library.signature("rms_norm") == "rms_norm(x, w, *, epsilon, out)"
    assert library.signature("swiglu") == "swiglu(a, b, *, out)"


def test_storage() -> None:
    x = infinicore.arange(6.0).view(2, 3)
    storage = x[1].untyped_storage()
    assert storage.nbytes() == len(storage) == 24 and storage.data_ptr() == x.data_ptr()
    y = x.new_empty(0).set_(storage, 3, (3,), (1,))
    assert y.tolist() == [3, 4, 5] and y.data_ptr() == x[1].data_ptr()
    other = storage.cpu()
    assert (other is storage) == ON_HOST
    x.zero_()
    storage.copy_(other)
    assert ON_HOST or x.tolist() == [[0, 1, 2], [3, 4, 5]]
