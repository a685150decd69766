"""Functions under other names: torch tensor methods, `nn.functional`, and the older module."""

from __future__ import annotations

import importlib
import inspect
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import infinicore
from infinicore.lib import _infinicore
from kit import ref
from kit.bounds import assert_within, bound
from kit.models import LENGTH, attend, check, integers, normal, order
from kit.place import put

FLOATS = ["f32", "f16", "bf16"]


def same(got: ref.Tensor, expected: ref.Tensor, roundings: int = 0) -> None:
    rounded = expected.to(got.dtype)
    assert_within(got, rounded, bound(rounded, LENGTH, roundings=roundings))


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("integer", [ref.int32, ref.int64])
def test_vocab_parallel_embedding(kind: str, integer: Any) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "ids": integers(seed, 0, 20, 3, 5).to(integer),
            "weight": normal(seed, dtype, 8, 6),
        }

    def reference(t: dict[str, Any]) -> Any:
        inside = (t["ids"] >= 4) & (t["ids"] < 11)
        rows = t["weight"][(t["ids"] - 4).clamp(0, 7).long()]
        return rows * inside[..., None]

    def call(t: dict[str, Any]) -> Any:
        out = infinicore.zeros(3, 5, 6, dtype=t["weight"].dtype)
        made = infinicore.vocab_parallel_embedding(t["ids"], t["weight"], 4, 11, out=out)
        assert made is out
        return out

    check(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("ignored", [None, 2])
def test_cross_entropy(kind: str, reduction: str, ignored: int | None) -> None:
    def reference(t: dict[str, Any]) -> Any:
        left_out = -100 if ignored is None else ignored
        return ref.cross_entropy(t["x"], t["target"], ignore_index=left_out, reduction=reduction)

    check(
        lambda seed, dtype: {"x": normal(seed, dtype, 6, 5), "target": integers(seed, 0, 5, 6)},
        lambda t: infinicore.cross_entropy(
            t["x"], t["target"], ignore_index=ignored, reduction=reduction
        ),
        reference,
        kind,
    )


def test_cross_entropy_of_rows_in_more_dimensions() -> None:
    x, target = ref.randn(2, 3, 5), ref.randint(0, 5, (2, 3))
    expected = ref.cross_entropy(x.transpose(1, 2), target, reduction="none")
    made = infinicore.cross_entropy(put(x), put(target))
    same(ref.of(made), expected)


@pytest.mark.parametrize("name", ["bilinear", "binary_cross_entropy_with_logits", "conv2d"])
def test_names_of_functional(name: str) -> None:
    functional = infinicore.nn.functional
    if not hasattr(functional, name):
        pytest.skip(f"nn.functional has no {name}")
    assert getattr(infinicore, name) is getattr(functional, name)


@pytest.mark.parametrize(
    ("decode", "prefill"),
    [
        (infinicore.ascend_flash_attn_decode, infinicore.ascend_flash_attn_prefill),
        (infinicore.moore_mate_flash_attn_decode, infinicore.moore_mate_flash_attn_prefill),
    ],
)
@pytest.mark.requires("torch")
@pytest.mark.parametrize("dtype", [ref.float32, ref.bfloat16])
@pytest.mark.parametrize("rows_first", [True, False])
def test_attention_on_torch_tensors(
    decode: Any, prefill: Any, dtype: Any, rows_first: bool
) -> None:
    cache = [normal(seed, dtype, 4, 8, 2, 16) for seed in (1, 2)]
    tables, lengths = order(0, 4).view(2, 2), ref.tensor([5, 16])
    given = cache if rows_first else [c.transpose(1, 2).contiguous() for c in cache]
    wide = [c.double()[tables].flatten(1, 2) for c in cache]

    def expected(q: ref.Tensor, s: int) -> ref.Tensor:
        k, v = (w[s, : lengths[s]].transpose(0, 1) for w in wide)
        count = q.shape[0]
        seen = ref.arange(int(lengths[s])) <= ref.arange(count)[:, None] + lengths[s] - count
        return attend(q.double().transpose(0, 1), k, v, 0.25, seen).transpose(0, 1)

    q = normal(3, dtype, 2, 4, 16)
    theirs = [ref.to_torch(t) for t in (q, *given, tables, lengths)]
    made = ref.from_torch(decode(*theirs, 0.25, 8, 16))
    assert made.dtype == dtype
    right = ref.cat([expected(q[s : s + 1], s) for s in range(2)])
    same(made, right)

    q = normal(4, dtype, 5, 4, 16)
    bounds, keys = ref.tensor([0, 2, 5]), ref.tensor([0, 5, 21])
    theirs = [ref.to_torch(t) for t in (q, *given, bounds, keys, tables)]
    made = ref.from_torch(prefill(*theirs, 0.25, 3, 16, 8))
    right = ref.cat([expected(q[:2], 0), expected(q[2:], 1)])
    same(made, right)
    with pytest.raises(NotImplementedError, match="causal is False"):
        prefill(*theirs, 0.25, 3, 16, 8, causal=False)


# ---- The older module ---------------------------------------------------------------------------


def test_every_operator_has_both_forms() -> None:
    for name in infinicore.op.operators():
        assert callable(getattr(_infinicore, name)), name
        assert callable(getattr(_infinicore, f"{name}_")), name


def test_forms_make_and_write() -> None:
    a, b = infinicore.tensor([1.0, 2.0]), infinicore.tensor([3.0, 4.0])
    assert _infinicore.add(a, b).tolist() == [4.0, 6.0]
    out = infinicore.zeros(2)
    assert _infinicore.mul_(out, a, b) is None
    assert out.tolist() == [3.0, 8.0]
    assert _infinicore.sum(a, 0, False).tolist() == 3.0
    values, indices = _infinicore.topk(b, 1, 0)
    assert (values.tolist(), indices.tolist()) == ([4.0], [1])
    assert _infinicore.argwhere(infinicore.tensor([0.0, 2.0])).tolist() == [[1]]
    assert _infinicore.Tensor is infinicore.Tensor


def test_underlying_types() -> None:
    """The native objects of devices and dtypes, and the conversion back."""
    Device, DataType = _infinicore.Device, _infinicore.DataType  # noqa: N806
    for kind in (infinicore.float32, infinicore.bfloat16, infinicore.bool):
        assert isinstance(kind._underlying, DataType)
        assert infinicore.dtype(kind._underlying) is kind
    assert infinicore.float32._underlying == DataType.F32 != DataType.F16
    assert infinicore.empty(2, dtype=DataType.I64).dtype is infinicore.int64
    assert infinicore.ones(2).to(DataType.F16).dtype is infinicore.float16
    with pytest.raises(TypeError, match="data_type is 'float32'"):
        infinicore.dtype("float32")

    here = infinicore.device("cpu")._underlying
    assert isinstance(here, Device)
    assert (here.type, here.index, str(here)) == (Device.Type.CPU, 0, "CPU:0")
    assert here == Device() == Device(Device.Type.CPU, 0) != Device(Device.Type.NVIDIA, 0)
    assert infinicore.device(here) is infinicore.device("cpu")
    assert infinicore.get_device_count(Device.Type.CPU) == infinicore.get_device_count("cpu")
    assert Device.Type(77).name == "TYPE_77"  # a third-party back end
    for each in (here, here.type, Device.Type(77), DataType.F32, infinicore.float32):
        assert pickle.loads(pickle.dumps(each)) == each


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("matmul", ["matmul", "matmul_"]),
        ("add_rms_norm", ["add_rms_norm", "add_rms_norm_inplace"]),
        ("fused_rotary_embedding", ["fused_rotary_embedding_"]),
        ("moe_topk_vendor", ["moe_topk_sigmoid_vendor", "moe_topk_softmax_vendor"]),
        ("ascend_flash_attn", ["ascend_flash_attn_decode", "ascend_flash_attn_prefill"]),
    ],
)
def test_modules_of_functions(module: str, names: list[str]) -> None:
    found = importlib.import_module(f"infinicore.ops.{module}")
    assert found.__all__ == names
    assert getattr(infinicore.ops, module) is found
    for name in names:
        assert getattr(found, name) is getattr(infinicore, name)


