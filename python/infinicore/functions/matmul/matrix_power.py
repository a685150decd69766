"""Powers of matrices."""

from __future__ import annotations

from infinicore._dtype import category
from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions.copy.cat import _zeros_in
from infinicore.functions.copy.views import diagonal
from infinicore.functions.linalg.linalg import _back, _matrices
from infinicore.functions.matmul.matmul import _product


@function
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices; for negative n, of their inverses.

    >>> infinicore.matrix_power(infinicore.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if category(input.dtype) < 2 and n >= 0:
        base = input
        if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
            raise RuntimeError("matrix_power: expected square matrices")
    else:
        base = _matrices("matrix_power", input)
    if n < 0:
        base, n = emit("inverse", base), -n
    if n == 0:
        made = _zeros_in(base.shape, base)
        one = tensor_for(1, base.dtype, base.device)
        emit("rearrange", one.expand(*base.shape[:-1]), out=diagonal(made, 0, -2, -1))
        return _back(made, input)
    result = None
    while n:
        if n & 1:
            result = base if result is None else _product(result, base)
        n >>= 1
        base = _product(base, base) if n else base
    assert result is not None
    return _back(result if result is not input else emit("rearrange", input), input)
