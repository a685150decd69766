"""Expert routing: choosing experts, and moving tokens to their experts and back."""

from __future__ import annotations

from typing import Any, NamedTuple

from infinicore import _core
from infinicore._dtype import dtype, float32, int32, int64
from infinicore._emit import cast_to, emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_shape, need_tensor
from infinicore.functions._operands import counting, float32_at_least, store


class Chosen(NamedTuple):
    """The experts of each token."""

    weights: Tensor
    ids: Tensor


class ChosenPairs(NamedTuple):
    """The experts of each token, and the index of each (token, expert) pair."""

    weights: Tensor
    ids: Tensor
    token_expert_indices: Tensor


def _check_gate(name: str, scores: Tensor, topk: int) -> tuple[int, int]:
    need_tensor(name, "the scores", scores, 2)
    tokens, experts = scores.shape
    expect(0 < topk <= experts, name, "topk", topk, f"1 to {experts}, the number of experts")
    return tokens, experts


@function
def _moe_topk(
    gating_output: Tensor,
    topk: int,
    renormalize: bool,
    correction_bias: Tensor | None,
    softmax: bool,
    softcap: float,
    kind: Any,
) -> ChosenPairs:
    name = "moe_topk_softmax_vendor" if softmax else "moe_topk_sigmoid_vendor"
    tokens, experts = _check_gate(name, gating_output, topk)
    bias = correction_bias
    if bias is not None:
        need_shape(name, "correction_bias", bias, experts)
    shape, where = (tokens, topk), gating_output.device
    results = (_core.empty(shape, float32, where), _core.empty(shape, int32, where))
    scores = gating_output
    more: dict[str, Any] = {"moe_softcapping": softcap} if softmax else {}
    operator = "moe_topk_softmax" if softmax else "moe_topk_sigmoid"
    emit(operator, scores, bias, renormalize=renormalize, out=results, **more)
    pairs = counting(tokens, scores).unsqueeze(1) + counting(topk, scores, tokens)
    return ChosenPairs(results[0], cast_to(results[1], kind), cast_to(pairs, int32))


def moe_topk_softmax_vendor(
    gating_output: Tensor,
    topk: int,
    renormalize: bool = False,
    correction_bias: Tensor | None = None,
    *,
    out: Any = None,
    topk_ids_dtype: dtype = int32,
) -> ChosenPairs:
    """The largest probabilities (softmax) of each row of scores [tokens, experts]: weights [tokens,
    topk] in float32, ids, and the number k * tokens + t of choice k of token t. The bias affects
    only the choice; `renormalize` makes the weights of a token sum to 1.

    >>> infinicore.moe_topk_softmax_vendor(infinicore.tensor([[0.0, 0.0, 5.0]]), 1, True).ids
    tensor([[2]], dtype=infinicore.int32)
    """
    made = _moe_topk(gating_output, topk, renormalize, correction_bias, True, 0.0, topk_ids_dtype)
    return _into("moe_topk_softmax_vendor", out, made)  # type: ignore[no-any-return]


def moe_topk_sigmoid_vendor(
    gating_output: Tensor,
    topk: int,
    renormalize: bool = False,
    correction_bias: Tensor | None = None,
    *,
    out: Any = None,
    topk_ids_dtype: dtype = int32,
) -> ChosenPairs:
    """Like moe_topk_softmax_vendor, with the sigmoid of each score as its weight.

    >>> infinicore.moe_topk_sigmoid_vendor(infinicore.tensor([[0.0, 5.0, 1.0]]), 2).ids
    tensor([[1, 2]], dtype=infinicore.int32)
    """
    made = _moe_topk(gating_output, topk, renormalize, correction_bias, False, 0.0, topk_ids_dtype)
    return _into("moe_topk_sigmoid_vendor", out, made)  # type: ignore[no-any-return]


def _into(name: str, out: Any, made: Any) -> Any:
    if out is None:
        return made
    given = (*out, *[None] * (len(made) - len(out))) if isinstance(out, (tuple, list)) else out
    written = write(name, given, made)
    return type(made)(*(m if w is None else w for w, m in zip(written, made, strict=True)))