def test_every_module_of_functions_has_some() -> None:
    for module in infinicore.ops._GROUPS:
        assert importlib.import_module(f"infinicore.ops.{module}").__all__, module
    with pytest.raises(ModuleNotFoundError, match="nonsense"):
        importlib.import_module("infinicore.ops.nonsense")
    with pytest.raises(AttributeError, match="nonsense"):
        _ = infinicore.ops.nonsense


def test_attributes_of_the_class() -> None:
    """Programs add methods of their own."""
    infinicore.Tensor.first_number = lambda self: self.flatten()[0].item()
    try:
        assert infinicore.tensor([[3.0, 4.0]]).first_number() == 3.0
        assert infinicore.nn.Parameter(infinicore.ones(2)).first_number() == 1.0
    finally:
        del infinicore.Tensor.first_number
    assert not hasattr(infinicore.Tensor, "first_number")


def test_forms_say_what_was_expected() -> None:
    x = infinicore.ones(2)
    with pytest.raises(TypeError, match="k is missing: expected topk"):
        _infinicore.topk(x)
    with pytest.raises(TypeError, match="no argument 'colour'"):
        _infinicore.add(x, x, colour=1)
    with pytest.raises(TypeError, match="too many arguments"):
        _infinicore.add(x, x, x)
    with pytest.raises(TypeError, match="to write to"):
        _infinicore.add_()
    with pytest.raises(AttributeError, match="nonsense"):
        _ = _infinicore.nonsense


