"""A function of models against a definition: at once, and recorded and replayed with other values.

`make(seed, dtype)` gives torch tensors by name, `call(tensors)` runs the function on infinicore's
and returns its results, those that it writes in place among them; `reference(tensors)` returns the
same in float64 or integers, from tensors whose floats are float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import infinicore
from kit.functions import to_torch
from kit.place import put

from .requirements import need

torch = need("torch")

KINDS = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
CLOSE = {torch.float32: 3e-5, torch.float16: 3e-3, torch.bfloat16: 2.5e-2}

Tensors = dict[str, Any]


def check(
    make: Callable[[int, torch.dtype], Tensors],
    call: Callable[[Tensors], Any],
    reference: Callable[[Tensors], Any],
    kind: str = "f32",
    *,
    close: float = 1.0,
    graph: bool = True,
) -> None:
    dtype = KINDS[kind]
    given = make(0, dtype)
    expected = _listed(reference(_widened(given)))
    _same(_listed(call(_ours(given))), expected, dtype, close, "at once")
    strided = {name: _spread(value) for name, value in _ours(given).items()}
    _same(_listed(call(strided)), expected, dtype, close, "with gaps")
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
        _same(results, expected, dtype, close, f"replayed {seed}")


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _ours(given: Tensors) -> Tensors:
    return {name: None if value is None else put(value.clone()) for name, value in given.items()}


def _widened(given: Tensors) -> Tensors:
    return {
        name: value.double()
        if value is not None and value.dtype.is_floating_point
        else (None if value is None else value.clone())
        for name, value in given.items()
    }


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
    results: list[Any], expected: list[Any], dtype: torch.dtype, close: float, where: str
) -> None:
    assert len(results) == len(expected), f"{where}: {len(results)} results"
    for number, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
        got = to_torch(ours)
        label = f"{where}, result {number}"
        assert got.shape == theirs.shape, f"{label}: {got.shape}, expected {theirs.shape}"
        if not got.dtype.is_floating_point:
            assert torch.equal(got.long(), theirs.long()), label
            continue
        limit = close * CLOSE.get(dtype, 3e-5)
        torch.testing.assert_close(
            got.double(),
            theirs.double(),
            rtol=limit,
            atol=limit,
            equal_nan=True,
            msg=label_of(label),
        )


def label_of(label: str) -> Callable[[str], str]:
    return lambda text: f"{label}: {text}"


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float,
    visible: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of q [H, L, D] to k [Hkv, T, D], v [Hkv, T, E]; zeros where nothing is visible."""
    group = q.shape[0] // k.shape[0]
    k, v = (t.repeat_interleave(group, 0) for t in (k, v))
    scores = q @ k.transpose(1, 2) * scale
    if bias is not None:
        scores = scores + bias
    if visible is not None:
        scores = scores.masked_fill(~visible, float("-inf"))
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    return weights @ v


def normal(seed: int, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=random, dtype=torch.float64).to(dtype)


def order(seed: int, count: int) -> torch.Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def integers(seed: int, low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))
