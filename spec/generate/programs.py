"""Programs: their functors for the CPU, and the table that the core chooses from."""

from __future__ import annotations

import textwrap
import zlib
from dataclasses import dataclass

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.functors import Functor
from ..operators.language.trace import (
    AXES,
    COSTLY,
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

FILES = 12  # that the functors are spread over, to be compiled side by side
BITS = {"float": 1, "double": 2, "int64_t": 4, "uint64_t": 8}
HALF = 16  # also for tensors of 16 bits, converted in registers
FUSED = (("sum",), ("max",), ("min",))  # folds that are evaluated in one go with a functor
CHEAP = frozenset({"exp", "tanh", "erf"})  # what such a functor may call of the costly functions


@dataclass
class Compiled:
    name: str
    functor: Functor
    types: int = 0
    fold: int = 0  # that is compiled together with it

    @property
    def cost(self) -> int:
        return self.functor.body.count("\n") + 10 * len(self.functor.functions & COSTLY)

    @property
    def source(self) -> str:
        body = textwrap.indent(self.functor.body, " " * 8)
        return f"""\
template <class V>
struct {self.name} {{
    static constexpr int kInputs = {self.functor.inputs}, kOutputs = {self.functor.outputs};
    static constexpr int kShared = {self.functor.shared}, kCost = {self.cost};
    INFINI_SIMD static void eval([[maybe_unused]] const V *x, V *y) {{
{body}
    }}
}};"""


def files(api: Api, first: First) -> dict[str, str]:
    found = [program for operator in OPERATORS for program in programs(operator)]
    compiled = functors(found)
    written = {"src/operators/programs.cc": table(found, compiled)}
    # By name, so that a new operator changes one file.
    parts: list[list[Compiled]] = [[] for _ in range(FILES)]
    for entry in compiled.values():
        parts[zlib.crc32(entry.name.encode()) % FILES].append(entry)
    for number, part in enumerate(parts):
        written[f"src/cpu/programs_{number}.cc"] = functor_file(number, part)
    written["src/cpu/programs_all.cc"] = all_functors(len(parts))
    return written


def functors(found: list[Program]) -> dict[tuple[str, int], Compiled]:
    """Each functor once, named after the first operator that has it."""
    copy = Compiled("copy_0", Functor("y[0] = x[0];", 1, 1, 0, frozenset()), sum(BITS.values()))
    compiled = {(copy.functor.body, copy.functor.shared): copy}
    for program in found:
        for stage in program.stages:
            key = (stage.functor.body, stage.functor.shared)
            name = program.operator.name
            if key not in compiled:
                number = sum(c.name.rpartition("_")[0] == name for c in compiled.values())
                compiled[key] = Compiled(f"{name}_{number}", stage.functor)
            entry = compiled[key]
            entry.types |= sum(BITS[kind] for kind in program.types)
            if is_half(program, stage):
                entry.types |= HALF
            if stage.folds in FUSED and stage.outputs == (-1,) and entry.cost <= 16:
                entry.fold = entry.fold or FOLDS[stage.folds[0]]
    return compiled


def is_half(program: Program, stage: Stage) -> bool:
    """Is the conversion of 16-bit floats worth a loop of its own?"""
    costly = stage.functor.functions & COSTLY
    return (
        len(program.stages) == 1
        and not any(stage.folds)
        and all("F16" in dtypes for dtypes in tensor_dtypes(program.operator, program.present))
        and "float" in program.types
        and stage.functor.inputs <= 4
        and costly <= CHEAP
    )


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


def table(found: list[Program], compiled: dict[tuple[str, int], Compiled]) -> str:
    sources = "\n".join(
        f'const char {entry.name}_source[] = R"({entry.source})";' for entry in compiled.values()
    )
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

{sources}

{joined_parts}

}}  // namespace

const ProgramCase kProgramCases[] = {{
{joined_cases}}};
const size_t kProgramCaseCount = {len(found)};

const char *const kCopyFunctor = "copy_0";
const char *const kCopySource = copy_0_source;

}}  // namespace infini::op"""


def program_data(number: int, program: Program, compiled: dict[tuple[str, int], Compiled]) -> str:
    lines = [f"const InfiniOperand operands_{number}[] = {{"]
    for o in program.operands:
        lines.append(
            f"    {{{KINDS[o.kind]}, {o.index}, {o.pointer}, {int(o.integer)}, {o.phase}, "
            f"{VIEWS[o.view]}, {o.axis}}},"
        )
    lines.append("};")
    phases = ", ".join(f"{{{AXES[kind]}, {axis}}}" for kind, axis in program.phases)
    lines.append(f"const InfiniPhase phases_{number}[] = {{{phases}}};")
    stages = []
    for position, stage in enumerate(program.stages):
        name = compiled[stage.functor.body, stage.functor.shared].name
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
        f"const InfiniProgram program_{number} = {{sizeof(InfiniProgram), "
        f'"{program.operator.name}", operands_{number}, phases_{number}, stages_{number}, '
        f"{len(program.operands)}, {len(program.phases)}, {len(program.stages)}, "
        f"{program.flags}}};"
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
