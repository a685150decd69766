"""Einstein summation."""

from __future__ import annotations

import math
import string
from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions.copy.views import diagonal
from infinicore.functions.matmul.matmul import _product


def _terms(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """A string of letters for each operand and for the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(f"einsum: {len(terms)} operands in {equation!r}: {len(ranks)} are given")
    free = [c for c in string.ascii_letters if c not in equation]
    hidden = 0
    made = []
    for term, rank in zip(terms, ranks, strict=True):
        named = term.replace("...", "")
        if not all(c in string.ascii_letters for c in named) or term.count("...") > 1:
            raise ValueError(f"einsum: {term!r} in {equation!r}: expected letters and one '...'")
        if len(named) > rank or (len(named) < rank and "..." not in term):
            raise RuntimeError(f"einsum: {term!r} names {len(named)} of {rank} dimensions")
        hidden = max(hidden, rank - len(named))
        made.append((term, rank - len(named)))
    if hidden > len(free):
        raise ValueError("einsum: too many dimensions")
    spare = "".join(free[:hidden])
    inputs = [term.replace("...", spare[hidden - count :]) for term, count in made]
    if arrow:
        result = right.replace("...", spare)
    else:
        letters = "".join(inputs)
        once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in spare)
        result = spare + "".join(once)
    if len(set(result)) != len(result) or any(c not in "".join(inputs) for c in result):
        raise RuntimeError(f"einsum: the result {right!r} in {equation!r} is invalid")
    return inputs, result


def _without_twins(tensor: Tensor, term: str) -> tuple[Tensor, str]:
    """Takes the diagonal for a letter that occurs twice."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            one = term.index(c)
            two = term.index(c, one + 1)
            if tensor.shape[one] != tensor.shape[two]:
                raise RuntimeError(
                    f"einsum: {c!r} has the sizes {tensor.shape[one]} and {tensor.shape[two]}"
                )
            tensor = diagonal(tensor, 0, one, two)
            term = term[:one] + term[one + 1 : two] + term[two + 1 :] + c
    return tensor, term


def _summed(tensor: Tensor, term: str, kept: set[str]) -> tuple[Tensor, str]:
    gone = [i for i, c in enumerate(term) if c not in kept]
    if gone:
        kind = tensor.dtype
        tensor = emit("sum", tensor, dim=gone)
        tensor = tensor if tensor.dtype is kind else tensor.to(kind)
    return tensor, "".join(c for c in term if c in kept)


def _pair(a: Tensor, one: str, b: Tensor, two: str, kept: set[str]) -> tuple[Tensor, str]:
    """Multiplies two operands by one batched matrix product."""
    a, one = _summed(a, one, kept | set(two))
    b, two = _summed(b, two, kept | set(one))
    sizes: dict[str, int] = {}
    for tensor, term in ((a, one), (b, two)):
        for c, size in zip(term, tensor.shape, strict=True):
            known = sizes.get(c, 1)
            if known != 1 and size not in (1, known):
                raise RuntimeError(f"einsum: {c!r} has the sizes {known} and {size}")
            sizes[c] = max(known, size) if 0 not in (known, size) else 0
    batch = [c for c in one if c in two and c in kept]
    inside = [c for c in one if c in two and c not in kept]
    left = [c for c in one if c not in two]
    right = [c for c in two if c not in one]
    a, b = (
        tensor.expand(*(sizes[c] for c in term)) if term else tensor
        for tensor, term in ((a, one), (b, two))
    )
    count, k, m, n = (math.prod(sizes[c] for c in group) for group in (batch, inside, left, right))
    first = a.permute(*(one.index(c) for c in (*batch, *left, *inside))) if one else a
    second = b.permute(*(two.index(c) for c in (*batch, *inside, *right))) if two else b
    first, second = first.reshape(count, m, k), second.reshape(count, k, n)
    if inside or a.dtype is not b.dtype:
        made = _product(first, second, 1.0, None, "einsum")
    else:
        made = emit("mul", first, second)
    letters = "".join((*batch, *left, *right))
    shape = [sizes[c] for c in letters]
    return made.view(*shape) if shape else made.view(()), letters


@function
def _evaluate(equation: str, operands: Any) -> Tensor:
    inputs, result = _terms(equation, [each.ndim for each in operands])
    pairs = [_without_twins(tensor, term) for tensor, term in zip(operands, inputs, strict=True)]
    tensor, term = pairs[0]
    for i, (other, letters) in enumerate(pairs[1:], 1):
        later = {c for _, each in pairs[i + 1 :] for c in each}
        tensor, term = _pair(tensor, term, other, letters, set(result) | later)
    tensor, term = _summed(tensor, term, set(result))
    if len(pairs) > 1 and term == result:
        return tensor
    made = tensor.permute(*(term.index(c) for c in result)) if result else tensor
    return emit("rearrange", made)


def einsum(equation: str, *operands: Any, out: Any = None) -> Tensor:
    """Sums of products, with dimensions labelled by an equation; `...` stands for dimensions that
    broadcast.

    >>> infinicore.einsum("ij,jk->ik", infinicore.ones(2, 3), infinicore.ones(3, 4)).shape
    infinicore.Size([2, 4])
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: equation is {type(equation).__name__}: expected a string")
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    return _evaluate(equation, list(operands), out=out)
