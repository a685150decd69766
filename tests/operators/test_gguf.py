"""Weights of GGUF files: all formats against the package gguf where it is installed, products
against their definition, and results of a row that do not depend on the other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn
from kit import ref
from kit.place import ON_HOST, put
from spec.operators.declarations.quant.gguf import (
    GGUF_BLOCKS,
    gguf_values,
    int8_rounded,
    interleaved_rows,
)

from .cases.quant import gguf_bytes

FORMATS = {
    **{2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0"},
    **{12: "Q4_K", 13: "Q5_K", 14: "Q6_K"},
}
formats = pytest.mark.parametrize("format", FORMATS, ids=FORMATS.get)


def weights(format: int, rows: int, columns: int, seed: int = 0) -> np.ndarray:
    elements, size = GGUF_BLOCKS[format]
    shape = (rows, columns // elements * size)
    return np.asarray(gguf_bytes(np.random.default_rng(seed), shape, format))


def ours(array: Any) -> Any:
    return put(ref.Tensor(np.ascontiguousarray(array)))


def linear(x: np.ndarray, packed: np.ndarray, format: int, **more: Any) -> np.ndarray:
    return np.asarray(
        ref.of(nn.functional.linear_gguf(ours(x), ours(packed), format, **more)).array
    )


def length(format: int) -> int:
    """Row sizes: not a multiple of 256 where the format allows it."""
    return 512 if GGUF_BLOCKS[format][0] == 256 else 608


@formats
def test_values_are_those_of_the_package_gguf(format: int) -> None:
    gguf = pytest.importorskip("gguf")
    packed = weights(format, 37, length(format))
    made = ref.of(nn.functional.dequantize_gguf(ours(packed), format)).array
    wanted = gguf.quants.dequantize(packed, gguf.GGMLQuantizationType(format))
    np.testing.assert_array_equal(made, wanted)


@formats
def test_rows_chosen_by_index(format: int) -> None:
    """An embedding: rows are selected, then expanded."""
    packed = weights(format, 9, 256)
    rows = infinicore.index_select(ours(packed), 0, ours(np.array([7, 0, 7])))
    made = ref.of(nn.functional.dequantize_gguf(rows, format, infinicore.float16)).array
    wanted = gguf_values(packed[[7, 0, 7]], format).astype(np.float16)
    np.testing.assert_array_equal(made, wanted)


def allowed(x: np.ndarray, packed: np.ndarray, format: int) -> np.ndarray:
    """Sums in float32: a unit in the last place of the terms' sizes for each step or so."""
    sizes = np.abs(x) @ np.abs(gguf_values(packed, format)).T
    return 16 * np.finfo(np.float32).eps * sizes


@formats
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 13, 67])
def test_product(format: int, rows: int) -> None:
    rng = np.random.default_rng(rows)
    packed = weights(format, 35, length(format))
    x = rng.standard_normal((rows, length(format))).astype(np.float32)
    bias = rng.standard_normal(35).astype(np.float32)
    for quantize in (True, False):
        given = int8_rounded(x.astype(np.float64)) if quantize else x.astype(np.float64)
        wanted = given @ gguf_values(packed, format).T + bias
        made = linear(x, packed, format, bias=ours(bias), quantize_input=quantize)
        assert np.all(np.abs(made - wanted) <= allowed(given, packed, format) + 1e-6)


@pytest.mark.skipif(not ON_HOST, reason="said of the CPU only")
@formats
def test_a_row_does_not_depend_on_the_rows_beside_it(format: int) -> None:
    rng = np.random.default_rng(3)
    packed = weights(format, 101, length(format))
    x = rng.standard_normal((70, length(format))).astype(np.float32)
    together = linear(x, packed, format)
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33):
        for first in (0, 17, 70 - count):
            part = linear(x[first : first + count], packed, format)
            np.testing.assert_array_equal(part, together[first : first + count])
    some = linear(x, packed[:7], format)  # nor on the columns
    np.testing.assert_array_equal(some, together[:, :7])


@formats
def test_interleaved_rows(format: int) -> None:
    packed = weights(format, 48, length(format))
    made = nn.functional.interleave_gguf(ours(packed), format)
    np.testing.assert_array_equal(ref.of(made).array, interleaved_rows(packed, format))
    np.testing.assert_array_equal(
        interleaved_rows(interleaved_rows(packed, format), format, inverse=True), packed
    )


@formats
def test_products_with_interleaved_rows(format: int) -> None:
    """The same bits as with the rows of the file."""
    rng = np.random.default_rng(6)
    packed = weights(format, 48, length(format))
    groups = ref.of(nn.functional.interleave_gguf(ours(packed), format)).array
    for rows in (1, 2, 3, 4, 5, 13):
        x = rng.standard_normal((rows, length(format))).astype(np.float32)
        for quantize in (True, False):
            wanted = linear(x, packed, format, quantize_input=quantize)
            made = linear(x, groups, format, quantize_input=quantize, interleaved=True)
            np.testing.assert_array_equal(made, wanted)


@formats
@pytest.mark.parametrize("rows", [1, 6])
def test_what_is_no_number_spoils_its_row_only(format: int, rows: int) -> None:
    packed = weights(format, 9, 256)
    x = np.random.default_rng(4).standard_normal((rows + 2, 256)).astype(np.float32)
    clean = linear(x, packed, format)
    x[0, 3], x[-1, 250] = np.nan, -np.inf
    made = linear(x, packed, format)
    assert np.isnan(made[[0, -1]]).all()
    np.testing.assert_array_equal(made[1:-1], clean[1:-1])


@pytest.mark.parametrize("rows", [1, 6])
def test_rounding_of_the_input(rows: int) -> None:
    """With weights that are 1 in one column, a result is the rounded element: ties, the largest
    values, and values too small to be scaled."""
    packed = np.zeros((32, 34), np.uint8)
    packed[:, 1] = 60  # float16 1.0
    packed[:, 2:] = np.eye(32, dtype=np.uint8)
    x = np.zeros((rows, 32), np.float32)
    x[0] = np.linspace(-3.3e38, 3.3e38, 32)
    x[-1] = np.concatenate([[127], np.arange(-15.5, 15.5)])
    wanted = int8_rounded(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(linear(x, packed, 8), wanted)
    x[0] = np.linspace(-1e-37, 1e-37, 32)
    assert not linear(x, packed, 8)[0].any()


def test_interleaved_rows_come_in_groups_of_8() -> None:
    packed = weights(2, 12, 64)
    with pytest.raises(ValueError, match=r"interleave_gguf.*multiple of 8"):
        nn.functional.interleave_gguf(ours(packed), 2)
    with pytest.raises(ValueError, match=r"linear_gguf.*multiple of 8"):
        linear(np.zeros((1, 64), np.float32), packed, 2, interleaved=True)


def test_empty() -> None:
    packed = weights(2, 4, 64)
    assert linear(np.zeros((0, 64), np.float32), packed, 2).shape == (0, 4)
    nothing = linear(np.zeros((3, 0), np.float32), np.zeros((4, 0), np.uint8), 2)
    np.testing.assert_array_equal(nothing, np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("shape", "format", "message"),
    [((4, 37), 2, "weight"), ((4, 36), 5, "format"), ((4, 144), 12, "input")],
    ids=["half a block", "unknown format", "too short for blocks of 256"],
)
def test_bad_weights(shape: tuple[int, int], format: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"linear_gguf.*{message}"):
        linear(np.zeros((1, 64), np.float32), np.zeros(shape, np.uint8), format)
