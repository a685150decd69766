"""infinicore.op: inputs of all kinds, results, broadcasting, plans, streams, captures, errors."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import op, rt
from kit.requirements import need

from .conftest import Latch

pytestmark = pytest.mark.host  # on arrays; for other devices see test_op_device.py


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x.astype(np.float64)))


@pytest.fixture
def x() -> Any:
    return np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)


# ---- Inputs -------------------------------------------------------------------------------------


def test_numpy(x: Any) -> None:
    y = op.silu(x)
    assert isinstance(y, np.ndarray) and y.dtype == x.dtype
    np.testing.assert_allclose(y, silu(x), rtol=1e-6)


@pytest.mark.parametrize("layout", ["transposed", "stepped", "repeated"])
def test_strides_are_honoured(x: Any, layout: str) -> None:
    given = {
        "transposed": x.T,
        "stepped": x[::2, ::3],
        "repeated": np.broadcast_to(x[:, None], (4, 3, 6)),
    }[layout]
    np.testing.assert_allclose(op.silu(given), silu(given), rtol=1e-6)
    out = np.zeros((*given.shape, 2), np.float32)[..., 0]
    assert op.silu(given, out=out) is out
    np.testing.assert_allclose(out, silu(given), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_element_types(dtype: str) -> None:
    a = np.arange(12).astype(dtype)
    c = op.add(a, a)
    assert c.dtype == a.dtype
    np.testing.assert_array_equal(c, a + a)


def test_types_of_ml_dtypes(x: Any) -> None:
    import ml_dtypes

    b = x.astype(ml_dtypes.bfloat16)
    c = op.mul(b, b.copy())
    assert c.dtype == b.dtype
    np.testing.assert_array_equal(c, (b.astype(np.float32) ** 2).astype(ml_dtypes.bfloat16))
    ones = op.ones(x.astype(ml_dtypes.float8_e4m3fn))
    assert ones.dtype == ml_dtypes.float8_e4m3fn and (ones.astype(np.float32) == 1).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_torch(dtype: str) -> None:
    torch = need("torch")
    a = torch.randn(5, 7).to(getattr(torch, dtype))
    c = op.add(a.T, a.T)
    assert isinstance(c, torch.Tensor) and c.dtype == a.dtype and c.shape == (7, 5)
    assert torch.equal(c, a.T + a.T)
    weight = torch.nn.Parameter(torch.ones(7, dtype=a.dtype))  # needs no gradient to be read
    assert op.rms_norm(a, weight, epsilon=0.0).shape == a.shape


def test_memory_of_the_runtime(x: Any) -> None:
    memory, result = rt.Memory(x.nbytes), rt.Memory(x.nbytes)
    memory.copy_from(x)
    shaped = memoryview(memory).cast("f", (4, 6))
    op.silu(shaped, out=op.view(result, (4, 6), "F32"))
    np.testing.assert_allclose(np.frombuffer(result, np.float32).reshape(4, 6), silu(x), rtol=1e-6)


def test_bytes_and_numbers_of_the_buffer_protocol() -> None:
    import array

    a = array.array("d", [1, 2, 3])
    c = array.array("d", [0, 0, 0])
    op.mul(a, a, out=c)
    assert list(c) == [1, 4, 9]


def test_dlpack_alone(x: Any) -> None:
    class Lent:
        def __dlpack__(self, **given: Any) -> Any:
            return x.__dlpack__(**given)

        def __dlpack_device__(self) -> Any:
            return x.__dlpack_device__()

    out = np.empty_like(x)
    op.silu(Lent(), out=out)
    np.testing.assert_allclose(out, silu(x), rtol=1e-6)


def test_what_is_no_tensor(x: Any) -> None:
    with pytest.raises(TypeError, match="b: expected a tensor"):
        op.add(x, "text")
    with pytest.raises(TypeError, match="elements that operators do not know"):
        op.silu(np.array(["a"]))
    with pytest.raises(TypeError, match="out= is needed: no input is an array"):
        op.silu(memoryview(bytes(16)).cast("f"))


def test_views(x: Any) -> None:
    view = op.view(x.T)
    assert (view.shape, view.strides, view.dtype) == ((6, 4), (1, 6), "F32")
    assert view.ptr == x.ctypes.data and view.owner is not None
    block = rt.Memory(64)
    assert op.view(block, (4, 8), "BF16").strides == (8, 1)
    with pytest.raises(ValueError, match="reaches beyond"):
        op.view(block, (5, 8), "BF16")
    with pytest.raises(ValueError, match="there is no element type"):
        op.view(block, (4,), "F31")


# ---- Results ------------------------------------------------------------------------------------


def test_broadcasting(x: Any) -> None:
    row, column = x[:1], x[:, :1]
    np.testing.assert_array_equal(op.add(row, column), row + column)
    np.testing.assert_array_equal(op.mul(x, np.float32(2)), x * 2)
    out = np.empty((3, 4, 6), np.float32)
    op.add(x, x[0], out=out)
    np.testing.assert_array_equal(out, np.broadcast_to(x + x[0], out.shape))
    with pytest.raises(ValueError, match="do not broadcast"):
        op.add(x, x.T)


def test_in_place(x: Any) -> None:
    expected = silu(x)
    assert op.silu(x, out=x) is x
    np.testing.assert_allclose(x, expected, rtol=1e-6)


def test_tensors_that_are_modified() -> None:
    a, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    assert op.axpy(np.float32(2), a, y) is y
    np.testing.assert_array_equal(y, 1 + 2 * np.arange(4))


def test_reductions(x: Any) -> None:
    np.testing.assert_allclose(op.sum(x), x.sum(), atol=1e-5)
    np.testing.assert_allclose(op.sum(x, dim=-1), x.sum(-1), atol=1e-5)
    assert op.sum(x, dim=(0,), keepdim=True).shape == (1, 6)
    variance, mean = op.var_mean(x, dim=1)
    np.testing.assert_allclose(variance, x.var(1, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(mean, x.mean(1), atol=1e-6)


def test_products(x: Any) -> None:
    np.testing.assert_allclose(op.gemm(x, x.T), x @ x.T, rtol=1e-5, atol=1e-5)
    batches = op.gemm(np.stack([x, x + 1]), x.T, alpha=2.0)
    np.testing.assert_allclose(batches[1], 2 * (x + 1) @ x.T, rtol=1e-5, atol=1e-5)
    c = np.ones((4, 4), np.float32)
    op.gemm(x, x.T, beta=3.0, out=c)
    np.testing.assert_allclose(c, x @ x.T + 3, rtol=1e-5, atol=1e-5)
    with pytest.raises(TypeError, match="out= is needed: beta is not 0"):
        op.gemm(x, x.T, beta=1.0)


def test_words_for_numbers(x: Any) -> None:
    np.testing.assert_allclose(op.huber_loss(x, x + 3, reduction="mean"), 2.5, rtol=1e-6)
    assert op.huber_loss(x, x + 3, reduction="none").shape == x.shape
    with pytest.raises(ValueError, match="expected one of 'none', 'mean', 'sum'"):
        op.huber_loss(x, x, reduction="some")


def test_sizes_from_attributes(x: Any) -> None:
    values, indices = op.topk(x, k=2)
    np.testing.assert_array_equal(values, -np.sort(-x)[:, :2])
    assert indices.dtype == np.int64
    assert op.silu_and_mul(x).shape == (4, 3)


def test_what_is_found(x: Any) -> None:
    np.testing.assert_array_equal(op.argwhere((x > 1).astype(np.float32)), np.argwhere(x > 1))
    np.testing.assert_array_equal(op.masked_select(x, x > 1), x[x > 1])


def test_results_that_cannot_be_made(x: Any) -> None:
    with pytest.raises(TypeError, match=r"broadcast_to: out= is needed.*\*S of y"):
        op.broadcast_to(x)
    frozen = np.empty_like(x)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="is read-only"):
        op.silu(x, out=frozen)


# ---- Plans --------------------------------------------------------------------------------------


def test_plan(x: Any) -> None:
    plan = op.describe("rms_norm", x=x, w=x[0], epsilon=1e-5)
    assert plan.workspace_size >= 0 and plan.parameters == ("y", "x", "w")
    for scale in (1, 2):
        given, out = x * np.float32(scale), np.empty_like(x)
        plan(out, given, x[0])
        np.testing.assert_array_equal(out, op.rms_norm(given, x[0], epsilon=1e-5))


def test_plan_takes_only_what_it_was_made_for(x: Any) -> None:
    plan = op.describe("add", x, x)
    with pytest.raises(ValueError, match=r"described as F32 \[4, 6\]"):
        plan(np.empty((6, 4), np.float32), x, x)
    with pytest.raises(TypeError, match="expected 3 tensors, got 2"):
        plan(x, x)
    with pytest.raises(TypeError, match="no parameters of the operator"):
        op.describe("add", x, x, epsilon=1)
    with pytest.raises(TypeError, match="missing: bins"):
        op.describe("histc", x[0], min_val=0.0, max_val=1.0)


def test_plan_with_scalars(x: Any) -> None:
    plan = op.describe("mul_scalar", x, alpha=2.0)
    out = np.empty_like(x)
    plan(out, x)
    np.testing.assert_array_equal(out, x * 2)
    plan(out, x, alpha=3.0)
    np.testing.assert_array_equal(out, x * 3)


# ---- Streams ------------------------------------------------------------------------------------


def test_in_the_order_of_a_stream(x: Any, stream: rt.Stream, latch: Latch) -> None:
    latch.hold(stream)
    out = np.zeros_like(x)
    op.silu(x, out=out, stream=stream)
    assert not out.any()
    latch.open()
    stream.synchronize()
    np.testing.assert_allclose(out, silu(x), rtol=1e-6)


def test_tensors_live_as_long_as_their_work(stream: rt.Stream, latch: Latch) -> None:
    latch.hold(stream)
    result = np.zeros(1000, np.float32)
    op.add(np.full(1000, 2, np.float32), np.full(1000, 3, np.float32), out=result, stream=stream)
    gc.collect()
    rubbish = [np.full(1000, 9, np.float32) for _ in range(50)]  # would reuse freed inputs
    latch.open()
    stream.synchronize()
    assert rubbish and (result == 5).all()


def test_capture_and_replay(x: Any, stream: rt.Stream) -> None:
    out, norm = np.zeros_like(x), np.zeros_like(x)
    with rt.capture(stream) as graph:
        op.silu(x, out=out, stream=stream)
        op.softmax(out, out=norm, stream=stream)
    assert not out.any()
    for shift in (0, 1):
        x += np.float32(shift)
        graph.launch(stream)
        stream.synchronize()
        np.testing.assert_allclose(out, silu(x), rtol=1e-6)
        np.testing.assert_allclose(norm.sum(-1), 1, rtol=1e-6)


def test_done_without_a_stream(x: Any, stream: rt.Stream) -> None:
    """The null stream waits for the others, and the call for the null stream; Python threads keep
    running."""
    memory = rt.Memory(x.nbytes)
    stream.launch(lambda: None)
    memory.copy_from(x, stream=stream)
    given = op.view(memory, x.shape, "F32")
    np.testing.assert_allclose(op.silu(given, out=np.empty_like(x)), silu(x), rtol=1e-6)


# ---- Errors and people --------------------------------------------------------------------------


def test_errors(x: Any) -> None:
    with pytest.raises(op.InfiniOPError) as caught:
        op.add(x, x.astype(np.float64))
    error = caught.value
    assert isinstance(error, rt.InfiniRTError)
    assert (error.status, error.name) == (10, "INFINI_STATUS_BAD_TENSOR_DTYPE")
    assert error.function == "infiniopCreateAddDescriptor"
    assert "b has dtype F64" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.status, str(again)) == (error.status, str(error))


def test_what_there_is() -> None:
    names = op.operators()
    assert len(names) >= 150 and all(callable(getattr(op, name)) for name in names)
    info = op.info("rms_norm")
    assert info.group == "norm" and "infiniopCreateRMSNormDescriptor" in info.c
    assert info.definition.startswith("def rms_norm(") and "[*B, D]" in str(info)
    assert "C: infiniopRMSNorm" in (op.rms_norm.__doc__ or "")
    with pytest.raises(AttributeError, match="no operator 'nothing'"):
        op.info("nothing")


def test_nothing_is_imported() -> None:
    """NumPy and torch are imported only if the user has done so."""
    program = (
        "import sys, array; from infinicore import op;"
        "a = array.array('f', [1, 2]); op.add(a, a, out=a); print(list(a));"
        "assert not {'numpy', 'torch', 'ml_dtypes'} & set(sys.modules)"
    )
    host = {**os.environ, "INFINI_DEVICE": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=host)
    assert done.stdout == "[2.0, 4.0]\n", done.stderr


def test_ctypes() -> None:
    from infinicore.op._ctypes import FUNCTIONS, load

    library = load()
    assert len(FUNCTIONS) >= 688
    handle = ctypes.c_void_p()
    assert library.infiniopCreateHandle(ctypes.byref(handle)) == 0
    sizes = (ctypes.c_size_t * 1)(4)
    tensor, descriptor = ctypes.c_void_p(), ctypes.c_void_p()
    f32 = 13
    assert library.infiniopCreateTensorDescriptor(ctypes.byref(tensor), 1, sizes, None, f32) == 0
    create = library.infiniopCreateSoftplusDescriptor
    assert create(handle, ctypes.byref(descriptor), tensor, tensor, 1.0, 20.0) == 0
    data = (ctypes.c_float * 4)(0, 1, 2, 30)
    assert library.infiniopSoftplus(descriptor, None, 0, data, data, None) == 0
    assert data[3] == 30 and abs(data[0] - 0.6931472) < 1e-6
    assert library.infiniopDestroySoftplusDescriptor(descriptor) == 0
    assert library.infiniopDestroyTensorDescriptor(tensor) == 0
    assert library.infiniopDestroyHandle(handle) == 0


def test_view_with_element_types_as_objects() -> None:
    memory = np.arange(6, dtype=np.float32)
    for dtype in ("I32", infinicore.int32, np.int32, np.dtype("int32")):
        made = op.view(memory, (2, 3), dtype)
        assert (made.dtype, tuple(made.shape)) == ("I32", (2, 3))
    for wrong in (7, object):
        with pytest.raises(TypeError, match=r"view: dtype is .*: expected an element type"):
            op.view(memory, (2, 3), wrong)
    with pytest.raises(TypeError, match="view: shape is"):
        op.view(memory, (1.5,), "F32")
    with pytest.raises(ValueError, match=r"view: strides is \(1,\): expected 2"):
        op.view(memory, (2, 3), "F32", (1,))
