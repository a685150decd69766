"""What differs from torch on purpose, with the reason.

A row of the operator database is explained by the first difference whose every given field fits. A
difference names the operators in which it occurs, or one as an example."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .rows import Row


@dataclass(frozen=True)
class Difference:
    reason: str
    kinds: tuple[str, ...]
    operators: tuple[str, ...] = ()  # all, if it is empty
    dtypes: tuple[str, ...] = ()  # all, if it is empty
    call: str = ""  # a regular expression, found in the text of the call
    message: str = ""  # a regular expression, found in the row's message
    example: str = ""  # an operator that shows it, if `operators` is empty

    def explains(self, row: Row) -> bool:
        return bool(
            row.kind in self.kinds
            and (not self.operators or row.operator in self.operators)
            and (not self.dtypes or row.dtype in self.dtypes)
            and re.search(self.call, row.call)
            and re.search(self.message, row.message)
        )


DIFFERENCES: Sequence[Difference] = (
    Difference(
        "gives a new tensor; torch's is a view that is computed later",
        kinds=("view",),
        operators=("conj",),
        dtypes=("complex64",),
    ),
    Difference(
        "a number is accepted where torch asks for a tensor, as in torch's other functions",
        kinds=("accepted",),
        dtypes=("error",),
        message=r"must be Tensor, not int|got \(int, (int|Tensor)\)|doesn't apply to a 'int'",
        example="maximum",
    ),
    Difference(
        "complex numbers are conjugated in new memory; torch gives a view that is conjugated later",
        kinds=("view",),
        operators=("H", "mH"),
        dtypes=("complex64",),
    ),
    Difference(
        "`equal` compares element by element, as InfiniCore's does; torch's gives one truth value",
        kinds=("type",),
        operators=("equal",),
    ),
    Difference(
        "indices are int32, as those of InfiniCore's topk",
        kinds=("dtype",),
        operators=("topk",),
        message="torch gives torch.int64: infinicore.int32",
    ),
    Difference(
        "integers stay integers, as in InfiniOP's operator of this name",
        kinds=("dtype",),
        operators=("nn.functional.softsign",),
        dtypes=("int64",),
    ),
    Difference(
        "any index of equal elements is right: torch documents none, and gives others on a GPU",
        kinds=("values",),
        operators=("kthvalue", "mode"),
    ),
    Difference(
        "any order of equal elements is right without `stable`",
        kinds=("values",),
        operators=("sort", "argsort"),
        dtypes=("bfloat16", "float16", "bool"),
    ),
    Difference(
        "halves are computed in float32 and rounded once; torch overflows in between",
        kinds=("values",),
        operators=("matrix_exp", "nn.functional.soft_margin_loss"),
        dtypes=("bfloat16", "float16"),
        message="torch gives (nan|inf)",
    ),
    Difference(
        "logits of halves are rounded to halves, as torch's are without chunks",
        kinds=("values",),
        operators=(
            "nn.functional.linear_cross_entropy-chunked",
            "nn.functional.linear_cross_entropy-chunked_none",
        ),
        dtypes=("bfloat16", "float16"),
    ),
    Difference(
        "scores near 100, as the samples have, are rounded to whole numbers in bfloat16",
        kinds=("values",),
        operators=("nn.functional.multi_head_attention_forward",),
        dtypes=("bfloat16",),
    ),
    Difference(
        "random samples outside 0 to 1, which no generator gives, mean nothing",
        kinds=("values",),
        operators=("nn.functional.fractional_max_pool2d",),
        call="_random_samples=",
    ),
    Difference(
        "max_norm changes the weights, which is for training: a lookup here does not write",
        kinds=("refused",),
        operators=("nn.functional.embedding", "nn.functional.embedding_bag"),
        call="max_norm=",
    ),
)


def explain(row: Row) -> Difference | None:
    return next((each for each in DIFFERENCES if each.explains(row)), None)
