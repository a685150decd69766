"""Programs: their functors for the CPU, the table that the core chooses from, and the numbers of
the functions in their expressions."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language import functors
from ..operators.language.nodes import CONSTANT, COPYING, COSTLY, OPS, Expression
from ..operators.language.trace import (
    AXES,
    FOLDS,
    KINDS,
    VIEWS,
    Program,
    Stage,
    programs,
    tensor_dtypes,
)
from . import text

PART = "c"

FILES = 12  # files for the functors, to be compiled in parallel
BITS = {"float": 1, "double": 2, "int64_t": 4, "uint64_t": 8}
HALF = 16  # also compiled for 16-bit tensors, converted in registers
NARROW = 32  # also compiled for 32-bit and 8-bit integers, without conversion
TRUTH = 64  # also compiled with results written as bytes
FUSED = (("sum",), ("max",), ("min",))  # folds that are evaluated in one pass with a functor
CHEAP = frozenset(
    {"exp", "tanh", "erf", "one_plus_erf"}
)  # costly functions that such a functor may call


@dataclass
class Compiled:
    name: str
    expression: Expression
    types: int = 0
    fold: int = 0  # compiled together with it

    @property
    def source(self) -> str:
        return functors.source(self.name, self.expression)


def files(api: Api, first: First) -> dict[str, str]:
    found = [program for operator in OPERATORS for program in programs(operator)]
    compiled = compiled_functors(found)
    written = {
        "include/infini/node_op.h": node_ops(),
        "src/operators/programs.cc": table(found, compiled),
    }
    # By name, so that a new operator changes one file.
    parts: list[list[Compiled]] = [[] for _ in range(FILES)]
    for entry in compiled.values():
        parts[zlib.crc32(entry.name.encode()) % FILES].append(entry)
    for number, part in enumerate(parts):
        written[f"src/cpu/programs_{number}.cc"] = functor_file(number, part)
    written["src/cpu/programs_all.cc"] = all_functors(len(parts))
    return written


def compiled_functors(found: list[Program]) -> dict[Expression, Compiled]:
    """Each functor once, named after the first operator that has it."""
    compiled = {COPYING: Compiled("copy_0", COPYING, sum(BITS.values()))}
    for program in found:
        for stage in program.stages:
            name = program.operator.name
            if stage.expression not in compiled:
                number = sum(c.name.rpartition("_")[0] == name for c in compiled.values())
                compiled[stage.expression] = Compiled(f"{name}_{number}", stage.expression)
            entry = compiled[stage.expression]
            entry.types |= sum(BITS[kind] for kind in program.types)
            if is_half(program, stage):
                entry.types |= HALF
            if is_narrow(program, stage):
                entry.types |= NARROW
            if is_truth(program, stage):
                entry.types |= TRUTH
            if stage.folds in FUSED and stage.outputs == (-1,) and stage.expression.cost <= 16:
                entry.fold = entry.fold or FOLDS[stage.folds[0]]
    return compiled


def is_half(program: Program, stage: Stage) -> bool:
    """Whether 16-bit floats are worth a separate loop with conversion."""
    return (
        len(program.stages) == 1
        and not any(stage.folds)
        and all("F16" in dtypes for dtypes in tensor_dtypes(program.operator, program.present))
        and "float" in program.types
        and stage.expression.inputs <= 4
        and stage.expression.functions & COSTLY <= CHEAP
    )


def is_narrow(program: Program, stage: Stage) -> bool:
    """Whether narrow integers give the same result as wide ones truncated afterwards."""
    return (
        len(program.stages) == 1
        and not any(stage.folds)
        and "int64_t" in program.types
        and stage.expression.shared == 0
        and stage.expression.inputs <= 3
        and stage.expression.wraps
    )


def is_truth(program: Program, stage: Stage) -> bool:
    """Whether every result is 0 or 1, and cheap."""
    return (
        len(program.stages) == 1
        and not any(stage.folds)
        and stage.expression.outputs == 1
        and stage.expression.truths == 1
        and stage.expression.inputs <= 3
        and not stage.expression.functions & COSTLY
    )


def node_ops() -> str:
    ops = "\n".join(f"    INFINI_NODE_{op.upper()} = {number}," for number, op in enumerate(OPS))
    return f"""\
/* What a node of an expression does: see infini/program.h. Numbers are only ever added.
 * {text.NOTE} */
#ifndef INFINI_NODE_OP_H
#define INFINI_NODE_OP_H

typedef enum InfiniNodeOp {{
{ops}
}} InfiniNodeOp;

#endif"""


# ---- For the CPU --------------------------------------------------------------------------------


def functor_file(number: int, part: list[Compiled]) -> str:
    sources = "\n\n".join(entry.source for entry in part)
    entries = "".join(f'    functor<{e.name}, {e.types}, {e.fold}>("{e.name}"),\n' for e in part)
    return f"""\
// Functors of the operators' programs.
// {text.NOTE}
#include "program/block.h"

namespace infini::cpu {{
namespace {{

{sources}

constinit const Functor kEntries[] = {{
{entries}}};

}}  // namespace

extern const FunctorList kFunctors{number};
constinit const FunctorList kFunctors{number} = {{kEntries, {len(part)}}};

}}  // namespace infini::cpu"""


