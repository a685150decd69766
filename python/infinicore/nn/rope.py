"""Rotary position embedding as a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.module import Module
from infinicore.nn.rope_scaling import RopeScalingConfig

__all__ = ["RoPE"]


class RoPE(Module):
    """Rotates pairs of a head's elements by angles that grow with the position: pair i of a vector
    at position p by p * rope_theta ** (-2 i / rotary_dim), unless `scaling` is given.

    `forward(states, position_ids)` rotates states [..., tokens, heads, head_dim] in place, or into
    `out`. `forward(q, k, positions)` returns both; with `mrope_section` the positions are
    [3, tokens] (time, height, width), each for its section of the pairs.
    """

    def __init__(
        self,
        max_position_embeddings: int,
        rope_theta: float,
        head_dim: int,
        device: Any = None,
        dtype: Any = None,
        rotary_dim: int | None = None,
        mrope_section: Sequence[int] | None = None,
        mrope_interleaved: bool = False,
        scaling: RopeScalingConfig | None = None,
    ) -> None:
        super().__init__()
        self.max_position_embeddings, self.rope_theta = max_position_embeddings, rope_theta
        self.head_dim, self.rotary_dim = head_dim, rotary_dim or head_dim
        if self.rotary_dim % 2 or not 0 < self.rotary_dim <= head_dim:
            raise ValueError(
                f"RoPE: rotary_dim is {self.rotary_dim}: expected an even number up to head_dim,"
                f" which is {head_dim}"
            )
        self.mrope_section = tuple(mrope_section) if mrope_section is not None else None
        self.mrope_interleaved = mrope_interleaved
        sin, cos = tables(
            max_position_embeddings, rope_theta, self.rotary_dim, device, dtype, scaling
        )
        self.register_buffer("sin_table", sin, persistent=False)
        self.register_buffer("cos_table", cos, persistent=False)

    def forward(
        self,
        states: Tensor,
        position_ids: Tensor,
        *args: Any,
        algo: Any = F.RopeAlgo.GPT_NEOX,
        out: Tensor | None = None,
    ) -> Any:
        if args:
            return self._pair(states, position_ids, *args, algo=algo)
        target = states if out is None else out
        if self.rotary_dim == self.head_dim:
            F.rope(states, position_ids, self.sin_table, self.cos_table, algo, out=target)
            return target
        if target is not states:
            target.copy_(states)
        part = target.narrow(-1, 0, self.rotary_dim)
        F.rope(part, position_ids, self.sin_table, self.cos_table, algo, out=part)
        return target

    def _pair(self, q: Tensor, k: Tensor, positions: Tensor, *, algo: Any) -> tuple[Tensor, Tensor]:
        if self.mrope_section is None:
            turned = [self.forward(s, positions, algo=algo, out=s.clone()) for s in (q, k)]
            return turned[0], turned[1]
        from infinicore.functions.rope.rope import mrope

        time, height, width = self.mrope_section
        made: tuple[Tensor, Tensor] = mrope(
            q,
            k,
            self.cos_table,
            self.sin_table,
            positions,
            self.head_dim,
            self.rotary_dim,
            time,
            height,
            width,
            self.mrope_interleaved,
        )
        return made

    def extra_repr(self) -> str:
        return (
            f"max_position_embeddings={self.max_position_embeddings},"
            f" rope_theta={self.rope_theta}, head_dim={self.head_dim}"
        )


def tables(
    positions: int,
    theta: float,
    rotary_dim: int,
    device: Any,
    dtype: Any,
    scaling: RopeScalingConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """Sines and cosines [positions, rotary_dim / 2], computed in float64."""
    from infinicore._data import tensor
    from infinicore._dtype import float64, get_default_dtype
    from infinicore._ranges import arange
    from infinicore.functions.copy.cat import cat

    scaling = scaling or RopeScalingConfig()
    base = [theta ** (-2.0 * pair / rotary_dim) for pair in range(rotary_dim // 2)]
    ranges = [each for each in scaling.freq_scales(base) if each[0] < positions]
    ends = [*(start for start, _ in ranges[1:]), positions]
    angles = []
    for (start, scales), end in zip(ranges, ends, strict=True):
        scaled = [frequency * scale for frequency, scale in zip(base, scales, strict=True)]
        row = tensor(scaled, dtype=float64, device=device)
        angles.append(arange(start, end, dtype=float64, device=device).unsqueeze(1) * row)
    joined = angles[0] if len(angles) == 1 else cat(angles, 0)
    kind, size = dtype or get_default_dtype(), scaling.magnitude
    sines, cosines = joined.sin(), joined.cos()
    if size != 1:
        sines, cosines = sines * size, cosines * size
    return sines.to(kind), cosines.to(kind)
