"""The order in which the dimensions of a tensor are laid out in memory."""

from __future__ import annotations

from typing import Any

from infinicore import _core

__all__ = [
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "memory_format",
    "preserve_format",
]


class memory_format:  # noqa: N801
    """A layout that `to`, `clone`, `contiguous` and the conversions take as `memory_format`.

    >>> infinicore.ones(1, 2, 3, 3).to(memory_format=infinicore.channels_last).stride()
    (18, 1, 6, 2)
    """

    def __init__(self, name: str, rank: int | None = None) -> None:
        self._name, self._rank = name, rank

    def __repr__(self) -> str:
        return f"infinicore.{self._name}"

    def __reduce__(self) -> str:
        return self._name


preserve_format = memory_format("preserve_format")
contiguous_format = memory_format("contiguous_format")
channels_last = memory_format("channels_last", 4)
channels_last_3d = memory_format("channels_last_3d", 5)


def laid_out(name: str, tensor: Any, format: memory_format | None, is_new: bool = False) -> Any:
    """The tensor in a memory format: a copy, unless it already has the format and `is_new` is
    false."""
    if format is not None and not isinstance(format, memory_format):
        raise TypeError(
            f"{name}: memory_format is {format!r}: expected one such as infinicore.channels_last"
        )
    if format is None or format is preserve_format:
        return tensor.clone() if is_new else tensor
    if format is contiguous_format:
        return tensor.clone() if is_new else tensor.contiguous()
    rank = tensor.ndim
    if rank != format._rank:
        raise ValueError(f"{name}: tensor.ndim is {rank}: expected {format._rank} for {format!r}")
    last = tensor.permute(0, *range(2, rank), 1)
    if last.is_contiguous() and not is_new:
        return tensor
    room = _core.empty(last.shape, tensor.dtype, tensor.device)
    _core.copy_from(room, last)
    return room.permute(0, rank - 1, *range(1, rank - 1))
