"""Reshaping, slicing and copying."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from kit import ref
from kit.functions import I, Run, T, case, runs
from kit.place import put

ALL = "f32 f16 bf16 f64 i32 i64 u8 bool"
SOME = "f32 f16 bf16 i64"


def view(name: str, *args: Any, **keywords: Any) -> Any:
    return case(name, *args, skip="out in_place", kinds="f32 bf16 i64", **keywords)


CASES = [
    view("reshape", T(3, 4), (2, 6)),
    view("reshape", T(3, 4), (-1,)),
    case("reshape", T(3, 4), shape=(4, 3), kinds="f32", skip="out in_place method"),
    case("permute", T(3, 4), dims=(1, 0), kinds="f32", skip="out in_place method"),
    view("flatten", T(2, 3, 4), 1),
    view("ravel", T(2, 3)),
    view("unflatten", T(2, 6), 1, (2, -1)),
    view("transpose", T(2, 3, 4), 0, -1),
    view("t", T(2, 3)),
    view("permute", T(2, 3, 4), (2, 0, 1)),
    view("movedim", T(2, 3, 4), 0, -1),
    view("movedim", T(2, 3, 4), (0, 1), (-1, 0)),
    view("squeeze", T(1, 3, 1)),
    view("squeeze", T(1, 3, 1), 0),
    view("squeeze", T(1, 3, 1), (0, 2)),
    view("unsqueeze", T(2, 3), -1),
    view("narrow", T(5, 3), 0, 1, 3),
    case("narrow_copy", T(5, 3), 0, 1, 3, kinds=SOME),
    view("select", T(5, 3), 1, -1),
    case("broadcast_to", T(3), (2, 3), kinds=SOME, skip="out method"),
    view("broadcast_tensors", T(2, 1), T(3)),
    view("meshgrid", T(2), T(3), indexing="ij"),
    view("meshgrid", T(2), T(3), indexing="xy"),
    view("atleast_1d", T()),
    view("atleast_2d", T(3)),
    view("atleast_3d", T(3, 2)),
    view("diagonal", T(3, 4)),
    view("diagonal", T(2, 3, 4), offset=1, dim1=0, dim2=2),
    view("diagonal", T(3, 4), -5),
    view("split", T(5, 3), 2),
    view("split", T(5, 3), [1, 4], dim=0),
    view("chunk", T(5, 3), 3),
    view("tensor_split", T(5, 3), 3),
    view("tensor_split", T(5, 3), [1, 3], dim=0),
    view("hsplit", T(4, 6), 3),
    view("hsplit", T(6), [2, 3]),
    view("vsplit", T(4, 6), 2),
    view("unbind", T(3, 2), 1),
    view("dsplit", T(2, 3, 4), 2),
    view("adjoint", T(2, 3, 4)),
    view("swapdims", T(2, 3, 4), 0, 2),
    view("cartesian_prod", T(2), T(3)),
    case("row_stack", [T(3), T(3)], kinds="f32"),
    view("unravel_index", I(3, below=12), (3, 4)),
    case("cat", [T(2, 3), T(1, 3)], kinds=ALL),
    case("cat", [T(2, 3), T(2, 1), T(2, 2)], dim=1, kinds=SOME),
    case("cat", [T(2, 3), T(2, 3, kind="f32")], kinds="f16 i32"),
    case("cat", [T(0), T(2, 3)], kinds="f32"),
    case("stack", [T(2, 3), T(2, 3)], kinds=SOME),
    case("stack", [T(2, 3), T(2, 3)], dim=-1, kinds=SOME),
    case("stack", [T(), T()], kinds="f32"),
    case("hstack", [T(2), T(3)], kinds=SOME),
    case("hstack", [T(2, 2), T(2, 3)], kinds=SOME),
    case("vstack", [T(3), T(2, 3)], kinds=SOME, skip="layouts"),
    case("dstack", [T(3), T(3)], kinds="f32"),
    case("column_stack", [T(3), T(3, 2)], kinds="f32"),
    case("block_diag", T(2, 3), T(1, 2), T(3), kinds=SOME, skip="out method"),
    case("tile", T(2, 3), (2, 2), kinds=SOME, skip="out"),
    case("tile", T(3), (2, 1, 2), kinds=SOME, skip="out"),
    case("repeat", T(2, 3), 2, 1, 2, reference=lambda x, *n: x.repeat(*n), kinds=SOME, skip="out"),
    case("repeat_interleave", T(2, 3), 2, kinds=SOME, skip="out"),
    case("repeat_interleave", T(2, 3), 2, dim=1, kinds=SOME, skip="out"),
    case(
        "repeat_interleave",
        T(3, 2),
        I(3, below=4, distinct=True),
        dim=0,
        kinds=SOME,
        skip="out in_place graph layouts",
    ),
    case("combinations", T(4), kinds=SOME, skip="out"),
    case("combinations", T(4), r=3, with_replacement=True, kinds=SOME, skip="out"),
    case("flip", T(2, 3), (0, 1), kinds=ALL, skip="out"),
    case("flip", T(2, 3), dims=[1], kinds=ALL, skip="out"),
    case("fliplr", T(2, 3), kinds=SOME),
    case("flipud", T(2, 3), kinds=SOME),
    *(case("rot90", T(2, 3), k, (0, 1), kinds=SOME) for k in (0, 1, 2, 3, -1)),
    case("roll", T(3, 4), 2, kinds=ALL),
    case("roll", T(3, 4), (1, -2), (0, 1), kinds=SOME),
    case("diag", T(3), kinds=SOME),
    case("diag", T(3), 1, kinds=SOME),
    case("diag", T(3, 4), diagonal=-1, kinds=SOME),
    case("diag_embed", T(2, 3), kinds=SOME),
    case("diag_embed", T(2, 3), offset=1, dim1=0, dim2=2, kinds=SOME),
    case("diagflat", T(2, 2), offset=-1, kinds=SOME),
    case("diagonal_scatter", T(3, 4), T(3), kinds=SOME),
    case("diagonal_scatter", T(2, 3, 4), T(3, 2), offset=1, dim1=0, dim2=2, kinds=SOME),
    case("select_scatter", T(3, 4), T(3), 1, 2, kinds=SOME),
    case("slice_scatter", T(5, 4), T(2, 4), start=1, end=5, step=2, kinds=SOME),
    case("tril", T(3, 4), kinds=ALL),
    case("tril", T(2, 3, 4), diagonal=-1, kinds=SOME),
    case("triu", T(3, 4), kinds=ALL),
    case("triu", T(2, 3, 4), 1, kinds=SOME),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


def test_views_share_memory() -> None:
    x = infinicore.zeros(3, 4)
    for part in (
        infinicore.reshape(x, (4, 3)),
        infinicore.transpose(x, 0, 1),
        infinicore.permute(x, (1, 0)),
        infinicore.diagonal(x),
        infinicore.split(x, 2)[1],
        infinicore.unbind(x, 1)[2],
        infinicore.movedim(x, 0, 1),
    ):
        part.fill_(1.0)
        assert infinicore.sum(x).item() == part.numel()
        x.zero_()


def test_copies_share_nothing() -> None:
    x = infinicore.zeros(3)
    for copy in (
        infinicore.cat([x]),
        infinicore.flip(x, (0,)),
        infinicore.narrow_copy(x, 0, 0, 3),
        infinicore.roll(x, 0),
        infinicore.clone(x),
        infinicore.rearrange(x),
    ):
        copy.fill_(1.0)
        assert infinicore.sum(x).item() == 0


def test_strides_and_shapes() -> None:
    x = ref.arange(6.0)
    made = infinicore.as_strided(put(x), (2, 3), (1, 2), 0)
    assert ref.equal(ref.of(made), ref.as_strided(x, (2, 3), (1, 2), 0))
    assert infinicore.view_as(made[0], infinicore.ones(3, 1)).shape == (3, 1)
    assert tuple(infinicore.broadcast_shapes((2, 1), (3,), 1)) == (2, 3)


def test_cast() -> None:
    x = infinicore.tensor([1.5, -2.5])
    out = infinicore.empty(2, dtype=infinicore.int32)
    assert infinicore.cast(x, out=out) is out
    assert out.tolist() == [1, -2]
    assert infinicore.cast(x, infinicore.float64).dtype == infinicore.float64


def test_bad_arguments() -> None:
    x = infinicore.ones(2, 3)
    with pytest.raises(RuntimeError, match="cat: tensor 1"):
        infinicore.cat([x, infinicore.ones(2, 4)])
    with pytest.raises(TypeError, match="cat"):
        infinicore.cat([])
    with pytest.raises(RuntimeError, match="stack: tensor 1"):
        infinicore.stack([x, infinicore.ones(3)])
    with pytest.raises(RuntimeError, match="split"):
        infinicore.split(x, [1, 2])
    with pytest.raises(RuntimeError, match="flip"):
        infinicore.flip(x, (0, 0))
    with pytest.raises(IndexError, match="roll"):
        infinicore.roll(x, 1, 3)


@pytest.mark.parametrize("size", [3, 40])
def test_triangles_keep_all_bits(size: int) -> None:
    """int32 may be moved as float32: numbers that are NaN or tiny as floats stay as they are."""
    bits = [0x7F800001, 0x7FC00000, -1, -(2**31), 1, 0x00400000, 2**31 - 1, -0x003FFFFF]
    x = np.resize(np.array(bits, np.int32), (2, size, size + 3))
    for given in (infinicore.tensor(x), infinicore.tensor(x.swapaxes(1, 2).copy()).mT):
        for diagonal in (-size, -1, 0, 5, size + 3):
            for name in ("tril", "triu"):
                wanted = getattr(np, name)(x, diagonal)
                made = getattr(infinicore, name)(given, diagonal)
                assert np.array_equal(made.numpy(force=True), wanted)
                out = infinicore.ones(*x.shape, dtype=infinicore.int32)
                assert getattr(infinicore, name)(given, diagonal, out=out) is out
                assert np.array_equal(out.numpy(force=True), wanted)
    held = infinicore.tensor(x)
    held.tril_()
    assert np.array_equal(held.numpy(force=True), np.tril(x))
