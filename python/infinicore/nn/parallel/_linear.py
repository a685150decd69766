"""Linear layers, sharded by outputs or by inputs."""

from __future__ import annotations

from typing import Any

from infinicore._tensor import Tensor
from infinicore.ccl import Communicator
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.layers import Linear
from infinicore.nn.module import Module
from infinicore.nn.parallel._share import Share, check_communicator, check_width, loaded_part


class _ParallelLinear(Linear):
    """The common base: `in_features` and `out_features` are those of the whole layer."""

    def __init__(self, in_features: int, out_features: int, comm: Communicator | None) -> None:
        Module.__init__(self)  # Linear's would allocate the whole weight
        self.in_features, self.out_features = in_features, out_features
        self.comm = comm

    def extra_repr(self) -> str:
        share: Share = self.share
        text = super().extra_repr()
        return text if share.ranks == 1 else f"{text}, rank {share.rank} of {share.ranks}"


class ColumnParallelLinear(_ParallelLinear):
    """`nn.Linear` with sharded outputs: each rank has some rows of the weight and of the bias. All
    ranks pass the same input.

    The result is this rank's shard, the input of `RowParallelLinear`; with `gather_output` it is
    the whole. Shard sizes are multiples of `unit`, such as the size of a head. `share` describes
    this rank's shard.

    >>> nn.parallel.ColumnParallelLinear(4, 6)
    ColumnParallelLinear(in_features=4, out_features=6, bias=False)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        comm: Communicator | None = None,
        gather_output: bool = False,
        unit: int = 1,
    ) -> None:
        super().__init__(in_features, out_features, comm)
        name = type(self).__name__
        ranks, rank, device = check_communicator(name, comm, device)
        self.gather_output = gather_output
        self.share = Share(name, "out_features", out_features, ranks=ranks, rank=rank, unit=unit)
        here = self.share.length
        self._make((here, in_features), here if bias else None, device, dtype)

    def prepare_to_load(self, name: str, tensor: Tensor) -> Tensor:
        return loaded_part(type(self).__name__, name, tensor, self.share, 0)

    def gather_state(self, name: str, tensor: Tensor) -> Tensor:
        """The whole of a parameter, out of the parts of all ranks."""
        return tensor if self.comm is None else self.share.gather(self.comm, tensor, 0)

    def forward(self, input: Tensor) -> Tensor:
        part = super().forward(input)
        if not self.gather_output or self.comm is None or self.share.ranks == 1:
            return part
        return self.share.gather(self.comm, part, part.ndim - 1)


class RowParallelLinear(_ParallelLinear):
    """`nn.Linear` with sharded inputs: each rank has some columns of the weight, and the products
    are added up over the ranks. Every rank has the whole bias, which is added once.

    The input is this rank's shard, the result of `ColumnParallelLinear`; without
    `input_is_parallel` it is the whole. Without `reduce_output` the result is this rank's partial
    sum, without bias. Shard sizes are multiples of `unit`.

    >>> nn.parallel.RowParallelLinear(6, 4, bias=True)
    RowParallelLinear(in_features=6, out_features=4, bias=True)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        comm: Communicator | None = None,
        input_is_parallel: bool = True,
        reduce_output: bool = True,
        unit: int = 1,
    ) -> None:
        super().__init__(in_features, out_features, comm)
        name = type(self).__name__
        ranks, rank, device = check_communicator(name, comm, device)
        if bias and not reduce_output:
            raise ValueError(
                f"{name}: bias is True without reduce_output: expected False, as each rank's bias"
                " would be added to the sum"
            )
        self.input_is_parallel, self.reduce_output = input_is_parallel, reduce_output
        self.share = Share(name, "in_features", in_features, ranks=ranks, rank=rank, unit=unit)
        sizes = (out_features, self.share.length)
        self._make(sizes, out_features if bias else None, device, dtype)

    def prepare_to_load(self, name: str, tensor: Tensor) -> Tensor:
        if name != "weight":
            return tensor
        return loaded_part(type(self).__name__, name, tensor, self.share, 1)

    def gather_state(self, name: str, tensor: Tensor) -> Tensor:
        """The whole of a parameter, out of the parts of all ranks."""
        if self.comm is None or name != "weight":
            return tensor
        return self.share.gather(self.comm, tensor, 1)

    def forward(self, input: Tensor) -> Tensor:
        share, name = self.share, type(self).__name__
        if self.comm is None or share.ranks == 1:
            return super().forward(input)
        if self.input_is_parallel:
            hint = f"the share of rank {share.rank}: input_is_parallel=False takes the whole"
            check_width(name, input, share.length, hint)
        else:
            check_width(name, input, share.size, "the whole: input_is_parallel=True takes a share")
            input = share.of(input, input.ndim - 1)
        summand = F.linear(input, self.weight, None, alpha=self._alpha)
        if not self.reduce_output:
            return summand
        total: Tensor = self.comm.all_reduce(summand.contiguous())
        return total if self.bias is None else total + self.bias
