"""`infinicore.array_api`: the names that the standard requires, and its type rules.

The public test suite (data-apis/array-api-tests) is run by hand; these are its requirements.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

import infinicore
import infinicore.array_api as xp

# Functions of the standard, version 2025.12, with the names of their parameters.
REQUIRED = [
    "abs(x)",
    "acos(x)",
    "acosh(x)",
    "asin(x)",
    "asinh(x)",
    "atan(x)",
    "atanh(x)",
    "bitwise_invert(x)",
    "ceil(x)",
    "conj(x)",
    "cos(x)",
    "cosh(x)",
    "exp(x)",
    "expm1(x)",
    "floor(x)",
    "imag(x)",
    "isfinite(x)",
    "isinf(x)",
    "isnan(x)",
    "log(x)",
    "log1p(x)",
    "log2(x)",
    "log10(x)",
    "logical_not(x)",
    "negative(x)",
    "positive(x)",
    "real(x)",
    "reciprocal(x)",
    "round(x)",
    "sign(x)",
    "signbit(x)",
    "sin(x)",
    "sinh(x)",
    "square(x)",
    "sqrt(x)",
    "tan(x)",
    "tanh(x)",
    "trunc(x)",
    "clip(x,min,max)",
    "add(x1,x2)",
    "atan2(x1,x2)",
    "bitwise_and(x1,x2)",
    "bitwise_left_shift(x1,x2)",
    "bitwise_or(x1,x2)",
    "bitwise_right_shift(x1,x2)",
    "bitwise_xor(x1,x2)",
    "copysign(x1,x2)",
    "divide(x1,x2)",
    "equal(x1,x2)",
    "floor_divide(x1,x2)",
    "greater(x1,x2)",
    "greater_equal(x1,x2)",
    "hypot(x1,x2)",
    "less(x1,x2)",
    "less_equal(x1,x2)",
    "logaddexp(x1,x2)",
    "logical_and(x1,x2)",
    "logical_or(x1,x2)",
    "logical_xor(x1,x2)",
    "maximum(x1,x2)",
    "minimum(x1,x2)",
    "multiply(x1,x2)",
    "nextafter(x1,x2)",
    "not_equal(x1,x2)",
    "pow(x1,x2)",
    "remainder(x1,x2)",
    "subtract(x1,x2)",
    "cumulative_prod(x,axis,dtype,include_initial)",
    "cumulative_sum(x,axis,dtype,include_initial)",
    "max(x,axis,keepdims)",
    "mean(x,axis,keepdims)",
    "min(x,axis,keepdims)",
    "prod(x,axis,dtype,keepdims)",
    "std(x,axis,correction,keepdims)",
    "sum(x,axis,dtype,keepdims)",
    "var(x,axis,correction,keepdims)",
    "arange(start,stop,step,dtype,device)",
    "asarray(obj,dtype,device,copy)",
    "empty(shape,dtype,device)",
    "empty_like(x,dtype,device)",
    "eye(n_rows,n_cols,k,dtype,device)",
    "from_dlpack(x,device,copy)",
    "full(shape,fill_value,dtype,device)",
    "full_like(x,fill_value,dtype,device)",
    "linspace(start,stop,num,dtype,device,endpoint)",
    "meshgrid(arrays,indexing)",
    "ones(shape,dtype,device)",
    "ones_like(x,dtype,device)",
    "tril(x,k)",
    "triu(x,k)",
    "zeros(shape,dtype,device)",
    "zeros_like(x,dtype,device)",
    "broadcast_arrays(arrays)",
    "broadcast_shapes(shapes)",
    "broadcast_to(x,shape)",
    "concat(arrays,axis)",
    "expand_dims(x,axis)",
    "flip(x,axis)",
    "moveaxis(x,source,destination)",
    "permute_dims(x,axes)",
    "repeat(x,repeats,axis)",
    "reshape(x,shape,copy)",
    "roll(x,shift,axis)",
    "squeeze(x,axis)",
    "stack(arrays,axis)",
    "tile(x,repetitions)",
    "unstack(x,axis)",
    "take(x,indices,axis)",
    "take_along_axis(x,indices,axis)",
    "matmul(x1,x2)",
    "matrix_transpose(x)",
    "tensordot(x1,x2,axes)",
    "vecdot(x1,x2,axis)",
    "argmax(x,axis,keepdims)",
    "argmin(x,axis,keepdims)",
    "count_nonzero(x,axis,keepdims)",
    "nonzero(x)",
    "searchsorted(x1,x2,side,sorter)",
    "where(condition,x1,x2)",
    "argsort(x,axis,descending,stable)",
    "sort(x,axis,descending,stable)",
    "isin(x1,x2,invert)",
    "unique_all(x)",
    "unique_counts(x)",
    "unique_inverse(x)",
    "unique_values(x)",
    "all(x,axis,keepdims)",
    "any(x,axis,keepdims)",
    "diff(x,axis,n,prepend,append)",
    "astype(x,dtype,copy,device)",
    "can_cast(from_,to)",
    "finfo(type)",
    "iinfo(type)",
    "isdtype(dtype,kind)",
    "result_type(arrays_and_dtypes)",
    "linalg.cholesky(x,upper)",
    "linalg.cross(x1,x2,axis)",
    "linalg.det(x)",
    "linalg.diagonal(x,offset)",
    "linalg.eig(x)",
    "linalg.eigh(x)",
    "linalg.eigvals(x)",
    "linalg.eigvalsh(x)",
    "linalg.inv(x)",
    "linalg.matmul(x1,x2)",
    "linalg.matrix_norm(x,keepdims,ord)",
    "linalg.matrix_power(x,n)",
    "linalg.matrix_rank(x,rtol)",
    "linalg.matrix_transpose(x)",
    "linalg.outer(x1,x2)",
    "linalg.pinv(x,rtol)",
    "linalg.qr(x,mode)",
    "linalg.slogdet(x)",
    "linalg.solve(x1,x2)",
    "linalg.svd(x,full_matrices)",
    "linalg.svdvals(x)",
    "linalg.tensordot(x1,x2,axes)",
    "linalg.trace(x,offset,dtype)",
    "linalg.vecdot(x1,x2,axis)",
    "linalg.vector_norm(x,axis,keepdims,ord)",
    "fft.fft(x,n,axis,norm)",
    "fft.ifft(x,n,axis,norm)",
    "fft.fftn(x,s,axes,norm)",
    "fft.ifftn(x,s,axes,norm)",
    "fft.rfft(x,n,axis,norm)",
    "fft.irfft(x,n,axis,norm)",
    "fft.rfftn(x,s,axes,norm)",
    "fft.irfftn(x,s,axes,norm)",
    "fft.hfft(x,n,axis,norm)",
    "fft.ihfft(x,n,axis,norm)",
    "fft.fftfreq(n,d,dtype,device)",
    "fft.rfftfreq(n,d,dtype,device)",
    "fft.fftshift(x,axes)",
    "fft.ifftshift(x,axes)",
]


@pytest.mark.parametrize("text", REQUIRED)
def test_signatures(text: str) -> None:
    name, _, parameters = text.rstrip(")").partition("(")
    function: Any = xp
    for word in name.split("."):
        function = getattr(function, word)
    assert list(inspect.signature(function).parameters) == parameters.split(",")
    assert function.__doc__


def test_the_namespace_of_tensors() -> None:
    x = infinicore.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="1999.01")
    assert xp.__array_api_version__ == "2025.12"
    assert x.to_device(x.device) is x
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)


def test_information() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities()["max dimensions"] == 8
    assert info.default_dtypes()["real floating"] is xp.float32
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert info.default_device() in info.devices()


def test_types_meet() -> None:
    scalar = xp.asarray(1.0, dtype=xp.float64)
    assert xp.add(xp.ones(2), scalar).dtype is xp.float64
    assert (xp.ones(2) + scalar).dtype is xp.float32  # the operators follow torch
    assert xp.add(xp.ones(2, dtype=xp.int8), xp.ones(2, dtype=xp.uint8)).dtype is xp.int16
    assert xp.result_type(xp.float64, xp.complex64) is xp.complex128
    assert xp.can_cast(xp.int8, xp.int16)
    assert not xp.can_cast(xp.int16, xp.int8)
    assert xp.isdtype(xp.int8, ("integral", xp.float32))
    with pytest.raises(TypeError, match="isdtype: dtype is"):
        xp.isdtype("int8", "integral")  # type: ignore[arg-type]
    assert xp.finfo(xp.complex64).dtype is xp.float32
    for kind, total in ((xp.uint8, xp.uint64), (xp.int8, xp.int64), (xp.float32, xp.float32)):
        assert xp.sum(xp.ones(2, dtype=kind)).dtype is total
        assert xp.prod(xp.ones(2, dtype=kind)).dtype is total
        assert xp.cumulative_sum(xp.ones(2, dtype=kind)).dtype is total


def test_operators_of_the_standard() -> None:
    xp.set_operators(True)
    try:
        one, inf = xp.ones(2), xp.asarray([math.inf])
        assert (one + xp.asarray(1.0, dtype=xp.float64)).dtype is xp.float64
        assert (inf // 2.0).tolist() == [math.inf]
        assert (2 - one).tolist() == [1, 1]
        one += 1
        assert (-one).tolist() == [-2, -2]
        assert (one == 2).tolist() == [True, True]
    finally:
        xp.set_operators(False)
    assert (xp.ones(2) + xp.asarray(1.0, dtype=xp.float64)).dtype is xp.float32


def test_axes() -> None:
    x = xp.reshape(xp.arange(6.0), (2, 3))
    assert xp.sum(x, axis=()).tolist() == x.tolist()
    assert xp.std(x, axis=()).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert xp.max(x, axis=(0, 1), keepdims=True).tolist() == [[5]]
    assert xp.cumulative_sum(x, axis=1, include_initial=True).tolist()[0] == [0, 0, 1, 3]
    assert xp.expand_dims(x, axis=(0, -1)).shape == (1, 2, 3, 1)
    assert xp.concat([x, x], axis=None).shape == (12,)
    with pytest.raises(ValueError, match="squeeze"):
        xp.squeeze(x, axis=0)


def test_integers_of_numpy_are_axes() -> None:
    numpy = pytest.importorskip("numpy")
    x, one, both = xp.ones((2, 3)), numpy.int64(1), numpy.array([0, 1])
    assert xp.sum(x, axis=one).tolist() == [3, 3]
    assert xp.cumulative_sum(x, axis=one).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert xp.max(x, axis=tuple(both)).tolist() == 1
    assert xp.expand_dims(x, axis=one).shape == (2, 1, 3)
    assert xp.roll(x, one, axis=both).shape == (2, 3)
    assert xp.zeros(numpy.int64(4)).shape == (4,)


def test_special_values() -> None:
    x = xp.asarray([math.inf, -math.inf, 1.0, math.nan])
    assert xp.floor_divide(x, 2.0).tolist()[:3] == [math.inf, -math.inf, 0.0]
    assert math.isnan(xp.sign(x).tolist()[3])
    zeros = xp.asarray([complex(-0.0, 0.0), complex(-0.0, -0.0)])
    for work in (xp.sign, xp.expm1):  # without the sign of the real part
        assert xp.signbit(xp.real(work(zeros))).tolist() == [False, False]
    assert xp.zeros((0, 1))[xp.zeros((0, 0), dtype=xp.bool)].shape == (0,)


def test_sets() -> None:
    values, indices, inverse, counts = xp.unique_all(xp.asarray([3, 1, 3, 2]))
    assert values.tolist() == [1, 2, 3]
    assert indices.tolist() == [1, 3, 0]
    assert inverse.tolist() == [2, 0, 2, 1]
    assert counts.tolist() == [1, 1, 2]
    assert xp.unique_values(xp.asarray([1j, 1 + 1j, 1j])).shape == (2,)
    assert xp.isin(xp.asarray([1, 2]), xp.asarray([2]), invert=True).tolist() == [True, False]
