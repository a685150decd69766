"""Values, dtypes, shapes and errors where torch's rule is not the obvious one. tests/opdb compares
with torch itself."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from infinicore import tensor

F = infinicore.nn.functional
LONG = infinicore.int64
pytestmark = pytest.mark.host


def ones(*shape: int, dtype: Any = LONG) -> Any:
    return infinicore.ones(*shape, dtype=dtype)


def count(*shape: int) -> Any:
    size = 1
    for each in shape:
        size *= each
    return infinicore.arange(size).view(*shape)


VALUES: dict[str, tuple[Any, Any]] = {
    "logspace of integers truncates its ends": (
        lambda: infinicore.logspace(0, 1.2, 2, dtype=LONG),
        [1, 10],
    ),
    "arange of integers truncates its ends": (
        lambda: infinicore.arange(0.0, -8.000001, -4.0, dtype=LONG),
        [0, -4],
    ),
    "circular padding repeats what is left after the cut": (
        lambda: F.pad(tensor([[[1, 2, 3, 4]]]), (-1, 1), "circular"),
        [[[2, 3, 4, 2]]],
    ),
    "upsample_bilinear aligns corners": (
        lambda: F.upsample_bilinear(tensor([[[[0.0, 4.0]]]]), size=(1, 3)),
        [[[[0.0, 2.0, 4.0]]]],
    ),
    "softmin negates before it converts": (
        lambda: F.softmin(tensor([0, 1], dtype=infinicore.uint8), 0, dtype=infinicore.float32),
        [0.0, 1.0],
    ),
    "diff of order 0 is the input": (
        lambda: infinicore.diff(tensor([1, 3]), 0, prepend=tensor([0])),
        [1, 3],
    ),
    "cov of one row has no dimensions": (lambda: infinicore.cov(tensor([[1.0, 3.0]])), 2.0),
    "corrcoef of one row has no dimensions": (
        lambda: infinicore.corrcoef(tensor([[1.0, 3.0]])),
        1.0,
    ),
    "a negative divisor": (
        lambda: F.avg_pool2d(tensor([[[2.0, 4.0]]]), (1, 2), divisor_override=-2),
        [[[-3.0]]],
    ),
    "negative indices count from the end": (
        lambda: infinicore.take_along_dim(tensor([1, 2, 3]), tensor([-1]), 0),
        [3],
    ),
    "a dimension of one element broadcasts": (
        lambda: infinicore.tensordot(tensor([2]), tensor([3, 4]), 1),
        14,
    ),
    "factors of integers are truncated": (
        lambda: infinicore.addmv(tensor([7]), tensor([[1]]), tensor([1]), alpha=0.6, beta=1.2),
        [7],
    ),
    "a loss of one class": (lambda: F.multi_margin_loss(tensor(1.0), tensor(0)), 0.0),
    "a loss of one label": (lambda: F.multilabel_margin_loss(tensor(1.0), tensor(0)), 0.0),
    "windows of truth values": (
        lambda: F.unfold(tensor([[[True, False]]]), (1, 2)),
        [[True], [False]],
    ),
    "an unfolded number": (lambda: tensor(5).unfold(0, 1, 1), [5]),
    "no imaginary parts": (
        lambda: infinicore.imag(infinicore.zeros(0, dtype=infinicore.complex64)),
        [],
    ),
    "no complex numbers": (
        lambda: infinicore.complex(ones(0, dtype=None), ones(0, dtype=None)),
        [],
    ),
    "no elements gathered": (
        lambda: infinicore.gather(tensor([1, 2]), 0, infinicore.zeros(2, 0, dtype=LONG)),
        [[], []],
    ),
    "the largest number of 64 bits": (
        lambda: infinicore.isin(tensor([2**64 - 1], dtype=infinicore.uint64), 2**64 - 1),
        [True],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    call, expected = VALUES[name]
    assert call().tolist() == expected


def test_histogram_of_one_value() -> None:
    made = infinicore.histogram(tensor([2.0, 2.0]), 2)
    assert made.hist.tolist() == [0, 2]
    assert made.bin_edges.tolist() == [1.5, 2.0, 2.5]


INTEGERS: dict[str, tuple[Any, Any]] = {
    "linear": (lambda: F.linear(ones(2, 3), ones(1, 3), ones(1)), [[4], [4]]),
    "bilinear": (lambda: F.bilinear(ones(1, 2), ones(1, 2), ones(1, 2, 2)), [[4]]),
    "conv1d": (lambda: F.conv1d(ones(1, 1, 3), ones(1, 1, 2), ones(1)), [[[3, 3]]]),
    "conv_transpose1d": (lambda: F.conv_transpose1d(ones(1, 1, 1), ones(1, 1, 2)), [[[1, 1]]]),
    "max_pool1d": (lambda: F.max_pool1d(count(1, 4), 2), [[1, 3]]),
    "avg_pool1d": (lambda: F.avg_pool1d(count(1, 4), 2), [[0, 2]]),
    "hardtanh": (lambda: F.hardtanh(tensor([-3, 3]), -0.5, 1.5), [0, 1]),
    "relu6": (lambda: F.relu6(tensor([-3, 9])), [0, 6]),
    "addbmm": (lambda: infinicore.addbmm(ones(1, 1), ones(2, 1, 1), ones(2, 1, 1)), [[3]]),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_stay_integers(name: str) -> None:
    call, expected = INTEGERS[name]
    made = call()
    assert made.dtype is LONG
    assert made.tolist() == expected


FLOATS: dict[str, Any] = {
    "local_response_norm": lambda: F.local_response_norm(ones(1, 2, 1), 2),
    "margin_ranking_loss": lambda: F.margin_ranking_loss(ones(1), ones(1), ones(1)),
    "triplet_margin_loss": lambda: F.triplet_margin_loss(ones(1, 2), ones(1, 2), ones(1, 2)),
    "cosine_embedding_loss": lambda: F.cosine_embedding_loss(ones(1, 2), ones(1, 2), ones(1)),
    "pairwise_distance": lambda: F.pairwise_distance(ones(1, 2), ones(1, 2)),
    "poisson_nll_loss": lambda: F.poisson_nll_loss(ones(1), ones(1)),
    "cov": lambda: infinicore.cov(
        ones(2, 2, dtype=infinicore.bfloat16), aweights=ones(2, dtype=infinicore.float32)
    ),
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str) -> None:
    assert FLOATS[name]().dtype is infinicore.float32


REFUSED: dict[str, Any] = {
    "neg of booleans": lambda: -tensor([True]),
    "a mask of numbers": lambda: infinicore.masked_scatter(ones(2), ones(2), ones(2)),
    "a vector as the value": lambda: infinicore.masked_fill(
        ones(2), tensor([True, False]), ones(1)
    ),
    "a boolean start": lambda: infinicore.narrow(ones(2), 0, tensor(True), 1),
    "sources of another dtype": lambda: infinicore.scatter(
        ones(2, dtype=None), 0, tensor([0]), tensor([1])
    ),
    "summands of another dtype": lambda: infinicore.scatter_add(
        ones(2, dtype=None), 0, tensor([0]), tensor([1])
    ),
    "frequencies as floats": lambda: infinicore.cov(
        ones(2, dtype=None), fweights=ones(2, dtype=None)
    ),
    "too few frequencies": lambda: infinicore.cov(ones(2, dtype=None), fweights=ones(1)),
    "negative weights": lambda: infinicore.cov(ones(1, dtype=None), aweights=tensor([-1.0])),
    "a bias of floats": lambda: F.conv1d(ones(1, 1, 2), ones(1, 1, 2), ones(1, dtype=None)),
    "no channels": lambda: F.max_pool1d(ones(0, 4, dtype=None), 1),
    "no classes": lambda: F.multi_margin_loss(ones(0, 0, dtype=None), ones(0)),
    "targets as floats": lambda: F.multi_margin_loss(ones(1, 2, dtype=None), ones(1, dtype=None)),
    "a negative margin": lambda: F.triplet_margin_loss(
        *(ones(1, 2, dtype=None) for _ in range(3)), margin=-1.0
    ),
    "a negative deviation": lambda: ones(1, dtype=None).normal_(0, -1),
    "a range that ends before it begins": lambda: ones(1, dtype=None).uniform_(3, -1),
    "complex numbers of numbers": lambda: infinicore.complex(2, ones(1, dtype=None)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=r"^\w+: .*expected"):
        REFUSED[name]()


def test_views() -> None:
    x = infinicore.zeros(2, 1)
    assert infinicore.broadcast_to(x, (2, 3)).data_ptr() == x.data_ptr()
    assert infinicore.positive(x) is x
    turned = infinicore.zeros(4, 1)[::2]
    assert infinicore.ravel(turned).data_ptr() != turned.data_ptr()
    assert infinicore.ravel(turned).is_contiguous()
    assert F.pixel_shuffle(infinicore.zeros(1, 1, 1), 1).shape == (1, 1, 1)


@pytest.mark.parametrize(
    ("call", "strides"),
    [
        (lambda x: x.to(infinicore.float64, memory_format=infinicore.channels_last), (18, 1, 6, 2)),
        (lambda x: x.half(memory_format=infinicore.channels_last), (18, 1, 6, 2)),
        (lambda x: x.clone(memory_format=infinicore.channels_last), (18, 1, 6, 2)),
        (lambda x: x.contiguous(memory_format=infinicore.channels_last), (18, 1, 6, 2)),
        (lambda x: x.to(memory_format=infinicore.contiguous_format), (18, 9, 3, 1)),
        (lambda x: x.bool(memory_format=infinicore.preserve_format), (18, 9, 3, 1)),
    ],
)
def test_memory_formats(call: Any, strides: tuple[int, ...]) -> None:
    x = infinicore.arange(18).view(1, 2, 3, 3)
    made = call(x)
    assert made.stride() == strides
    assert made.to(x.dtype).tolist() == x.to(made.dtype).to(x.dtype).tolist()


def test_memory_format_of_another_rank_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 4"):
        infinicore.zeros(2).to(memory_format=infinicore.channels_last)
    with pytest.raises(TypeError, match="memory_format"):
        infinicore.zeros(2).to(memory_format="channels_last")


def test_bags_that_end_at_the_last_offset_or_leave_padding_out() -> None:
    table = infinicore.tensor([[1.0], [2.0], [4.0]])
    indices, offsets = infinicore.tensor([0, 1, 2, 2]), infinicore.tensor([0, 3, 4])
    ended = F.embedding_bag(indices, table, offsets, mode="sum", include_last_offset=True)
    assert ended.tolist() == [[7.0], [4.0]]
    for mode, expected in (
        ("sum", [[3.0], [0.0]]),
        ("mean", [[1.5], [0.0]]),
        ("max", [[2.0], [0.0]]),
    ):
        pairs = infinicore.tensor([[0, 1], [2, 2]])
        assert F.embedding_bag(pairs, table, mode=mode, padding_idx=-1).tolist() == expected


def test_results_of_one_type_take_no_other() -> None:
    x = infinicore.ones(3)
    for call in (
        lambda: infinicore.complex(x, x, out=infinicore.empty(3, dtype=infinicore.complex128)),
        lambda: infinicore.multinomial(x, 2, out=infinicore.empty(2, dtype=infinicore.float64)),
    ):
        with pytest.raises(TypeError, match="out has type"):
            call()
