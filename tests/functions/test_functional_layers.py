"""Products, tables, norms, dropout and attention against ref."""

from __future__ import annotations

import math
from typing import Any

import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812
from kit import ref
from kit.functions import B, Case, I, Run, T, runs
from kit.functions import case as plain_case
from kit.place import put

HALF = "f32 f16 bf16"


def case(name: str, *args: Any, **keywords: Any) -> Case:
    keywords.setdefault("reference", getattr(ref, name, None))
    return plain_case(f"nn.functional.{name}", *args, **keywords)


def _linear(x: Any, weight: Any, bias: Any = None, alpha: float = 1.0) -> Any:
    product = alpha * (x @ weight.T)
    return product if bias is None else product + bias


def _rms_norm(x: Any, shape: Any, weight: Any, eps: float = 1e-5, epsilon: Any = None) -> Any:
    return ref.rms_norm(x, shape, weight, eps if epsilon is None else epsilon)


def _layer_norm(
    x: Any, shape: Any, weight: Any, bias: Any, eps: float = 1e-5, epsilon: Any = None
) -> Any:
    return ref.layer_norm(x, shape, weight, bias, eps if epsilon is None else epsilon)


def _sdpa(*args: Any, **keywords: Any) -> Any:
    return ref.scaled_dot_product_attention(*args, **keywords)


