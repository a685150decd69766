"""Methods that torch programs call: in-place layout changes, queries, constants, Python functions
applied per element; and all in-place methods as functions."""

from __future__ import annotations

import inspect
import os

import pytest

import infinicore as ic


def test_layouts_in_place() -> None:
    x = ic.arange(6.0).reshape(2, 3)
    view, address = x.detach(), x.data_ptr()
    assert x.transpose_(0, 1) is x and x.shape == (3, 2) and x.stride() == (1, 3)
    assert x.t_().shape == (2, 3) and x.swapaxes_(0, 1).swapdims_(0, 1).shape == (2, 3)
    assert x.unsqueeze_(0).shape == (1, 2, 3) and x.squeeze_().shape == (2, 3)
    assert x.as_strided_((2, 2), (3, 1)).tolist() == [[0, 1], [3, 4]]
    assert x.detach_() is x and x.data_ptr() == address and view.shape == (2, 3)
    assert ic.t_(ic.ones(2, 3)).shape == (3, 2)


def test_resize() -> None:
    x = ic.arange(6.0)
    part = x[2:4]
    assert part.resize_(2, 2).tolist() == [[2, 3], [4, 5]]  # elements after it in memory
    assert x.resize_(2).tolist() == [0, 1]
    address = x.data_ptr()
    x.resize_((2, 5))
    assert x.shape == (2, 5) and x.data_ptr() != address
    assert x.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert ic.ones(4).resize_as_(ic.ones(2, 1)).shape == (2, 1)
    assert ic.ones(4).resize_(()).shape == ()
    with pytest.raises(ValueError, match=r"resize_: the shape is \(-1,\)"):
        x.resize_(-1)
    with pytest.raises(TypeError, match="resize_as_: other is int"):
        x.resize_as_(3)  # type: ignore[arg-type]


def test_a_recorded_function_sees_the_new_layout() -> None:
    weight = ic.ones(2, 3)

    @ic.graph
    def product(x: ic.Tensor) -> ic.Tensor:
        return x @ weight.T

    assert product(ic.ones(1, 3)).shape == (1, 2)
    weight.resize_(1, 3)
    assert product(ic.ones(1, 3)).shape == (1, 1)


def test_elements_in_place() -> None:
    assert ic.zeros(3, 3, 3).fill_diagonal_(1).sum().item() == 3
    tall = ic.zeros(5, 2)
    assert tall.fill_diagonal_(1).nonzero().tolist() == [[0, 0], [1, 1]]
    tall.zero_()
    assert tall.fill_diagonal_(1, wrap=True).nonzero().tolist() == [[0, 0], [1, 1], [3, 0], [4, 1]]
    with pytest.raises(RuntimeError, match="fill_diagonal_: the tensor has shape"):
        ic.zeros(2, 3, 2).fill_diagonal_(1)
    x = ic.zeros(3)
    x.masked_scatter_(ic.tensor([True, False, True]), ic.tensor([1.0, 2.0]))
    assert x.tolist() == [1, 0, 2]


def test_questions() -> None:
    x = ic.ones(2, 3)
    assert x.ndimension() == 2 and x.nelement() == 6
    assert x.get_device() == (-1 if x.is_cpu else 0)
    assert x.dim_order() == (0, 1) and x.T.dim_order() == (1, 0)
    assert x.is_set_to(x.detach()) and not x.is_set_to(x.clone()) and not x.is_set_to(x.T)
    assert x.is_same_size(ic.zeros(2, 3)) and not ic.is_same_size(x, x.T)
    assert x.const_data_ptr() == x.data_ptr()
    assert ic.is_signed(x) and not ic.is_signed(x.byte())
    assert ic.typename(x) == "infinicore.float32" and ic.typename(3) == "int"
    assert ic.from_dlpack(ic.to_dlpack(ic.ones(2, device="cpu"))).tolist() == [1, 1]
    z = ic.tensor([[1 + 2j, 3j]])
    assert z.H.tolist() == z.mH.tolist() == ic.adjoint(z).tolist() == [[1 - 2j], [-3j]]
    with pytest.raises(RuntimeError, match="H: the tensor has 1 dimensions: expected 2"):
        _ = ic.ones(3).H