def test_functions_with_an_order_of_their_own() -> None:
    x = infinicore.tensor([[0.0, 3.0, 1.0]])
    values = infinicore.zeros(1, 2)
    indices = infinicore.zeros(1, 2, dtype=infinicore.int32)
    _infinicore.topksoftmax(values, indices, x, 2, True)
    assert indices.tolist() == [[1, 2]]
    assert abs(values.sum().item() - 1) < 1e-6
    _infinicore.moe_topk_softmax_(values, indices, x)
    expected = ref.tensor([[0.0, 3.0, 1.0]]).softmax(-1)[:, [1, 2]]
    same(ref.of(values), expected)
    hidden = infinicore.arange(6, dtype=infinicore.float32).view(1, 3, 2)
    out = infinicore.zeros(1, 2, 2)
    offsets = infinicore.tensor([0, 1, 3], dtype=infinicore.int32)
    for module in (_infinicore, infinicore):
        module.select_last_token_hidden_(out.zero_(), hidden, offsets)
        assert out.tolist() == [[[0.0, 1.0], [4.0, 5.0]]]


def test_names_of_the_binding() -> None:
    """Under `infinicore` they take the results first, as they do in the compiled module."""
    q, weights = put(normal(0, ref.bfloat16, 2, 3, 128)), put(normal(1, ref.float32, 2, 3))
    results = []
    for module in (_infinicore, infinicore):
        q_fp8 = infinicore.zeros(2, 3, 128, dtype=infinicore.float8)
        scaled = infinicore.zeros(2, 3)
        module.fp8_indexer_quant_(q_fp8, scaled, q, weights)
        cache = infinicore.zeros(1, 64, 132, dtype=infinicore.uint8)
        tables = infinicore.zeros(1, 1, dtype=infinicore.int32)
        positions = infinicore.tensor([3, 5])
        requests = infinicore.zeros(2, dtype=infinicore.int32)
        logits = infinicore.zeros(2, 8)
        module.fp8_indexer_logits_(logits, q_fp8, cache, tables, scaled, positions, requests)
        results.append((scaled.tolist(), q_fp8.view(infinicore.uint8).tolist(), logits.tolist()))
    assert results[0] == results[1] and results[0][2][0][3:5] == [0.0, float("-inf")]
    words = "q_fp8 weights_fp32 k_cache q_raw k_weights norm_weight norm_bias positions"
    words += " cos_sin_cache slot_mapping rope_dim eps weights_scale"
    assert list(inspect.signature(infinicore.fused_fp8_indexer_).parameters) == words.split()
    for name in ("fp8_mla_rmsnorm_cache_", "fp8_mla_rmsnorm_dual_cache_", "moe_topk_softmax_"):
        assert getattr(infinicore, name) is getattr(_infinicore, name)
    words = "output query kv_cache indices topk_lens scale"
    assert list(inspect.signature(infinicore.fp8_sparse_mla_).parameters) == words.split()


