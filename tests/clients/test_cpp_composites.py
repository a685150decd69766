"""Functions of infinicore::op that call several operators, against the Python functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from kit.binding import root

from . import cpp_calls
from .cpp_calls import FUNCTIONS, Caller

infinicore = pytest.importorskip("infinicore")
F = infinicore.nn.functional
op = infinicore.op

pytestmark = pytest.mark.requires("c++")

Tensor = Any


def floats(*shape: int, dtype: Any = None) -> Tensor:
    values = np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)
    return infinicore.tensor(values.astype(np.float32)).to(dtype or infinicore.float32)


def ints(values: Any, dtype: Any = None) -> Tensor:
    return infinicore.tensor(values, dtype=dtype or infinicore.int32)


def argument(value: Any) -> Any:
    if isinstance(value, infinicore.Tensor):
        return cpp_calls.tensor(
            value.data_ptr(), value.dtype._code, tuple(value.shape), tuple(value.stride())
        )
    if isinstance(value, list) and value and isinstance(value[0], infinicore.Tensor):
        return [argument(each) for each in value]
    return value


class Case(NamedTuple):
    name: str
    arguments: Callable[[], tuple[Any, ...]]
    expected: Callable[..., Any]  # of the arguments
    tolerance: float = 1e-5


def _case(name: str, arguments: Any, expected: Any, tolerance: float = 1e-5) -> Any:
    return pytest.param(Case(name, arguments, expected, tolerance), id=name)


def _situ(gate: Tensor, up: Tensor, beta: float, linear: float) -> Tensor:
    bounded = linear * infinicore.tanh(up / linear)
    return beta * infinicore.tanh(gate / beta) * infinicore.sigmoid(gate) * bounded


def _awq(x: Tensor, packed: Tensor, scale: Tensor, zeros: Tensor, bias: Tensor) -> Tensor:
    return x @ op.dequantize_awq(packed, scale, zeros) + bias


def _words(*shape: int) -> Tensor:
    values = np.random.default_rng(7).integers(-(2**31), 2**31, shape)
    return infinicore.tensor(values.astype(np.int32))


def _pages() -> tuple[Tensor, Tensor, Tensor]:
    """Keys and values [pages, block_size, heads, D], and the pages of two sequences."""
    return floats(4, 2, 1, 8), floats(4, 2, 1, 8) * 2, ints([[1, 3], [0, 2]])


def _experts() -> tuple[Any, ...]:
    half = infinicore.float16
    weights = [[floats(*s, dtype=half) * (0.1 * (e + 1)) for e in range(3)] for s in SIZES]
    shares = infinicore.tensor([[0.75, 0.25], [0.5, 0.5]])
    chosen = ints([[0, 2], [1, 0]])
    return (floats(2, 8, dtype=half), chosen, shares, *weights, 4, 3)


SIZES = ((4, 8), (4, 8), (8, 4))  # gate, up, down


def _moe(x: Tensor, chosen: Tensor, shares: Tensor, gate: Any, up: Any, down: Any, *_: Any) -> Any:
    both = [infinicore.cat([g, u], 0) for g, u in zip(gate, up, strict=True)]
    return F.fused_moe(x, chosen, shares, infinicore.stack(both), infinicore.stack(down))


def _quantised() -> tuple[Tensor, Tensor]:
    codes = np.random.default_rng(3).integers(-127, 128, (6, 8)).astype(np.int8)
    return infinicore.tensor(codes), infinicore.tensor(np.linspace(0.01, 0.02, 6, dtype=np.float32))


RESULTS = [
    _case(
        "linear",
        lambda: (floats(2, 3, 4), floats(5, 4), floats(5), 0.5),
        lambda x, w, b, alpha: F.linear(x, w, b, alpha=alpha),
    ),
    _case(
        "linear_packed",
        lambda: (floats(3, 4), floats(4, 5), floats(5), 1.0),
        lambda x, w, b, _: x @ w + b,
    ),
    _case("matmul", lambda: (floats(3, 4), floats(4, 5), 2.0), lambda a, b, s: s * (a @ b)),
    _case(
        "matmul",
        lambda: (floats(2, 1, 3, 4), floats(5, 4, 6), 1.0),
        lambda a, b, _: infinicore.matmul(a, b),
    ),
    _case(
        "baddbmm",
        lambda: (floats(3, 5), floats(2, 3, 4), floats(2, 4, 5), 0.5, 2.0),
        lambda i, a, b, beta, alpha: infinicore.baddbmm(i, a, b, beta=beta, alpha=alpha),
    ),
    _case(
        "bilinear",
        lambda: (floats(3, 4), floats(3, 5), floats(2, 4, 5), floats(2)),
        lambda *a: F.bilinear(*a),
    ),
    _case(
        "cat",
        lambda: ([floats(2, 3), floats(2, 1), floats(2, 4)], -1),
        lambda t, d: infinicore.cat(t, d),
    ),
    _case(
        "concat_mla_q",
        lambda: (floats(2, 3, 4), floats(2, 3, 2)),
        lambda a, b: infinicore.cat([a, b], -1),
    ),
    _case(
        "broadcast_to",
        lambda: (floats(3, 1), [2, 3, 4]),
        lambda x, s: infinicore.broadcast_to(x, tuple(s)),
    ),
    _case(
        "mha",
        lambda: (floats(2, 3, 4, 8), floats(2, 5, 2, 8), floats(2, 5, 2, 8), None, 0.3, 1),
        lambda q, k, v, _, scale, causal: infinicore.mha(q, k, v, None, scale, bool(causal)),
    ),
    _case(
        "mha",
        lambda: (floats(1, 3, 4, 8), floats(1, 5, 2, 8), floats(1, 5, 2, 8), floats(4), 0.3, 1),
        lambda q, k, v, s, scale, causal: infinicore.mha(q, k, v, s, scale, bool(causal)),
    ),
    _case(
        "mha_varlen",
        lambda: (
            floats(5, 2, 8),
            floats(5, 1, 8),
            floats(5, 1, 8),
            ints([0, 2, 5]),
            ints([0, 2, 5]),
            None,
            3,
            3,
            None,
            0.3,
        ),
        lambda q, k, v, a, b, t, m, n, s, scale: infinicore.mha_varlen(q, k, v, a, b, scale=scale),
    ),
    _case(
        "mha_varlen",
        lambda: (
            floats(3, 2, 8),
            *_pages()[:2],
            ints([0, 1, 3]),
            ints([0, 3, 7]),
            _pages()[2],
            2,
            4,
            None,
            0.3,
        ),
        lambda q, k, v, a, b, t, m, n, s, scale: infinicore.mha_varlen(
            q, k, v, a, b, t, scale=scale
        ),
    ),
    *(
        _case(
            "mha_kvcache",
            lambda count=count: (
                floats(2, count, 2, 8),
                *_pages()[:2],
                ints([3, 4]),
                _pages()[2],
                None,
                0.3,
            ),
            lambda *a: infinicore.mha_kvcache(*a),
        )
        for count in (1, 2)
    ),
    _case(
        "upsample_bilinear",
        lambda: (floats(1, 2, 3, 4), [5, 6], 0),
        lambda x, s, _: F.interpolate(x, size=tuple(s), mode="bilinear", align_corners=False),
    ),
    _case(
        "upsample_nearest",
        lambda: (floats(1, 2, 3, 4), [5, 6]),
        lambda x, s: F.interpolate(x, size=tuple(s), mode="nearest"),
    ),
    _case(
        "adaptive_avg_pool1d",
        lambda: (floats(2, 3, 7), 3),
        lambda x, n: F.adaptive_avg_pool1d(x, n),
    ),
    _case(
        "linear_w8a8i8",
        lambda: (floats(3, 8), *_quantised(), floats(6)),
        lambda *a: F.linear_w8a8i8(*a),
    ),
    _case(
        "linear_w8a8i8",
        lambda: (floats(3, 8, dtype=infinicore.float16), *_quantised(), None),
        lambda *a: F.linear_w8a8i8(*a),
        1e-2,
    ),
    _case(
        "scaled_mm_w8a8",
        lambda: (_quantised()[0], _quantised()[0], *[_quantised()[1]] * 2, None, 1),
        lambda a, b, s, t, bias, _: infinicore.scaled_mm_w8a8(a, b, s, t),
        1e-2,
    ),
    _case(
        "linear_w4a16_awq",
        lambda: (
            floats(2, 8, dtype=infinicore.float16),
            _words(8, 2),
            floats(2, 16, dtype=infinicore.float16) * 0.01,
            _words(2, 2),
            floats(16, dtype=infinicore.float16),
        ),
        _awq,
        2e-2,
    ),
    _case("situ_and_mul", lambda: (floats(3, 4), floats(4, 3).T, 4.0, 25.0), _situ),
    _case("deepseek_moe", _experts, _moe, 2e-2),
]


def number_of(name: str) -> cpp_calls.Entry:
    return next(entry for entry in FUNCTIONS if entry.function.full_name == name)


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
@pytest.mark.parametrize("case", RESULTS)
def test_result(call: Caller, case: Case, recorded: bool) -> None:
    arguments = case.arguments()
    expected = case.expected(*arguments)
    made = infinicore.zeros(*expected.shape, dtype=expected.dtype)
    call(number_of(case.name), [argument(a) for a in arguments], [argument(made)], recorded)
    wide = [t.to(infinicore.float32).numpy(force=True) for t in (made, expected)]
    np.testing.assert_allclose(*wide, rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
def test_gates(call: Caller, gate: str, recorded: bool) -> None:
    scores = floats(4, 8)
    expected = getattr(infinicore, f"moe_topk_{gate}_vendor")(scores, 2, True)
    weights, ids = (infinicore.zeros(4, 2), ints(np.zeros((4, 2), np.int32)))
    values = [2, 1, 0.0, None] if gate == "softmax" else [2, 1, None]
    entry = number_of(f"moe_topk_{gate}")
    call(entry, [argument(scores), *values], [argument(weights), argument(ids)], recorded)
    np.testing.assert_allclose(
        weights.numpy(force=True), expected.weights.numpy(force=True), rtol=1e-5
    )
    assert ids.tolist() == expected.ids.tolist()
    numbers = ints(np.zeros((4, 2), np.int32))
    given = [weights, ids, numbers, scores]
    entry = number_of(f"moe_topk_{gate}_vendor_")
    call(entry, [*map(argument, given), 1, None], [], recorded)
    assert numbers.tolist() == expected.token_expert_indices.tolist()


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_in_place(call: Caller, recorded: bool) -> None:
    x, residual, weight = floats(2, 4), floats(2, 4) * 2, floats(4)
    total = x + residual
    expected = op.rms_norm(total, weight, epsilon=1e-5)
    call(
        number_of("add_rms_norm_inplace"),
        [argument(x), argument(residual), argument(weight), 1e-5],
        [],
        recorded,
    )
    np.testing.assert_allclose(
        x.numpy(force=True), expected.numpy(force=True), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(residual.numpy(force=True), total.numpy(force=True), rtol=1e-6)
    # A result over an input that the operator still reads goes through a copy.
    square = floats(3, 3)
    product = square @ square
    call(number_of("matmul_"), [argument(square)] * 3 + [1.0], [], recorded)
    np.testing.assert_allclose(
        square.numpy(force=True), product.numpy(force=True), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_state_that_is_dropped(call: Caller, recorded: bool) -> None:
    q, k, v = floats(2, 1, 2, 4), floats(2, 1, 2, 4) * 0.5, floats(2, 1, 2, 8)
    gate, beta, state = floats(2, 1, 2), floats(2, 1, 2), floats(2, 2, 8, 4)
    final = infinicore.zeros(2, 2, 8, 4)
    expected = infinicore.zeros(2, 1, 2, 8)
    given = [argument(t) for t in (q, k, v, gate, beta)]
    states = [argument(expected), argument(state), argument(final)]
    entry = number_of("recurrent_gated_delta_rule_")
    call(entry, [*states, *given, None, None, 1], [], recorded)
    made = infinicore.zeros(2, 1, 2, 8)
    entry = number_of("recurrent_gated_delta_rule")
    call(entry, [*given, argument(state), 1], [argument(made)], recorded)
    np.testing.assert_array_equal(made.numpy(force=True), expected.numpy(force=True))
    assert abs(made.numpy(force=True)).max() > 0


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_part_of_vocabulary(call: Caller, recorded: bool) -> None:
    out, weight, ids = infinicore.ones(4, 3), floats(2, 3), ints([3, 4, 5, 6])
    call(
        number_of("vocab_parallel_embedding_"),
        [argument(out), argument(ids), argument(weight), 4, 6],
        [],
        recorded,
    )
    expected = np.zeros((4, 3), np.float32)
    expected[1:3] = weight.numpy(force=True)
    np.testing.assert_array_equal(out.numpy(force=True), expected)


def test_found_elements(call: Caller) -> None:
    x = infinicore.tensor([[0.0, 2.0], [3.0, 0.0]])
    places = infinicore.zeros(2, 2, dtype=infinicore.int64)
    call(number_of("argwhere"), [argument(x)], [argument(places)], False)
    assert places.tolist() == [[0, 1], [1, 0]]
    chosen = infinicore.zeros(2)
    call(number_of("masked_select"), [argument(x), argument(x != 0)], [argument(chosen)], False)
    assert chosen.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="can't be recorded"):
        call(number_of("argwhere"), [argument(x)], [argument(places)], True)


@pytest.fixture
def communicator() -> Any:
    library = ctypes.CDLL(str(root() / "lib" / "libinfiniccl.so"))
    made = ctypes.c_void_p()
    devices = (ctypes.c_int * 1)(0)
    kind = int(infinicore.zeros(1).device._underlying.type)
    assert library.infinicclCommInitAll(kind, ctypes.byref(made), 1, devices) == 0
    yield made
    assert library.infinicclCommDestroy(made) == 0


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_collectives_of_one_rank(call: Caller, communicator: Any, recorded: bool) -> None:
    comm, x = cpp_calls.Arg(data=communicator.value), floats(4, 3).T
    for name, values in (
        ("allreduce", [0, comm]),
        ("broadcast", [0, comm]),
        ("allgather", [1, comm]),
        ("allgatherv", [[3], comm]),
        ("reduce_scatter", [1, 0, comm]),
        ("reduce_scatterv", [[3], 0, 0, comm]),
    ):
        made = infinicore.zeros(3, 4)
        call(number_of(name), [argument(x), *values], [argument(made)], recorded)
        np.testing.assert_array_equal(made.numpy(force=True), x.numpy(force=True))
    weight, made = floats(5, 4), infinicore.zeros(3, 5)
    given = [argument(x), argument(weight), None, comm, 1.0]
    call(number_of("linear_allreduce"), given, [argument(made)], recorded)
    np.testing.assert_allclose(
        made.numpy(force=True), F.linear(x, weight).numpy(force=True), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("linear", (floats(2, 3), floats(5, 4), None, 1.0), r"linear: input has shape \[2, 3\]"),
        ("cat", ([floats(2, 3), floats(3, 3)], 1), r"cat: a tensor has shape \[3, 3\]"),
        ("add", (floats(2), None), "add: b is empty: expected a tensor"),
        ("mha", (floats(2), floats(2), floats(2), None, 1.0, 0), r"mha: q has shape \[2\]"),
        ("sparse_flash_mla_", (None,) * 7, "sparse_flash_mla_: no device here has"),
    ],
)
def test_messages(call: Caller, name: str, given: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(number_of(name), [argument(value) for value in given], [argument(floats(1))], False)
