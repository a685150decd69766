"""Rotary position embedding."""

from __future__ import annotations

import enum
from typing import Any

from infinicore import _core
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor

__all__ = ["RopeAlgo", "rope"]


class RopeAlgo(enum.IntEnum):
    """Which elements of a head form a pair: adjacent ones (GPT_J), or one of each half
    (GPT_NEOX)."""

    GPT_J = 0
    GPT_NEOX = 1


_core.add_identity_type(RopeAlgo)

_NAMES = {RopeAlgo.GPT_J: "gpt_j", RopeAlgo.GPT_NEOX: "gpt_neox"}


def _algorithm(algo: Any) -> str:
    if isinstance(algo, str):
        if algo.lower() in _NAMES.values():
            return algo.lower()
    elif algo in (0, 1):
        return _NAMES[RopeAlgo(algo)]
    raise ValueError(f"rope: algo is {algo!r}: expected RopeAlgo.GPT_J or RopeAlgo.GPT_NEOX")


@function
def rope(
    x: Tensor,
    pos_ids: Tensor,
    sin_table: Tensor,
    cos_table: Tensor,
    algo: Any = RopeAlgo.GPT_NEOX,
    *,
    out: Any = None,
) -> Tensor:
    """Rotates pairs of each head's elements by the angles of the token's position. x is [tokens,
    heads, size] or [batch, tokens, heads, size], pos_ids [tokens] or [batch, tokens], the tables
    [positions, size / 2].

    >>> x = infinicore.tensor([[[1.0, 0.0]]])
    >>> one, zero = infinicore.ones(1, 1), infinicore.zeros(1, 1)
    >>> F.rope(x, infinicore.tensor([0]), one, zero)
    tensor([[[0., 1.]]])
    """
    name = _algorithm(algo)
    return emit("rope", x, pos_ids, sin_table, cos_table, algo=name, out=out)  # type: ignore[no-any-return]
