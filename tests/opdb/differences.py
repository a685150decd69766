"""Intentional differences from torch, with the reason.

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
        "returns a new tensor; torch's is a lazily computed view",
        kinds=("view",),
        operators=("conj",),
        dtypes=("complex64",),
    ),
    Difference(
        "accepts a number where torch requires a tensor, as torch's other functions do",
        kinds=("accepted",),
        dtypes=("error",),
        message=r"must be Tensor, not int|got \(int, (int|Tensor)\)|doesn't apply to a 'int'",
        example="maximum",
    ),
    Difference(
        "return a conjugated copy; torch returns a lazily conjugated view",
        kinds=("view",),
        operators=("H", "mH"),
        dtypes=("complex64",),
    ),
    Difference(
        "`equal` compares element by element, as InfiniCore's does; torch's returns one bool",
        kinds=("type",),
        operators=("equal",),
    ),
    Difference(
        "indices are int32, as InfiniCore's",
        kinds=("dtype",),
        operators=("topk",),
        message="torch gives torch.int64: infinicore.int32",
    ),
    Difference(
        "integers stay integers, as in InfiniOP's operator",
        kinds=("dtype",),
        operators=("nn.functional.softsign",),
        dtypes=("int64",),
    ),
    Difference(
        "may return any index of equal elements: torch does not specify which",
        kinds=("values",),
        operators=("kthvalue", "mode"),
    ),
    Difference(
        "equal elements may come in any order without `stable`",
        kinds=("values",),
        operators=("sort", "argsort"),
        dtypes=("bfloat16", "float16", "bool"),
    ),
    Difference(
        "half precision is computed in float32 and rounded once; torch overflows in between",
        kinds=("values",),
        operators=("matrix_exp", "nn.functional.soft_margin_loss"),
        dtypes=("bfloat16", "float16"),
        message="torch gives (nan|inf)",
    ),
    Difference(
        "half-precision logits are rounded, as torch's are without chunks",
        kinds=("values",),
        operators=(
            "nn.functional.linear_cross_entropy-chunked",
            "nn.functional.linear_cross_entropy-chunked_none",
        ),
        dtypes=("bfloat16", "float16"),
    ),
    Difference(
        "scores near 100, as in torch's samples, round to whole numbers in bfloat16",
        kinds=("values",),
        operators=("nn.functional.multi_head_attention_forward",),
        dtypes=("bfloat16",),
    ),
    Difference(
        "random samples outside [0, 1], which no generator produces, are undefined",
        kinds=("values",),
        operators=("nn.functional.fractional_max_pool2d",),
        call="_random_samples=",
    ),
)


def explain(row: Row) -> Difference | None:
    return next((each for each in DIFFERENCES if each.explains(row)), None)