@function
def _grouped_topk(
    scores: Tensor,
    groups: int,
    kept: int,
    topk: int,
    renormalize: bool,
    factor: float,
    bias: Tensor | None,
    scoring_func: str,
    kind: Any,
) -> Chosen:
    name = "grouped_topk_vendor"
    tokens, experts = _check_gate(name, scores, topk)
    fits = groups > 0 and experts % groups == 0
    expect(fits, name, "num_expert_group", groups, f"a divisor of {experts}, the number of experts")
    expect(0 < kept <= groups, name, "topk_group", kept, f"1 to {groups}")
    size = experts // groups
    expect(topk <= kept * size, name, "topk", topk, f"at most {kept * size}, what groups hold")
    if scoring_func == "softmax":
        score = emit("softmax", float32_at_least(scores), axis=-1)
    elif scoring_func == "sigmoid":
        score = emit("sigmoid", float32_at_least(scores))
    else:
        expect(False, name, "scoring_func", repr(scoring_func), "'softmax' or 'sigmoid'")
    choice = score
    if bias is not None:
        need_shape(name, "bias", bias, experts)
        choice = score + cast_to(bias, score.dtype)
    by_group = choice.view(tokens, groups, size)
    best = emit(
        "topk",
        by_group,
        dim=2,
        k=min(2, size),
        largest=True,
        sorted=True,
        out=_two((tokens, groups, min(2, size)), choice),
    )[0]
    rank = emit("sum", best, dim=[2])
    chosen_groups = emit(
        "topk", rank, dim=1, k=kept, largest=True, sorted=True, out=_two((tokens, kept), choice)
    )[1]
    hits = counting(groups, scores).view(1, groups, 1) == chosen_groups.unsqueeze(1)
    open_groups = emit("any", hits, dim=[2])
    masked = emit("where", open_groups.unsqueeze(2), by_group, float("-inf"))
    ids = emit(
        "topk",
        masked.view(tokens, experts),
        dim=1,
        k=topk,
        largest=True,
        sorted=True,
        out=_two((tokens, topk), choice),
    )[1]
    weights = emit("gather", score, ids, dim=1)
    if renormalize:
        weights = weights / emit("sum", weights, dim=[1]).unsqueeze(1)
    return Chosen(weights * factor, cast_to(ids, kind))


def _two(shape: tuple[int, ...], like: Tensor) -> tuple[Tensor, Tensor]:
    """Values and indices of the largest."""
    return _core.empty(shape, like.dtype, like.device), _core.empty(shape, int64, like.device)


def grouped_topk_vendor(
    scores: Tensor,
    num_expert_group: int,
    topk_group: int,
    topk: int,
    renormalize: bool,
    routed_scaling_factor: float = 1.0,
    bias: Tensor | None = None,
    scoring_func: str = "softmax",
    *,
    out: Any = None,
    topk_ids_dtype: dtype = int32,
) -> Chosen:
    """The experts of each token from the best groups: scores [tokens, experts] become weights by
    softmax or sigmoid; groups are ranked by the sum of their two largest weights plus bias, and of
    the `topk_group` best the `topk` largest are chosen. Weights [tokens, topk] exclude the bias,
    are rescaled to sum to 1 by `renormalize`, and are multiplied by `routed_scaling_factor`. The
    bias defaults to 0.

    >>> scores = infinicore.tensor([[0.0, 1.0, 2.0, 3.0]])
    >>> infinicore.grouped_topk_vendor(scores, 2, 1, 2, True).ids
    tensor([[3, 2]], dtype=infinicore.int32)
    """
    made = _grouped_topk(
        scores,
        num_expert_group,
        topk_group,
        topk,
        renormalize,
        routed_scaling_factor,
        bias,
        scoring_func,
        topk_ids_dtype,
    )
    return _into("grouped_topk_vendor", out, made)  # type: ignore[no-any-return]


@function
def topksoftmax(x: Tensor, topk: int, norm: bool = False) -> Chosen:
    """The `topk` largest probabilities (softmax) of each row of x [tokens, experts], descending, in
    float32, and their indices in int32; with `norm` they sum to 1.

    >>> infinicore.topksoftmax(infinicore.tensor([[0.0, 3.0, 1.0]]), 2).ids
    tensor([[1, 2]], dtype=infinicore.int32)
    """
    tokens, _ = _check_gate("topksoftmax", x, topk)
    results = _float_and_index((tokens, topk), x)
    if tokens:
        emit("topksoftmax", x, topk=topk, norm=int(norm), out=results)
    return Chosen(*results)