def test_for_inference_only() -> None:
    x = ic.ones(2)
    assert x.requires_grad is False and x.grad is None and x.grad_fn is None and x.is_leaf
    assert not (x.is_sparse or x.is_quantized or x.is_meta or x.is_nested or x.is_mkldnn)
    assert x.layout is ic.strided and repr(ic.strided) == "infinicore.strided"
    assert x.requires_grad_(False) is x
    assert not ic.is_conj(x) and not ic.is_neg(x) and ic.is_inference(x)
    assert not ic.is_distributed(x) and not x.is_shared()
    assert ic.detach(x).data_ptr() == x.data_ptr()
    for call, words in (
        (x.requires_grad_, "requires_grad_: requires_grad is True: expected False"),
        (x.backward, "backward: there are no gradients"),
        (x.share_memory_, "share_memory_: tensors are not shared between processes"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()


def test_data() -> None:
    x, y = ic.ones(2), ic.zeros(3)
    x.data.fill_(5)
    assert x.tolist() == [5, 5]
    x.data = y
    assert x.is_set_to(y)
    parameter = ic.nn.Parameter(ic.ones(2))
    parameter.data = y
    assert isinstance(parameter, ic.nn.Parameter) and parameter.shape == (3,)


def test_functions_of_python() -> None:
    x = ic.arange(4, device="cpu").reshape(2, 2).T
    assert x.apply_(lambda each: each + 1).tolist() == [[1, 3], [2, 4]]
    row = ic.tensor([10, 20], device="cpu")
    assert x.map_(row, lambda a, b: a + b).tolist() == [[11, 23], [12, 24]]
    assert x.map2_(row, row, lambda a, b, c: a - b - c).tolist() == [[-9, -17], [-8, -16]]


def test_methods_in_place_are_functions() -> None:
    names = [name for name in vars(ic.Tensor) if name.endswith("_") and name[0] != "_"]
    assert len(names) > 100 and {"abs_", "zero_", "index_put_", "transpose_"} < set(names)
    for name in names:
        assert callable(getattr(ic, name)), name
    x = ic.tensor([-1.0, 2.0])
    assert ic.abs_(x) is x and x.tolist() == [1, 2]
    assert ic.zero_(x).tolist() == [0, 0]
    assert inspect.getdoc(ic.abs_)


def test_threads() -> None:
    most = ic.get_num_threads()
    x = ic.rand(300, 300, device="cpu")
    expected = (x @ x).sum().item()
    try:
        for count in (1, most, 1000):
            ic.set_num_threads(count)
            assert ic.get_num_threads() == min(count, most)
            assert abs((x @ x).sum().item() / expected - 1) < 1e-5
        with pytest.raises(ValueError, match="set_num_threads: threads is 0: expected 1 or more"):
            ic.set_num_threads(0)
        with pytest.raises(TypeError, match=r"set_num_threads: threads is 1\.5"):
            ic.set_num_threads(1.5)  # type: ignore[arg-type]
    finally:
        ic.set_num_threads(most)


def test_a_forked_process_keeps_the_number_of_threads() -> None:
    most = ic.get_num_threads()
    ic.set_num_threads(1)
    try:
        child = os.fork()
        if child == 0:
            os._exit(ic.get_num_threads())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    finally:
        ic.set_num_threads(most)


def test_precision_of_products() -> None:
    for word in ("high", "medium", "highest"):
        ic.set_float32_matmul_precision(word)
        assert ic.get_float32_matmul_precision() == word
    with pytest.raises(ValueError, match="set_float32_matmul_precision: precision is 'low'"):
        ic.set_float32_matmul_precision("low")