def test_rwkv5() -> None:
    shape = (1, 3, 4)  # two heads of two
    r, k, v = (normal(seed, ref.float32, *shape) for seed in range(3))
    decay, first = (normal(seed, ref.float32, 2, 2) for seed in (3, 4))
    state = normal(5, ref.float32, 1, 2, 2, 2)
    ours = [put(t.clone()) for t in (r, k, v, decay, first, state)]
    again = infinicore.rwkv5_wkv(*(put(t.clone()) for t in (r, k, v, decay, first, state)))
    made = ref.of(_infinicore.rwkv5_wkv(*ours))
    same(ref.of(again), made)
    for t in range(3):
        for h in range(2):
            part = slice(2 * h, 2 * h + 2)
            kv = k[0, t, part, None] * v[0, t, None, part]
            right = (r[0, t, part, None] * (first[h, :, None] * kv + state[0, h])).sum(0)
            same(made[0, t, part], right)
            state[0, h] = kv + ref.exp(-ref.exp(decay[h]))[:, None] * state[0, h]
    same(ref.of(ours[5]), state)


def latent_rows(rows: Any) -> ref.Tensor:
    """512 codes of 8 bits, four scales of 128 codes each, and 64 numbers of bfloat16."""
    codes = rows[:, :512].copy().view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    scales = rows[:, 512:528].copy().view(np.float32).astype(np.float64)
    rope = rows[:, 528:].copy().view(ml_dtypes.bfloat16).astype(np.float64)
    return ref.Tensor(np.concatenate([codes * np.repeat(scales, 128, axis=1), rope], axis=1))


def test_latent_caches_of_bytes() -> None:
    pages = 2
    kv, rope = normal(0, ref.bfloat16, 2, 512), normal(1, ref.bfloat16, 2, 64)
    weight = ref.ones(512)
    cache = infinicore.zeros(pages, 4, 656, dtype=infinicore.uint8)
    plain = infinicore.zeros(pages, 4, 576, dtype=infinicore.bfloat16)
    slots = infinicore.tensor([5, 2])
    given = [put(t) for t in (kv, weight, rope)]
    _infinicore.fp8_mla_rmsnorm_dual_cache_(cache, plain, *given, slots, 1e-6)
    alone = infinicore.zeros_like(cache)
    _infinicore.fp8_mla_rmsnorm_cache_(alone, *given, slots, 1e-6)
    assert ref.equal(ref.of(cache), ref.of(alone))
    wide = kv.double()
    normed = wide * ref.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6)
    stored = ref.of(plain)
    # Of each 128 numbers the largest is 448, and the others have four digits, or 2**-9 at least.
    tiles = normed[0].array.reshape(4, 128)
    step = np.abs(tiles).max(-1, keepdims=True) / 448
    coded = np.maximum(np.abs(tiles) * 2.0**-4, step * 2.0**-10).reshape(512)
    rounded = normed[0].to(ref.bfloat16)
    assert_within(stored[1, 1, :512], rounded, bound(rounded, LENGTH) + coded)
    assert ref.equal(stored[0, 2, 512:], rope[1])

    query = normal(2, ref.bfloat16, 1, 2, 576)
    chosen = ref.tensor([[[5, 2]]], dtype=ref.int32)
    ours = [put(t) for t in (query, chosen, ref.tensor([2]).int())]
    rows = latent_rows(ref.of(cache).array.reshape(-1, 656)[[5, 2]])[None]
    right = attend(query[0].double()[:, None], rows, rows[..., :512], 0.04)[:, 0]
    for sparse in (_infinicore.fp8_sparse_mla_, infinicore.sparse_flash_mla_):
        out = infinicore.zeros(1, 2, 512, dtype=infinicore.bfloat16)
        sparse(out, ours[0], cache.view(-1, 1, 656), ours[1], ours[2], 0.04)
        same(ref.of(out)[0], right, roundings=1)  # matrix units take rounded probabilities
