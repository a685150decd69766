"""Copying variants of views, torch's aliases for slicing, and writes by flat index."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from infinicore.functions.copy import view_copies

X = infinicore.arange(6.0)
CALLS: dict[str, tuple[Any, ...]] = {
    "alias_copy": (),
    "as_strided_copy": ((2, 2), (3, 1)),
    "detach_copy": (),
    "diagonal_copy": (),
    "expand_copy": ((2, 2, 3),),
    "permute_copy": ((1, 0),),
    "select_copy": (0, 1),
    "slice_copy": (1, 0, 3, 2),
    "split_copy": (2, 1),
    "split_with_sizes_copy": ([1, 2], 1),
    "squeeze_copy": (),
    "t_copy": (),
    "transpose_copy": (0, 1),
    "unbind_copy": (),
    "unfold_copy": (1, 2, 1),
    "unsqueeze_copy": (0,),
    "view_as_complex_copy": (),
    "view_as_real_copy": (),
    "view_copy": ((3, 2),),
}


def view_of(name: str, x: infinicore.Tensor, args: tuple[Any, ...]) -> Any:
    name = name.removesuffix("_copy")
    if name == "alias":
        return x
    if name == "slice":
        return x[:, 0:3:2]
    return getattr(x, name)(*args)


@pytest.mark.parametrize("name", view_copies.__all__)
def test_copies(name: str) -> None:
    x = infinicore.arange(6.0).reshape(2, 3)
    if name.startswith("view_as"):
        x = infinicore.arange(4.0).reshape(2, 2)
        x = infinicore.view_as_complex(x) if "real" in name else x
    expected = view_of(name, x, CALLS[name])
    made = getattr(infinicore, name)(x, *CALLS[name])
    many = isinstance(made, tuple)
    for one, view in zip(made if many else [made], expected if many else [expected], strict=True):
        assert one.tolist() == view.tolist() and one.dtype is view.dtype
        assert one.data_ptr() != view.data_ptr() or not one.numel()
    if not many:
        out = infinicore.empty_like(made)
        assert getattr(infinicore, name)(x, *CALLS[name], out=out) is out
        assert out.tolist() == made.tolist()


def test_a_slice_goes_forward() -> None:
    with pytest.raises(ValueError, match="slice_copy: step is 0: expected 1 or more"):
        infinicore.slice_copy(X, 0, 0, 2, 0)


def test_parts() -> None:
    assert [each.tolist() for each in infinicore.split_with_sizes(X, [1, 5])] == [
        [0],
        [1, 2, 3, 4, 5],
    ]
    assert len(infinicore.unsafe_chunk(X, 3)) == len(infinicore.unsafe_split(X, 2)) == 3
    assert len(infinicore.unsafe_split_with_sizes(X, [2, 4])) == 2
    x = X.reshape(1, 6, 1)
    assert len(infinicore.hsplit(x, sections=3)) == len(infinicore.hsplit(x, 3)) == 3
    assert len(infinicore.hsplit(x, indices=[2])) == len(infinicore.tensor_split(X, indices=[2]))
    assert len(infinicore.vsplit(x, sections=1)) == len(infinicore.dsplit(x, sections=1)) == 1
    with pytest.raises(TypeError, match="hsplit: got 2 of indices, sections: expected one"):
        infinicore.hsplit(x, sections=2, indices=[1])
    with pytest.raises(TypeError, match="tensor_split: got 0 of indices, sections"):
        infinicore.tensor_split(X)


def test_shapes_of_others() -> None:
    other = infinicore.zeros(2, 3)
    assert infinicore.reshape_as(X, other).shape == infinicore.expand_as(X[:3], other).shape
    assert infinicore.sum_to_size(infinicore.ones(4, 2, 3), 2, 1).tolist() == [[12], [12]]
    assert infinicore.sum_to_size(X, 6) is X
    with pytest.raises(RuntimeError, match=r"sum_to_size: size is \(4,\): expected"):
        infinicore.sum_to_size(X, 4)


def test_as_strided_scatter() -> None:
    x = infinicore.zeros(2, 3)
    made = infinicore.as_strided_scatter(x, infinicore.ones(2), (2,), (2,), 1)
    assert made.tolist() == [[0, 1, 0], [1, 0, 0]] and not x.any()
    with pytest.raises(RuntimeError, match=r"as_strided_scatter: src has shape \(3,\)"):
        infinicore.as_strided_scatter(x, infinicore.ones(3), (2,), (2,))
    whole = infinicore.arange(10)
    for offset in (0, 2):  # the offset is that of the memory, not that of the view
        view = whole.as_strided((4,), (1,), offset)
        made = infinicore.as_strided_scatter(view, infinicore.tensor([-1]), (1,), (1,), 3)
        assert made.tolist() == [-1 if i + offset == 3 else i + offset for i in range(4)]
    row = infinicore.arange(3).expand(2, 3)
    made = infinicore.as_strided_scatter(row, infinicore.tensor([7]), (1,), (1,), 4)
    assert made.tolist() == [[0, 1, 2], [0, 7, 2]] and row.tolist() == [[0, 1, 2]] * 2


def test_view_copy_of_strides_that_no_view_has() -> None:
    row = infinicore.arange(3).expand(2, 3)
    assert infinicore.view_copy(row, [-1]).tolist() == [0, 1, 2, 0, 1, 2]
    assert infinicore.view_copy(row.t(), [2, 3]).tolist() == [[0, 0, 1], [1, 2, 2]]


def test_put() -> None:
    x, index = infinicore.zeros(2, 2), infinicore.tensor([0, -1, 0])
    source = infinicore.tensor([1.0, 2.0, 3.0])
    assert infinicore.put(x, index, source, accumulate=True).tolist() == [[4, 0], [0, 2]]
    assert not x.any()
    x.T.put_(infinicore.tensor([1]), infinicore.ones(1))
    assert x.tolist() == [[0, 0], [1, 0]]
    with pytest.raises(TypeError, match=r"put_: source has type infinicore\.int64"):
        x.put_(infinicore.tensor([0]), infinicore.tensor([1]))
    with pytest.raises(ValueError, match="put_: source has 2 elements: expected 1"):
        x.put_(infinicore.tensor([0]), infinicore.ones(2))


@pytest.mark.host  # indices on a device are not read
def test_put_out_of_bounds() -> None:
    with pytest.raises(IndexError, match="put_"):
        infinicore.zeros(2, 2).put_(infinicore.tensor([4]), infinicore.ones(1))


def test_new_tensors() -> None:
    x = infinicore.ones(1, dtype=infinicore.float16)
    assert infinicore.new_empty(x, 2, 3).shape == (2, 3)
    assert infinicore.new_empty_strided(x, (2, 3), (1, 2)).stride() == (1, 2)
    assert infinicore.new_full(x, (2,), 3).tolist() == [3, 3]
    assert infinicore.new_ones(x, size=(2,)).dtype is infinicore.float16
    assert infinicore.new_zeros(x, 2, dtype=infinicore.int8).dtype is infinicore.int8
    assert infinicore.new_tensor(x, [1]).dtype is infinicore.float16
    assert infinicore.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    with pytest.raises(RuntimeError, match="empty_permuted: physical_layout is"):
        infinicore.empty_permuted((2, 3), (0, 0))
