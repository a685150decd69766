"""Results that overlap arguments: exactly, partially, transposed, and by another tensor object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812
from kit import ref
from kit.place import put

SIZE = 8
W = ref.linspace(-1, 1, SIZE * SIZE).reshape(SIZE, SIZE)
IMAGE = (1, 1, SIZE, SIZE)


def ours(tensor: ref.Tensor) -> Any:
    return put(tensor.clone())


def values() -> ref.Tensor:
    return ref.randn(SIZE, SIZE, seed=0)


Function = Callable[[Any], Any]

# The operation on x, which writes its result to x, and the expected result.
IN_PLACE: dict[str, tuple[Function, Function]] = {
    "matmul": (lambda x: infinicore.matmul(x, ours(W), out=x), lambda x: x @ W),
    "matmul from the right": (lambda x: infinicore.matmul(ours(W), x, out=x), lambda x: W @ x),
    "its own square": (lambda x: infinicore.matmul(x, x, out=x), lambda x: x @ x),
    "linear": (lambda x: F.linear(x, ours(W), out=x), lambda x: x @ W.T),
    "linear with bias": (
        lambda x: F.linear(x, ours(W), ours(W[0]), out=x),
        lambda x: x @ W.T + W[0],
    ),
    "flip": (lambda x: infinicore.flip(x, [0], out=x), lambda x: x.flip(0)),
    "roll": (lambda x: infinicore.roll(x, 3, 0, out=x), lambda x: x.roll(3, 0)),
    "cumsum": (lambda x: infinicore.cumsum(x, 0, out=x), lambda x: x.cumsum(0)),
    "sum with its transpose": (lambda x: infinicore.add(x, x.T, out=x), lambda x: x + x.T),
    "rows of itself": (
        lambda x: F.embedding(ours(ref.arange(SIZE - 1, -1, -1)), x, out=x),
        lambda x: x.flip(0),
    ),
    "softmax": (lambda x: F.softmax(x, 0, out=x), lambda x: x.softmax(0)),
    "softmax into its transpose": (
        lambda x: F.softmax(x, 0, out=x.T).T,
        lambda x: x.softmax(0).T,
    ),
    "rms_norm": (
        lambda x: F.rms_norm(x, [SIZE], ours(ref.ones(SIZE)), out=x),
        lambda x: ref.rms_norm(x, [SIZE], ref.ones(SIZE), 1e-5),
    ),
    "copy of its transpose": (lambda x: x.copy_(x.T), lambda x: x.T),
    "pool": (
        lambda x: F.max_pool2d(x.view(*IMAGE), 3, 1, 1, out=x.view(*IMAGE)),
        lambda x: ref.max_pool2d(x.view(*IMAGE), 3, 1, 1).view(SIZE, SIZE),
    ),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    run, reference = IN_PLACE[name]
    x = values()
    for _ in range(2):  # traced, then replayed
        here = ours(x)
        run(here)
        ref.assert_close(ref.of(here), reference(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_after_a_call_with_a_result_apart(name: str) -> None:
    """A recipe for disjoint tensors is not used for overlapping ones."""
    run, reference = IN_PLACE[name]
    if name.startswith("matmul"):
        infinicore.matmul(ours(W), ours(W), out=ours(W))
    x = values()
    here = ours(x)
    run(here)
    ref.assert_close(ref.of(here), reference(x), rtol=1e-4, atol=1e-4)


def test_shifted() -> None:
    line = ref.arange(20000.0) ** 0.5
    here = ours(line)
    infinicore.mul(infinicore.add(here[:-1], 1), 2, out=here[1:])
    ref.assert_close(ref.of(here)[1:], (line[:-1] + 1) * 2)
    here = ours(line)
    infinicore.add(here[1:], 1, out=here[:-1])
    ref.assert_close(ref.of(here)[:-1], line[1:] + 1)


def test_rows_that_overlap() -> None:
    x = values()
    here = ours(ref.cat([x, x]))
    F.linear(here[:SIZE], ours(W), out=here[4 : 4 + SIZE])
    ref.assert_close(ref.of(here[4 : 4 + SIZE]), x @ W.T, rtol=1e-4, atol=1e-4)


def test_one_memory_under_two_names() -> None:
    x = values()
    memory = x.clone()
    one = put(memory)
    other = infinicore.from_blob(one.data_ptr(), one.shape, dtype=one.dtype, device=one.device)
    infinicore.matmul(one, ours(W), out=other)
    ref.assert_close(ref.of(other), x @ W, rtol=1e-4, atol=1e-4)


def test_recorded() -> None:
    x = values()
    here, weight = ours(x), ours(W)
    with infinicore.record() as recorded:
        infinicore.matmul(here, weight, out=here)
    assert ref.equal(ref.of(here), x), "recording changes nothing"
    expected = x
    for _ in range(3):
        recorded.graph.run()
        expected = expected @ W
        ref.assert_close(ref.of(here), expected, rtol=1e-3, atol=1e-3)
