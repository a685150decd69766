"""Every operator through its Python function: results are allocated or given, and match the
definition. The cases are drawn as in tests/operators."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from infinicore import op
from kit.drawing import Draw, NoCaseError, Rules, main_tensor
from kit.place import here, there
from kit.reference import compare, evaluate, tolerances
from operators.cases import all_cases
from spec.generate.operator_face import Face, is_result
from spec.operators import OPERATORS, REGISTRY
from spec.operators.language.numeric import decode, encode

CASES = all_cases()

# Results that the inputs alone do not determine, with the reason in the message.
NEEDS_OUT = {
    "adaptive_avg_pool1d": "size",
    "affine_grid": "size",
    "affine_grid3d": "size",
    "arange": "size",
    "broadcast_to": "size",
    "complex_from_parts": "type",
    "deepseek_moe_with_device_ptrs": "",
    "dequantize_gguf": "type",
    "fill": "size",
    "fp8_indexer_logits": "size",
    "interpolate": "size",
    "mask_counts": "size",
    "mask_rows": "size",
    "mask_take": "size",
    "moe_fused_gate": "size",
    "moe_topk_sigmoid": "size",
    "moe_topk_softmax": "size",
    "mxfp4_dequantize": "type",
    "per_tensor_dequant_int8": "type",
    "random_integers": "size",
    "random_normal": "size",
    "random_uniform": "size",
    "upsample_bilinear": "size",
    "upsample_nearest": "size",
}
TYPES = {"BF16": ml_dtypes.bfloat16, "F8": ml_dtypes.float8_e4m3fn}


def array(values: Any, dtype: str) -> Any:
    made = np.ascontiguousarray(encode(values, dtype)).reshape(np.shape(values))
    return there(made.view(TYPES[dtype]) if dtype in TYPES else made)


def raw(made: Any, dtype: str) -> Any:
    made = here(made)
    if dtype in TYPES:
        made = made.view(np.uint8 if dtype == "F8" else np.uint16)
    return decode(made, dtype)


class Case:
    def __init__(self, name: str, seed: int = 0) -> None:
        self.operator = REGISTRY[name]
        rules = CASES.get(name, Rules())
        main = main_tensor(self.operator)
        dtypes = main.dtypes if main else ("F32",)
        dtype = "F32" if "F32" in dtypes else dtypes[0]
        self.draw = Draw(self.operator, rules, dtype, "usual", seed)
        self.face = Face(self.operator, self.draw.run_number)
        self.values = self.draw.values(1)

    def inputs(self) -> list[Any]:
        draw = self.draw
        made = []
        extra = {name: each.dtype for name, each in draw.extra.items()}
        for slot in self.face.inputs:
            name = slot.name if slot.name in self.values else slot.name.rstrip("_")
            given = self.values.get(name)
            dtype = draw.dtypes.get(name) or extra.get(name, "F32")
            if isinstance(given, list):
                made.append([array(each, dtype) for each in given])
            elif given is not None and slot.array:
                made.append(list(array(given, dtype)))
            else:
                made.append(None if given is None else array(given, dtype))
        return made

    def keywords(self) -> dict[str, Any]:
        known = {**self.draw.attributes, **self.draw.scalars}
        return {keyword.name: known[keyword.name] for keyword in self.face.keywords}

    def outputs(self) -> list[Any]:
        """Arrays for the results; None for absent ones."""
        draw = self.draw
        made = []
        for slot in self.face.outputs:
            extra = draw.extra.get(slot.name)
            shape = extra.shape if extra else draw.shapes[slot.name]
            dtype = extra.dtype if extra else draw.dtypes[slot.name]
            values = self.values.get(slot.name)  # of what is added to
            values = np.zeros(shape or ()) if values is None else values
            made.append(None if shape is None else array(values, dtype))
        return made

    def check(self, inputs: list[Any], outputs: list[Any]) -> None:
        draw = self.draw
        expected = evaluate(draw, self.values)
        names = [tensor.name for tensor in self.operator.outputs]
        names += [name for name, extra in draw.extra.items() if extra.role != "in"]
        given = dict(zip([slot.name for slot in self.face.outputs], outputs, strict=True))
        given |= {s.name: x for s, x in zip(self.face.inputs, inputs, strict=True)}
        dtypes = {**draw.dtypes, **{name: extra.dtype for name, extra in draw.extra.items()}}
        got = {n: None if given[n] is None else raw(given[n], dtypes[n]) for n in names}
        if draw.rules.compare:
            draw.rules.compare(draw, self.values, got, dict(zip(names, expected, strict=True)))
            return
        allowed = tolerances(draw, self.values, expected, names)
        for name, result, limit in zip(names, expected, allowed, strict=True):
            if got[name] is not None:
                compare(name, dtypes[name], got[name], result, limit)


def names(found: bool) -> list[str]:
    return [
        operator.name
        for operator in OPERATORS
        if any(is_result(p) for p in operator.run.pointers) == found and not operator.unsupported
    ]


@pytest.mark.parametrize("name", names(found=False))
def test_given_results(name: str) -> None:
    case = drawn(name)
    inputs, outputs = case.inputs(), case.outputs()
    out = outputs if len(outputs) > 1 else (outputs[0] if outputs else None)
    keywords = case.keywords() | ({"out": out} if outputs else {})
    getattr(op, case.face.name)(*inputs, **keywords)
    case.check(inputs, outputs)


@pytest.mark.parametrize("name", names(found=False))
def test_made_results(name: str) -> None:
    case = drawn(name)
    inputs, expected = case.inputs(), case.outputs()
    call = getattr(op, case.face.name)
    if case.face.name in NEEDS_OUT:
        with pytest.raises(TypeError, match="out= is needed.*" + NEEDS_OUT[case.face.name]):
            call(*inputs, **case.keywords())
        return
    if not expected or any(s.optional or s.name in case.values for s in case.face.outputs):
        return  # nothing is made, or it may be left out, or is added to
    made = call(*inputs, **case.keywords())
    made = tuple(map(here, made)) if isinstance(made, tuple) else (here(made),)
    expected = [here(each) for each in expected]
    for slot, got, wanted in zip(case.face.outputs, made, expected, strict=True):
        assert got.size == wanted.size, (slot.name, got.shape, wanted.shape)
        if wanted.shape not in ((), (1,)):
            assert got.shape == wanted.shape, slot.name
    if all(got.dtype == wanted.dtype for got, wanted in zip(made, expected, strict=True)):
        case.check(inputs, list(made))


def drawn(name: str) -> Case:
    try:
        return Case(name)
    except NoCaseError as reason:
        pytest.skip(str(reason))
