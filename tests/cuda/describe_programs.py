"""Describes every operator that has a program, where it can for sizes of the fast kernels.

Prints a line for each case: its name and the files of source that it made, in the folder that
INFINI_CUDA_DUMP names. Nothing runs. Started by test_program_sources.py, with the simulated CUDA.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from infinicore import _core, op
from kit.drawing import Draw, NoCaseError, Rules, main_tensor
from operators.cases import all_cases
from spec.operators import OPERATORS
from spec.operators.language.model import Operator, Tensor
from spec.operators.language.trace import programs

ROWS, COLUMNS = 16384, 8192
TYPES = ("BF16", "F32", "I32", "BOOL")  # the first of them that an operator takes


def large() -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """More elements than 32-bit indices can address."""
    side = 1 << 16
    x, turned = view((side, side), "BF16"), view((side, side), "BF16", (1, side))
    row = view((side, side), "BF16", (0, 1))
    yield "add large", "add", [x, x], {}
    yield "add large broadcast", "add", [x, row], {}
    yield "add large transposed", "add", [x, turned], {}
    yield "rms_norm large", "rms_norm", [x, view((side,), "BF16")], {"epsilon": 1e-6}
    for axis in (0, 1):
        yield f"softmax large {axis}", "softmax", [x], {"axis": axis}


def dtypes_of(operator: Operator) -> tuple[str, ...]:
    main = main_tensor(operator)
    return main.dtypes if main else ("F32",)


def view(shape: tuple[int, ...], dtype: str, strides: tuple[int, ...] = ()) -> Any:
    dense = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        dense[i] = dense[i + 1] * shape[i + 1]
    return _core.described(shape, dtype, strides or tuple(dense))


# The sizes of the benchmarks, and the other families of kernels.
def chosen() -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    for dtype in ("BF16", "F32", "F64"):
        x, w = view((ROWS, COLUMNS), dtype), view((COLUMNS,), dtype)
        for name in ("silu", "gelu", "exp", "tanh", "relu"):
            yield f"{name} {dtype}", name, [x], {}
        for name in ("add", "mul", "swiglu", "div"):
            yield f"{name} {dtype}", name, [x, x], {}
        turned = view((COLUMNS, COLUMNS), dtype, (1, COLUMNS))
        yield f"add transposed {dtype}", "add", [turned, view((COLUMNS, COLUMNS), dtype)], {}
        yield f"add broadcast {dtype}", "add", [x, view((ROWS, COLUMNS), dtype, (0, 1))], {}
        yield f"rms_norm {dtype}", "rms_norm", [x, w], {"epsilon": 1e-6}
        yield f"add_rms_norm {dtype}", "add_rms_norm", [x, x, w], {"epsilon": 1e-6}
        yield f"layer_norm {dtype}", "layer_norm", [x, w, w], {"eps": 1e-6}
        yield f"log_softmax {dtype}", "log_softmax", [x], {}
        for axis in (0, 1):
            yield f"softmax {axis} {dtype}", "softmax", [x], {"axis": axis}
            for name in ("sum", "amax", "prod"):
                keywords = {"dim": [axis], "keepdim": False}
                yield f"{name} {axis} {dtype}", name, [x], keywords
        yield f"sum all {dtype}", "sum", [x], {"dim": [0, 1], "keepdim": False}
        yield f"softmax long {dtype}", "softmax", [view((64, 151936), dtype)], {"axis": -1}
        yield f"softmax short {dtype}", "softmax", [view((ROWS, 64), dtype)], {"axis": -1}


def drawn(operator: Operator, dtype: str) -> tuple[str, str, list[Any], dict[str, Any]]:
    """A case as drawn by the tests of operators."""
    rules = all_cases().get(operator.name, Rules())
    try:
        draw = Draw(operator, rules, dtype, "large", 0)
    except NoCaseError:
        draw = Draw(operator, rules, dtype, "usual", 0)

    def seen(tensor: Tensor) -> Any:
        shape = draw.shapes[tensor.name]
        return None if shape is None else view(tuple(shape), draw.dtypes[tensor.name])

    keywords: dict[str, Any] = {**draw.scalars, **draw.attributes}
    if written := [tensor for tensor in operator.outputs if tensor not in operator.inputs]:
        keywords["out"] = tuple(map(seen, written))
    label = f"{operator.name} {dtype} drawn"
    return label, operator.name, [seen(tensor) for tensor in operator.inputs], keywords


def main() -> None:
    folder = Path(os.environ["INFINI_CUDA_DUMP"])
    cases = [*chosen(), *large()]
    for operator in OPERATORS:
        if programs(operator) and not operator.unsupported:
            taken = dtypes_of(operator)
            wanted = next((dtype for dtype in TYPES if dtype in taken), taken[0])
            cases.append(drawn(operator, wanted))
    for label, name, inputs, keywords in cases:
        before = set(folder.iterdir())
        try:
            op.describe(name, *inputs, **keywords)
        except (RuntimeError, TypeError, ValueError) as error:
            print(f"{label}\terror: {' '.join(str(error).split())}")
            continue
        made = sorted(path.name for path in set(folder.iterdir()) - before)
        print("\t".join([label, *made]))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