CASES = [
    # The product is rounded before a bias is added.
    case("linear", T(3, 8), T(5, 8), length=8),
    case("linear", T(2, 3, 8), T(5, 8), T(5), length=9, roundings=1),
    case("linear", T(2, 3, 8), T(5, 8), T(5), alpha=0.5, reference=_linear, length=9, roundings=1),
    case("linear", T(8), T(5, 8), T(5), length=9, roundings=1),
    case("linear", T(2, 3, 8), T(8), length=8),
    # The product with input1, that with input2, and their sums are also rounded.
    case("bilinear", T(3, 4), T(3, 5), T(2, 4, 5), T(2), length=21, roundings=3),
    case("bilinear", T(2, 3, 4), T(2, 3, 5), T(2, 4, 5), length=20, roundings=2),
    case("embedding", I(2, 3, below=7), T(7, 4)),
    case("embedding", I(below=7), T(7, 4), kinds="f32"),
    case("embedding", I(4, below=7, kind="i32"), T(7, 4), kinds="f32"),
    case("embedding_bag", I(3, 4, below=7), T(7, 5), mode="sum", skip="in_place", close=2),
    case("embedding_bag", I(3, 4, below=7), T(7, 5)),
    case("embedding_bag", I(3, 4, below=7), T(7, 5), mode="max", kinds="f32"),
    case(
        "embedding_bag", I(3, 4, below=7), T(7, 5), mode="sum", per_sample_weights=T(3, 4), close=2
    ),
    case("rms_norm", T(2, 3, 8), [8], T(8), reference=_rms_norm),
    case("rms_norm", T(2, 3, 8), [8], T(8), epsilon=0.1, reference=_rms_norm),
    case("rms_norm", T(2, 3, 8), (3, 8), T(3, 8), eps=1e-3, reference=_rms_norm),
    case("layer_norm", T(2, 3, 8), [8], T(8), T(8), reference=_layer_norm),
    case("layer_norm", T(2, 3, 8), [8], T(8), T(8), epsilon=0.1, reference=_layer_norm),
    case("layer_norm", T(2, 3, 8), (3, 8), T(3, 8), T(3, 8), reference=_layer_norm),
    case("layer_norm", T(2, 3, 8), (8,)),
    case("batch_norm", T(3, 4, 5), T(4), T(4, low=0.1), T(4), T(4), close=2),
    case("batch_norm", T(3, 4), T(4), T(4, low=0.1), eps=0.1),
    case("batch_norm", T(3, 4, 2, 2), None, None, T(4), T(4), training=True, close=2),
    case("instance_norm", T(3, 4, 5)),
    case("instance_norm", T(3, 4, 5, 2), None, None, T(4), T(4), eps=0.1, close=2),
    case(
        "instance_norm", T(3, 4, 5), T(4), T(4, low=0.1), use_input_stats=False, close=2, kinds=HALF
    ),
    case("group_norm", T(3, 6, 5), 3),
    case("group_norm", T(3, 6, 4, 5), 2, T(6), T(6), eps=0.1, close=2),
    case("group_norm", T(3, 6), 2, T(6), T(6), close=2),
    case("local_response_norm", T(2, 5, 6), 3),
    case("local_response_norm", T(2, 5, 3, 4), size=4, alpha=0.5, beta=0.6, k=2.0),
    *(
        case(name, T(2, 3, 4), p=0.5, training=False)
        for name in ("dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout")
    ),
    case("dropout2d", T(2, 3, 4, 5), p=0.0, training=True),
    case("dropout3d", T(2, 3, 4, 5, 2), p=1.0, training=True),
    case("one_hot", I(3, 4, below=5), num_classes=5, kinds="f32"),
    *(
        case(
            "scaled_dot_product_attention",
            T(2, 4, 3, 8),
            T(2, 4, 5, 8),
            T(2, 4, 5, 8),
            reference=_sdpa,
            close=4,
            **extra,
        )
        for extra in (
            {},
            {"attn_mask": B(3, 5)},
            {"attn_mask": T(2, 4, 3, 5)},
            {"is_causal": True},
            {"scale": 0.3, "is_causal": True},
        )
    ),
    case(
        "scaled_dot_product_attention",
        T(2, 4, 5, 8),
        T(2, 4, 5, 8),
        T(2, 4, 5, 8),
        is_causal=True,
        close=4,
    ),
    case("scaled_dot_product_attention", T(3, 8), T(5, 8), T(5, 6), close=4),
    case(
        "scaled_dot_product_attention",
        T(2, 4, 3, 8),
        T(2, 2, 5, 8),
        T(2, 2, 5, 8),
        enable_gqa=True,
        close=4,
    ),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


def test_bags_by_offsets() -> None:
    table = ref.randn(7, 3)
    index, offsets = ref.tensor([1, 2, 4, 5, 4, 3]), ref.tensor([0, 2, 2])
    for mode in ("sum", "mean", "max"):
        ours = F.embedding_bag(*(put(each) for each in (index, table, offsets)), mode=mode)
        expected = ref.embedding_bag(index, table, offsets, mode=mode)
        ref.assert_close(ref.of(ours), expected)


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics(name: str) -> None:
    x = ref.randn(3, 4, 5)
    theirs = [ref.rand(4), ref.rand(4) + 0.5]
    ours = [put(each.clone()) for each in theirs]
    keywords: dict[str, Any] = {"training": True} if name == "batch_norm" else {}
    for _ in range(2):
        expected = getattr(ref, name)(x, *theirs, momentum=0.3, **keywords)
        got = getattr(F, name)(put(x), *ours, momentum=0.3, **keywords)
        ref.assert_close(ref.of(got), expected, rtol=1e-4, atol=1e-5)
        for one, other in zip(ours, theirs, strict=True):
            ref.assert_close(ref.of(one), other)


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d"])
def test_dropout_while_training(name: str) -> None:
    spatial = {"dropout": 0, "dropout1d": 1, "dropout2d": 2, "dropout3d": 3}[name]
    x = infinicore.ones(20, 50, *[2] * spatial)
    infinicore.manual_seed(1)
    first = ref.of(getattr(F, name)(x, p=0.25, training=True))
    again = ref.of(getattr(F, name)(x, p=0.25, training=True))
    assert not ref.equal(first, again)
    infinicore.manual_seed(1)
    assert ref.equal(first, ref.of(getattr(F, name)(x, p=0.25, training=True)))
    flat = first.reshape(1000, -1)
    assert (flat == flat[:, :1]).all(), "a channel is dropped as a whole"
    kept = flat[:, 0] != 0
    assert ref.allclose(flat[kept], ref.tensor(1 / 0.75))
    assert 0.65 < kept.float().mean() < 0.85


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_dropout_that_keeps_moments(name: str) -> None:
    infinicore.manual_seed(3)
    x = infinicore.randn(100, 1000)
    y = ref.of(getattr(F, name)(x, p=0.2, training=True))
    assert abs(y.mean()) < 0.05
    assert abs(y.std() - 1) < 0.05


def test_dropout_in_place() -> None:
    x = infinicore.ones(100)
    assert F.dropout(x, 0.5, True, True) is x
    assert 0.0 in x.tolist()


def test_gumbel_softmax() -> None:
    infinicore.manual_seed(0)
    logits = put(ref.log(ref.tensor([0.1, 0.2, 0.7])).expand(4000, 3).clone())
    soft = ref.of(F.gumbel_softmax(logits, tau=0.7))
    ref.assert_close(soft.sum(-1), ref.ones(4000))
    hard = ref.of(F.gumbel_softmax(logits, hard=True))
    assert set(hard.flatten().tolist()) == {0.0, 1.0}
    ref.assert_close(hard.sum(-1), ref.ones(4000))
    assert ref.allclose(hard.mean(0), ref.tensor([0.1, 0.2, 0.7]), atol=0.03)
    by_column = ref.of(F.gumbel_softmax(logits, hard=True, dim=0))
    ref.assert_close(by_column.sum(0), ref.ones(3))


def test_one_hot_counts_classes() -> None:
    made = F.one_hot(infinicore.tensor([[0, 3], [1, 0]]))
    assert made.tolist() == ref.one_hot(ref.tensor([[0, 3], [1, 0]])).tolist()
    for count in (F.one_hot, infinicore.one_hot):
        columns = infinicore.arange(12).reshape(3, 4)[:, ::2]
        assert count(columns).shape == (3, 2, 11)
    with pytest.raises(TypeError, match="one_hot: tensor has type"):
        F.one_hot(infinicore.ones(2))


def test_a_query_that_sees_nothing() -> None:
    q = infinicore.ones(1, 1, 2, 4)
    mask = infinicore.tensor([[True, True], [False, False]])
    made = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert made.tolist()[0][0][1] == [0.0] * 4


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", [ref.float32, ref.float16, ref.bfloat16])
def test_flash_attention(causal: bool, kind: Any) -> None:
    q = ref.randn(2, 4, 3, 16).to(kind)
    k, v = (ref.randn(2, 2, 7, 16).to(kind) for _ in range(2))
    lengths = ref.tensor([7, 5], dtype=ref.int32)
    ours = ref.of(F.flash_attention(*(put(t) for t in (q, k, v, lengths)), is_causal=causal))
    for b, count in enumerate(lengths.tolist()):
        keys = k[b, :, :count].float().repeat_interleave(2, 0)
        values = v[b, :, :count].float().repeat_interleave(2, 0)
        scores = q[b].float() @ keys.transpose(-1, -2) / math.sqrt(16)
        if causal:
            seen = ref.ones(3, count, dtype=ref.bool).tril(count - 3)
            scores = scores.masked_fill(~seen, -ref.inf)
        expected = (ref.softmax(scores, -1) @ values).to(kind)
        ref.assert_close(ours[b], expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.linear(x, infinicore.ones(2, 3)), r"linear: input.shape is \(3, 4\)"),
        (lambda x: F.linear(x, x, infinicore.ones(2)), "linear: bias.shape"),
        (
            lambda x: F.rms_norm(x, [3], x),
            r"rms_norm: input.shape is \(3, 4\): expected \[..., 3\]",
        ),
        (lambda x: F.layer_norm(x, [4], x), "layer_norm: weight.shape"),
        (lambda x: F.group_norm(x, 3), "group_norm: num_groups is 3: expected a divisor of 4"),
        (lambda x: F.batch_norm(x), "batch_norm: running_mean or running_var is None"),
        (lambda x: F.dropout(x, 2.0), "dropout: p is 2.0"),
    ],
)
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call(infinicore.ones(3, 4))


def test_no_tensor() -> None:
    with pytest.raises(TypeError, match="linear"):
        F.linear([1.0], infinicore.ones(1, 1))