@function
def topkrouter(
    x: Tensor, correction_bias: Tensor, routed_scaling_factor: float = 1.0, topk: int = 8
) -> Chosen:
    """The gate of DeepSeek-V3 over x [tokens, 256]: sigmoids, chosen with the bias [256] from the
    four best of eight groups, normalised to their sum, times `routed_scaling_factor`, in float32;
    indices in int32.

    >>> infinicore.topkrouter(infinicore.zeros(3, 256), infinicore.zeros(256)).ids.shape
    infinicore.Size([3, 8])
    """
    name = "topkrouter"
    need_shape(name, "x", x, None, 256)
    need_shape(name, "correction_bias", correction_bias, 256)
    expect(0 < topk <= 256, name, "topk", topk, "1 to 256")
    results = _float_and_index((x.shape[0], topk), x)
    factor = routed_scaling_factor
    if x.shape[0]:
        emit("topkrouter", x, correction_bias, routed_scaling_factor=factor, topk=topk, out=results)
    return Chosen(*results)


def _float_and_index(shape: tuple[int, ...], like: Tensor) -> tuple[Tensor, Tensor]:
    return _core.empty(shape, float32, like.device), _core.empty(shape, int32, like.device)


@function
def moe_argsort_bincount_with_inv_pos_(
    tokens_per_experts: Tensor,
    sorted_indices: Tensor,
    inv_pos: Tensor,
    topk_ids: Tensor,
    num_experts: int,
) -> None:
    """Groups (token, expert) pairs by expert: of the flattened ids [tokens, topk],
    tokens_per_experts [num_experts] gets the count of each expert, `sorted_indices` the pairs
    stably sorted by expert, and `inv_pos` the position of each pair in that order.

    >>> counts, order, places = (infinicore.zeros(n, dtype=infinicore.int32) for n in (2, 3, 3))
    >>> ids = infinicore.tensor([[1], [0], [1]])
    >>> infinicore.moe_argsort_bincount_with_inv_pos_(counts, order, places, ids, 2)
    >>> order, places
    (tensor([1, 0, 2], dtype=infinicore.int32), tensor([1, 0, 2], dtype=infinicore.int32))
    """
    name = "moe_argsort_bincount_with_inv_pos_"
    ids = integers(name, "topk_ids", topk_ids).reshape(-1)
    need_shape(name, "tokens_per_experts", tokens_per_experts, num_experts)
    count = ids.shape[0]
    for argument, value in (("sorted_indices", sorted_indices), ("inv_pos", inv_pos)):
        need_tensor(name, argument, value)
        expect(value.numel() == count, name, f"{argument}.numel()", value.numel(), str(count))
    order = emit("sort", ids, dim=0, descending=False, stable=True)[1]
    numbers = counting(count, ids)
    places = emit("scatter", numbers, order, numbers, axis=0, reduction=0)
    store(tokens_per_experts, emit("bincount", ids, None, length=num_experts))
    store(sorted_indices, order.view(*sorted_indices.shape))
    store(inv_pos, places.view(*inv_pos.shape))


@function
def moe_sum_vendor_(
    output: Tensor,
    input: Tensor,
    topk_weights: Tensor | None = None,
    extra_residual: Tensor | None = None,
    routed_scale: float = 1.0,
    residual_scale: float = 1.0,
) -> None:
    """Combines the results of each token's experts: output [tokens, D] becomes the sum over k of
    topk_weights[t, k] * input[t, k], times routed_scale, plus extra_residual * residual_scale.

    >>> y = infinicore.zeros(1, 2)
    >>> infinicore.moe_sum_vendor_(y, infinicore.ones(1, 3, 2))
    >>> y
    tensor([[3., 3.]])
    """
    name = "moe_sum_vendor_"
    need_tensor(name, "input", input, 3)
    tokens, topk, size = input.shape
    need_shape(name, "output", output, tokens, size)
    parts = float32_at_least(input)
    if topk_weights is not None:
        need_tensor(name, "topk_weights", topk_weights)
        fits = topk_weights.numel() == tokens * topk
        expect_shape(fits, name, "topk_weights", topk_weights, f"({tokens}, {topk})")
        parts = parts * float32_at_least(topk_weights.reshape(tokens, topk, 1))
    total = emit("sum", parts, dim=[1]) * routed_scale
    if extra_residual is not None:
        need_shape(name, "extra_residual", extra_residual, tokens, size)
        total = total + float32_at_least(extra_residual) * residual_scale
    store(output, total)
