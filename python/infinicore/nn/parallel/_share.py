"""The shard of a dimension that a rank has, and how shards are gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._creation import zeros
from infinicore._tensor import Tensor
from infinicore.ccl import Communicator


class Share:
    """A rank's shard of a dimension: `length` elements from `start` on, of `size`. Shard sizes are
    multiples of `unit`; if the units cannot be divided evenly, the first ranks have one more.

    >>> [nn.parallel.Share("f", "size", 10, ranks=3, rank=r, unit=2).length for r in range(3)]
    [4, 4, 2]
    """

    def __init__(
        self, owner: str, word: str, size: int, *, ranks: int, rank: int, unit: int = 1
    ) -> None:
        if unit < 1 or size % unit:
            raise ValueError(
                f"{owner}: unit is {unit}: expected a divisor of {word}, which is {size}"
            )
        count = size // unit
        if count < ranks:
            raise ValueError(
                f"{owner}: {word} is {size}, which is {count} units of {unit}: expected at least"
                f" one for each of {ranks} ranks"
            )
        least, more = divmod(count, ranks)
        self.size, self.ranks, self.rank = size, ranks, rank
        self.lengths = [(least + (each < more)) * unit for each in range(ranks)]
        self.start = sum(self.lengths[:rank])
        self.length = self.lengths[rank]

    @property
    def is_even(self) -> bool:
        return self.lengths[0] == self.lengths[-1]

    def of(self, tensor: Tensor, dim: int) -> Tensor:
        """This rank's shard of a whole tensor, as a view."""
        return tensor.narrow(dim, self.start, self.length)

    def gather(self, comm: Communicator, part: Tensor, dim: int) -> Tensor:
        """The whole tensor, gathered from all ranks' shards along `dim`."""
        # Shards of equal size are consecutive in the first dimension.
        turned = part.transpose(0, dim)
        most = self.lengths[0]
        if self.length < most:
            padded = zeros((most, *turned.shape[1:]), dtype=part.dtype, device=part.device)
            padded.narrow(0, 0, self.length).copy_(turned)
            turned = padded
        whole = comm.all_gather(turned.contiguous())
        if not self.is_even:
            whole = _without_padding(whole, self.lengths)
        turned_back: Tensor = whole.transpose(0, dim).contiguous()
        return turned_back

    def __repr__(self) -> str:
        return f"Share({self.start}:{self.start + self.length} of {self.size})"


def _without_padding(whole: Tensor, lengths: Sequence[int]) -> Tensor:
    from infinicore import cat

    most = lengths[0]
    joined: Tensor = cat([whole.narrow(0, i * most, n) for i, n in enumerate(lengths)], 0)
    return joined


def check_communicator(owner: str, comm: Any, device: Any) -> tuple[int, int, Any]:
    """(ranks, rank, device of the parameters)."""
    from infinicore._device import device as device_class

    if comm is None:
        return 1, 0, device
    if not isinstance(comm, Communicator):
        raise TypeError(
            f"{owner}: comm is {type(comm).__name__}: expected a ccl.Communicator or None"
        )
    if device is not None and device_class(device) != comm.device:
        raise ValueError(
            f"{owner}: device is {device_class(device)}: expected {comm.device}, that of comm"
        )
    return comm.ranks, comm.rank, comm.device


def check_width(owner: str, input: Tensor, wanted: int, hint: str) -> None:
    if input.ndim == 0 or input.shape[-1] != wanted:
        raise ValueError(
            f"{owner}: input has shape {tuple(input.shape)}: expected {wanted} as its last size,"
            f" {hint}"
        )


def loaded_part(owner: str, name: str, tensor: Tensor, share: Share, dim: int) -> Tensor:
    """The shard that a rank keeps of a checkpoint's tensor, which may already be that shard."""
    size = tensor.shape[dim] if tensor.ndim > dim else -1
    if size == share.size:
        return share.of(tensor, dim)
    if size == share.length:
        return tensor
    raise ValueError(
        f"{owner}: {name} has shape {tuple(tensor.shape)}: expected {share.size} in dimension"
        f" {dim}, or {share.length}, the share of rank {share.rank}"
    )
