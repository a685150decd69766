"""A function of models against a definition: eager, and recorded and replayed with other values.

`make(seed, dtype)` gives references by name, `call(tensors)` runs the function on infinicore's and
returns its results, those that it writes in place among them; `reference(tensors)` returns the
same in float64 or integers, from tensors whose floats are float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import infinicore
from kit import ref
from kit.bounds import assert_within, bound
from kit.place import HAS_AMX, ON_HOST, put

KINDS = {"f32": ref.float32, "f16": ref.float16, "bf16": ref.bfloat16}
LENGTH = 64  # operations of a result, one after the other

Tensors = dict[str, Any]


def check(
    make: Callable[[int, Any], Tensors],
    call: Callable[[Tensors], Any],
    reference: Callable[[Tensors], Any],
    kind: str = "f32",
    *,
    length: int = LENGTH,
    roundings: int = 0,
    more: Callable[[ref.Tensor], Any] | None = None,
    graph: bool = True,
) -> None:
    """`length` and `roundings` as in kit/bounds.py; `more` is an additional tolerance."""
    dtype = KINDS[kind]

    def same(results: list[Any], expected: list[Any], where: str) -> None:
        _same(results, expected, length, roundings, more, where)

    given = make(0, dtype)
    expected = _listed(reference(_widened(given)))
    same(_listed(call(_ours(given))), expected, "at once")
    strided = {name: _spread(value) for name, value in _ours(given).items()}
    same(_listed(call(strided)), expected, "with gaps")
    if not graph:
        return
    kept = _ours(given)
    infinicore.start_graph_recording()
    try:
        results = _listed(call(kept))
    finally:
        recorded = infinicore.stop_graph_recording()
    for seed in (1, 2):
        values = make(seed, dtype)
        for name, value in _ours(values).items():
            if value is not None:
                kept[name].copy_(value)
        recorded.run()
        expected = _listed(reference(_widened(values)))
        same(results, expected, f"replayed {seed}")


def check_attention(*given: Any, **options: Any) -> None:
    """Like `check`; tensor cores and AMX tiles round the probabilities to the element type."""
    check(*given, roundings=0 if ON_HOST and not HAS_AMX else 1, **options)


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _ours(given: Tensors) -> Tensors:
    return {name: None if value is None else put(value.clone()) for name, value in given.items()}


def _widened(given: Tensors) -> Tensors:
    return {name: None if value is None else _wide(value) for name, value in given.items()}


def _wide(value: ref.Tensor) -> ref.Tensor:
    return value.double() if ref.is_float(value.dtype) else value.clone()


def _spread(tensor: Any) -> Any:
    """The same values with gaps between the rows."""
    if tensor is None or tensor.ndim < 2:
        return tensor
    shape = list(tensor.shape)
    shape[-1] += 3
    wide = infinicore.zeros(*shape, dtype=tensor.dtype)
    view = wide[..., : shape[-1] - 3]
    view.copy_(tensor)
    return view


def _same(
    results: list[Any],
    expected: list[Any],
    length: int,
    roundings: int,
    more: Callable[[ref.Tensor], Any] | None,
    where: str,
) -> None:
    assert len(results) == len(expected), f"{where}: {len(results)} results"
    for number, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
        got = ref.of(ours)
        label = f"{where}, result {number}"
        assert got.shape == theirs.shape, f"{label}: {got.shape}, expected {theirs.shape}"
        if not ref.is_float(got.dtype):
            assert ref.equal(got.long(), theirs.long()), label
            continue
        rounded = theirs.to(got.dtype)
        allowed = bound(rounded, length, roundings=roundings) + (more(theirs) if more else 0.0)
        assert_within(got, rounded, allowed, f"{label}: ")


def attend(
    q: ref.Tensor,
    k: ref.Tensor,
    v: ref.Tensor,
    scale: float,
    visible: ref.Tensor | None = None,
    bias: ref.Tensor | None = None,
    softcap: float = 0.0,
) -> ref.Tensor:
    """Attention of q [H, L, D] to k [Hkv, T, D], v [Hkv, T, E]; zeros where nothing is visible."""
    group = q.shape[0] // k.shape[0]
    k, v = (t.repeat_interleave(group, 0) for t in (k, v))
    scores = q @ k.transpose(1, 2) * scale
    if softcap:
        scores = softcap * ref.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    if visible is not None:
        scores = scores.masked_fill(~visible, float("-inf"))
    weights = ref.softmax(scores, -1).nan_to_num(0.0)
    return weights @ v


def normal(seed: int, dtype: Any, *shape: int) -> ref.Tensor:
    return ref.randn(*shape, dtype=dtype, seed=seed)


def order(seed: int, count: int) -> ref.Tensor:
    return ref.randperm(count, seed=seed)


def integers(seed: int, low: int, high: int, *shape: int) -> ref.Tensor:
    return ref.randint(low, high, shape, seed=seed)
