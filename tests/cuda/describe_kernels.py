"""Describes cases of tests/operators/kernel_cases.py on the simulated CUDA, where a description
compiles all kernels of its plan; nothing runs.

    python describe_kernels.py CASES.json

Prints a line for each case: its label and the files of source that it made in the folder that
INFINI_CUDA_DUMP names. Started by test_kernel_sources.py.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kit import Maker, open_runtime
from kit.operators import Described, Layout
from operators.kernel_cases import KernelCase
from spec.operators import REGISTRY
from spec.operators.language.model import Tensor


class Seen(NamedTuple):
    """What a descriptor needs to know about a tensor."""

    dtype: str
    layout: Layout


def describe(make: Maker, case: KernelCase) -> None:
    draw, operator = case.draw(), REGISTRY[case.operator]

    def seen(tensor: Tensor, shape: Any) -> Any:
        if shape is None:
            return None
        if isinstance(shape, list):
            return [seen(tensor, each) for each in shape]
        rule = case.rules[tensor.written]
        return Seen(draw.dtypes[tensor.name], rule(shape, tensor.layout))

    tensors = {t.name: seen(t, draw.shapes[t.name]) for t in operator.tensors}
    made = Described(make, operator, tensors, draw.attributes, draw.run_number)
    if made.status != "INFINI_STATUS_SUCCESS":
        raise RuntimeError(f"{made.status}: {make.rt.message()}")


def main() -> None:
    folder = Path(os.environ["INFINI_CUDA_DUMP"])
    rt = open_runtime()
    assert rt.set_kind("nvidia") == "INFINI_STATUS_SUCCESS", rt.message()
    there = set(os.listdir(folder))
    for fields in json.loads(Path(sys.argv[1]).read_text()):
        case = KernelCase(**fields)
        os.environ["INFINI_CUDA_ATTENTION"] = case.attention
        make = Maker(rt)
        try:
            describe(make, case)
        except RuntimeError as error:
            print(f"{case.label}\terror: {' '.join(str(error).split())}", flush=True)
            continue
        make.end()
        now = set(os.listdir(folder))
        print("\t".join([case.label, *sorted(now - there)]), flush=True)
        there = now


if __name__ == "__main__":
    main()
