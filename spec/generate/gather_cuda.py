"""Gather programs for CUDA-like devices: a function in device code for every way through a
definition, which computes one element of the output, and a planner for each operator that chooses
among them. The engine is backends/cuda/kernels/window/gather.h."""

from __future__ import annotations

from collections import defaultdict

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.expression import INT
from ..operators.language.gather import Gather, Trace, traces
from ..operators.language.model import Operator
from . import text
from .gather import Writer, case_of, indent, info_of, split_function

PART = "c"


def files(api: Api, first: First) -> dict[str, str]:
    groups: dict[str, list[Operator]] = defaultdict(list)
    for operator in OPERATORS:
        program: Gather | None = getattr(operator.definition, "gather", None)
        if program and (program.cpu if program.cuda is None else program.cuda):
            groups[operator.family].append(operator)
    return {f"src/cuda/gather_{name}.cc": _file(ops) for name, ops in groups.items()}


def _file(operators: list[Operator]) -> str:
    bodies = "\n\n".join(_operator(operator) for operator in operators)
    return f"""\
// Gather programs. {text.NOTE}
#include "kernels/window/gather.h"

namespace infini::cuda {{
namespace {{

using namespace gathered;

{bodies}

}}  // namespace
}}  // namespace infini::cuda"""


def _operator(operator: Operator) -> str:
    program: Gather = vars(operator.definition)["gather"]
    parts, forms = [], []
    for number, trace in enumerate(traces(operator)):
        split = "nullptr"
        if program.split:
            split = f"split_{operator.name}_{number}"
            parts.append(split_function(split, trace))
        case_text, value = case_of(trace)
        facts = ", ".join("true" if fact else "false" for fact in (trace.moves, trace.exact))
        forms.append(
            f"    {{{trace.rank}, {len(trace.coordinates)}, {case_text}, {value}, {split}, {facts},"
            f'\n     R"device({element(trace)})device"}},'
        )
    name, lines = operator.name, "\n".join(forms)
    parts.append(f"""\
const GatherForm kForms_{name}[] = {{
{lines}
}};
std::unique_ptr<Plan> plan_{name}(const Operation &operation, Device &device) {{
    static constexpr GatherInfo kInfo = {{
        {info_of(operator)}}};
    return plan_gather(operation, device, kInfo, kForms_{name}, std::size(kForms_{name}));
}}
INFINI_CUDA_KERNEL("{name}", plan_{name});""")
    return "\n\n".join(parts)


def element(trace: Trace) -> str:
    """The function that computes an element, of an output of type T, in numbers of type V."""
    assert trace.result is not None
    writer = Writer()
    value = writer.as_kind(trace.result, "value")
    inputs = sorted({n.data for n in writer.found if n.op == "load"})
    coordinates = [n for n in writer.names if n.op == "coordinate"]
    lines = [
        "[[maybe_unused]] const void *in[Gather::kInputs];",
        *(_begin(trace, n) for n in inputs),
        *(f"const int64_t c{node.data} = at[{node.data}];" for node in coordinates),
        *writer.row.lines,
        f"return {value};",
    ]
    body = indent(lines)
    body = body.replace("std::numeric_limits<V>::infinity()", "infinity<V>()")
    body = body.replace("std::bit_cast", "bit_cast")
    return f"""
namespace gathered {{
INFINI_DEVICE V element(const Gather &g, const void *const *x, const int64_t *from,
                        const int64_t *at) {{
{body}
}}
}}  // namespace gathered
"""


def _begin(trace: Trace, number: int) -> str:
    """Where an input begins, at the place in the carried dimensions."""
    if trace.inputs[number].kind == INT:
        place = f"from[{number}] * (g.wide[{number}] ? 8 : 4)"
        return f"in[{number}] = static_cast<const char *>(x[{number}]) + {place};"
    place = f"static_cast<const T *>(x[{number}]) + from[{number}]"
    return f"const T *const in{number} = {place};"
