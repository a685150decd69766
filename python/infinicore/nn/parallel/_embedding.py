"""An embedding with sharded rows."""

from __future__ import annotations

from typing import Any

from infinicore._tensor import Tensor
from infinicore.ccl import Communicator
from infinicore.functions._index_checks import check_indices
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.layers import Embedding, new_parameter
from infinicore.nn.module import Module
from infinicore.nn.parallel._share import Share, check_communicator, loaded_part


class VocabParallelEmbedding(Embedding):
    """`nn.Embedding` with sharded rows: each rank looks up those that it has, and the results are
    added up. All ranks give the same input and get the same result.

    A head with tied weights is a `ColumnParallelLinear` with the same numbers of rows and ranks,
    and the same `unit`: `head.weight = embedding.weight`.

    >>> nn.parallel.VocabParallelEmbedding(10, 4)
    VocabParallelEmbedding(10, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
        *,
        comm: Communicator | None = None,
        unit: int = 1,
    ) -> None:
        Module.__init__(self)  # Embedding's would allocate the whole weight
        name = type(self).__name__
        ranks, rank, device = check_communicator(name, comm, device)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx, self.comm = padding_idx, comm
        self.max_norm, self.norm_type = None, 2.0
        self.share = Share(
            name, "num_embeddings", num_embeddings, ranks=ranks, rank=rank, unit=unit
        )
        self.weight = new_parameter((self.share.length, embedding_dim), device, dtype)

    def prepare_to_load(self, name: str, tensor: Tensor) -> Tensor:
        return loaded_part(type(self).__name__, name, tensor, self.share, 0)

    def gather_state(self, name: str, tensor: Tensor) -> Tensor:
        """A whole parameter, gathered from the shards of all ranks."""
        return tensor if self.comm is None else self.share.gather(self.comm, tensor, 0)

    def forward(self, input: Tensor) -> Tensor:
        from infinicore import where

        share = self.share
        if self.comm is None or share.ranks == 1:
            return super().forward(input)
        check_indices(type(self).__name__, input, self.num_embeddings, 0)
        at = input - share.start
        is_here = (at >= 0) & (at < share.length)
        rows = F.embedding(where(is_here, at, 0), self.weight)
        found = where(is_here.unsqueeze(-1), rows, 0.0)
        total: Tensor = self.comm.all_reduce(found.to(self.weight.dtype).contiguous())
        return total

    def extra_repr(self) -> str:
        text = super().extra_repr()
        share = self.share
        return text if share.ranks == 1 else f"{text}, rank {share.rank} of {share.ranks}"
