"""Layers whose weights are sharded across the ranks of a communicator.

    comm = ccl.init()
    up = nn.parallel.ColumnParallelLinear(512, 2048, comm=comm)      # each rank: a part of 2048
    down = nn.parallel.RowParallelLinear(2048, 512, comm=comm)       # takes that part, and adds up
    y = down(F.silu(up(x)))                                          # the same on every rank

Parameters have the names of `nn.Linear` and `nn.Embedding`, and `load_state_dict` takes the whole
tensors of their checkpoints: each rank keeps its shard. A rank's own `state_dict()` has its shards;
`full_state_dict` gathers the whole tensors. Without a communicator, or with one of a single rank,
the layers behave like the plain ones.
"""

from infinicore.nn.parallel._embedding import VocabParallelEmbedding
from infinicore.nn.parallel._linear import ColumnParallelLinear, RowParallelLinear
from infinicore.nn.parallel._share import Share
from infinicore.nn.parallel._state import full_state_dict

__all__ = [
    "ColumnParallelLinear",
    "RowParallelLinear",
    "Share",
    "VocabParallelEmbedding",
    "full_state_dict",
]