def all_functors(count: int) -> str:
    declared = "".join(f"extern const FunctorList kFunctors{i};\n" for i in range(count))
    lists = "".join(f"    &kFunctors{i},\n" for i in range(count))
    return f"""\
// The lists of functors.
// {text.NOTE}
#include "program/functor.h"

namespace infini::cpu {{

{declared}
constinit const FunctorList *const kFunctorLists[] = {{
{lists}}};
constinit const size_t kFunctorListCount = {count};

}}  // namespace infini::cpu"""


# ---- For the core -------------------------------------------------------------------------------


def table(found: list[Program], compiled: dict[Expression, Compiled]) -> str:
    expressions = "\n".join(map(expression_data, compiled.values()))
    parts: list[str] = []
    cases: list[str] = []
    for number, program in enumerate(found):
        parts.append(program_data(number, program, compiled))
        cases.append(case_data(number, program))
    joined_parts, joined_cases = "\n".join(parts), "".join(cases)
    return f"""\
// The programs of all operators, by name and case.
// {text.NOTE}
#include "programs.h"

namespace infini::op {{
namespace {{

{expressions}

{joined_parts}

}}  // namespace

const ProgramCase kProgramCases[] = {{
{joined_cases}}};
const size_t kProgramCaseCount = {len(found)};

const char *const kCopyFunctor = "copy_0";
const char *const kCopySource = copy_0_source;
const InfiniExpression *const kCopyExpression = &copy_0_expression;

}}  // namespace infini::op"""


def expression_data(entry: Compiled) -> str:
    name, expression = entry.name, entry.expression
    lines = [f'const char {name}_source[] = R"({entry.source})";']
    lines.append(f"const InfiniNode {name}_nodes[] = {{")
    for op, args, value in expression.nodes:
        places = ", ".join(map(str, (*args, *(-1,) * (3 - len(args)))))
        number = functors.number(value) if op == CONSTANT else "0"
        lines.append(f"    {{INFINI_NODE_{op.upper()}, {{{places}}}, {number}}},")
    results = ", ".join(map(str, expression.results))
    lines.append(f"}};\nconst int16_t {name}_results[] = {{{results}}};")
    lines.append(
        f"const InfiniExpression {name}_expression = {{sizeof(InfiniExpression), {name}_nodes, "
        f"{name}_results, {len(expression.nodes)}, {expression.outputs}, {expression.flags}, "
        f"{expression.truths}, {expression.cost}}};"
    )
    return "\n".join(lines)


def program_data(number: int, program: Program, compiled: dict[Expression, Compiled]) -> str:
    lines = [f"const InfiniOperand operands_{number}[] = {{"]
    for o in program.operands:
        lines.append(
            f"    {{{KINDS[o.kind]}, {o.index}, {o.pointer}, {int(o.integer)}, {o.phase}, "
            f"{VIEWS[o.view]}, {o.axis}}},"
        )
    lines.append("};")
    phases = ", ".join(f"{{{AXES[kind]}, {axis}}}" for kind, axis in program.phases)
    lines.append(f"const InfiniPhase phases_{number}[] = {{{phases}}};")
    stages, expressions = [], []
    for position, stage in enumerate(program.stages):
        name = compiled[stage.expression].name
        expressions.append(f"&{name}_expression")
        folds = tuple(FOLDS[fold] if fold else 0 for fold in stage.folds)
        words = []
        for word, values in (
            ("inputs", stage.inputs),
            ("outputs", stage.outputs),
            ("folds", folds if any(folds) else ()),
            ("folded", stage.folded if any(folds) else ()),
        ):
            if values:
                array = f"{word}_{number}_{position}"
                lines.append(f"const int16_t {array}[] = {{{', '.join(map(str, values))}}};")
                words.append(array)
            else:
                words.append("nullptr")
        kind = 1 if stage.kind == "elements" else 2
        stages.append(
            f"    {{{kind}, {stage.phase}, {len(stage.inputs)}, {len(stage.outputs)}, "
            f'{", ".join(words)}, "{name}", {name}_source}},'
        )
    lines.append(f"const InfiniStage stages_{number}[] = {{")
    lines += stages
    lines.append("};")
    lines.append(
        f"const InfiniExpression *const expressions_{number}[] = {{{', '.join(expressions)}}};"
    )
    lines.append(
        f"const InfiniProgram program_{number} = {{sizeof(InfiniProgram), "
        f'"{program.operator.name}", operands_{number}, phases_{number}, stages_{number}, '
        f"{len(program.operands)}, {len(program.phases)}, {len(program.stages)}, "
        f"{program.flags}, expressions_{number}}};"
    )
    names = [attribute.name for attribute in program.operator.attributes]
    if program.cases:
        pairs = ", ".join(f"{{{names.index(n)}, {v}}}" for n, v in program.cases.items())
        lines.append(f"const ProgramCondition conditions_{number}[] = {{{pairs}}};")
    return "\n".join(lines)


def case_data(number: int, program: Program) -> str:
    absent = sum(
        1 << index
        for index, tensor in enumerate(program.operator.tensors)
        if tensor.optional and tensor.name not in program.present
    )
    conditions = f"conditions_{number}, {len(program.cases)}" if program.cases else "nullptr, 0"
    return f'    {{"{program.operator.name}", &program_{number}, {absent}, {conditions}}},\n'
