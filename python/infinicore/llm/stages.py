"""Pipeline parallelism: each stage has some of the layers and sends activations to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import infinicore
from infinicore._tensor import Tensor


@dataclass(frozen=True)
class Stage:
    """Stage `number` of `count`, with `width` ranks each. `comm` has the ranks of all stages, those
    of the first stage first; None: there is one stage."""

    number: int = 0
    count: int = 1
    width: int = 1
    comm: Any = None

    @property
    def is_first(self) -> bool:
        return self.number == 0

    @property
    def is_last(self) -> bool:
        return self.number == self.count - 1

    @property
    def leader(self) -> int:
        """The rank that chooses the tokens: the first of the last stage."""
        return (self.count - 1) * self.width

    def layers(self, total: int) -> range:
        """The layers of this stage. If they cannot be divided evenly, the last stages have one
        less, because the head is there."""
        if total < self.count:
            raise ValueError(f"pp is {self.count}: expected at most {total}, the model's layers")
        each, more = divmod(total, self.count)
        first = self.number * each + min(self.number, more)
        return range(first, first + each + (self.number < more))

    def receive(self, tokens: int, hidden: int, dtype: Any) -> tuple[Tensor, Tensor]:
        """Receives the values sent by the previous stage."""
        both = infinicore.empty((2, tokens, hidden), dtype=dtype, device=self.comm.device)
        self.comm.recv(both, self.comm.rank - self.width)
        return both[0], both[1]

    def send(self, x: Tensor, added: Tensor) -> None:
        """Sends the two summands of the residual stream to the same rank of the next stage: summed
        there, as in a single process, they give the same bits."""
        self.comm.send(infinicore.stack([x, added], 0), self.comm.rank + self.width)

    def from_leader(self, x: Tensor) -> Tensor:
        """Broadcasts the leader's `x` to all ranks."""
        if self.comm is None:
            return x
        shared: Tensor = self.comm.broadcast(x.contiguous(), self.leader)
        return shared
