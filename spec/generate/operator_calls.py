"""C++ for libinfinicore: the operators' C functions, each under the same signature."""

from __future__ import annotations

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.model import Operator, Param, Pointer, Run
from . import text
from .operator_face import is_result, letter

PART = "c"
TRAITS = ("random", "rounds", "copies", "takes_epilogue")  # of the declaration, see rows.h


def files(api: Api, first: First) -> dict[str, str]:
    return {"src/core/calls.cc": _calls()}


def _calls() -> str:
    others = sorted({op.header for op in OPERATORS if not op.umbrella})
    includes = "".join(f'#include "infiniop/ops/{name}.h"\n' for name in others)
    functions = "\n".join(map(_functions, OPERATORS))
    rows = "".join(map(_row, OPERATORS))
    return f"""\
// The operators' C functions under one signature each. {text.NOTE}
#include "rows.h"
{includes}
namespace infinicore::detail {{
namespace {{

{functions}
}}  // namespace

const Row kRows[] = {{
{rows}}};
const int kRowCount = {len(OPERATORS)};

}}  // namespace infinicore::detail"""


def _functions(operator: Operator) -> str:
    parts = [_run(operator, run, number) for number, run in enumerate(operator.runs)]
    return "".join([*parts, _runs(operator)])


def _run(operator: Operator, run: Run, number: int) -> str:
    name = f"{operator.c_name}_{number}"
    arguments = ["descriptor"]
    unused = "    (void)scalars;\n" if not run.scalars else ""
    if operator.workspace:
        arguments += ["workspace", "workspace_size"]
    else:
        unused += "    (void)workspace, (void)workspace_size;\n"
    pointer = scalar = 0
    for param in run.params:
        if isinstance(param, Pointer):
            place = f"pointers[{pointer}]"
            plain = param.type in ("void *", "const void *")
            arguments.append(place if plain else f"static_cast<{param.type}>({place})")
            pointer += 1
        else:
            arguments.append(_value(param, f"scalars[{scalar}]"))
            scalar += 1
    tensors = [tensor.name for tensor in operator.tensors]
    places = [tensors.index(p.tensor) if p.tensor else -1 for p in run.pointers]
    return (
        f"infiniStatus_t run_{name}(InfiniopDescriptor *descriptor, void *workspace, size_t"
        f" workspace_size,\n    void *const *pointers, const Value *scalars, void *stream) {{\n"
        f"{unused}"
        + text.call(f"return {run.name}", [*arguments, "stream"], ";", 4)
        + f"\n}}\nconst signed char tensors_{name}[] = {{{', '.join(map(str, places))}}};\n"
    )


def _value(param: Param, place: str) -> str:
    if param.kind in ("text", "list", "numbers"):
        return f"static_cast<{param.type}>({place}.list)"
    field = "f" if param.kind == "number" else "i"
    return f"static_cast<{param.type.removeprefix('const ')}>({place}.{field})"


def pointer_letter(operator: Operator, pointer: Pointer) -> str:
    if is_result(pointer):
        return "h"
    if pointer.array:
        return "a"
    tensors = {tensor.name: tensor for tensor in operator.tensors}
    if pointer.tensor:
        return "w" if tensors[pointer.tensor].written else "p"
    return "p" if pointer.type.startswith("const") else "w"


def scalar_letters(operator: Operator, run: Run) -> str:
    attributes = {param.name for param in operator.attributes}
    return "".join("-" if p.length and p.name in attributes else letter(p) for p in run.scalars)


def passed(operator: Operator, run: Run) -> str:
    """The scalars that the kernel gets, see rows.h."""
    attributes = {param.name for param in operator.attributes}
    kept = [param for param in run.scalars if param.name not in attributes]
    if any(p.array for p in run.pointers) or any(p.length for p in kept):
        return "nullptr"
    return '"' + "".join("-" if p.name in attributes else "+" for p in run.scalars) + '"'


def _row(operator: Operator) -> str:
    tensors = "".join("a" if tensor.array else "p" for tensor in operator.tensors)
    attributes = "".join(map(letter, operator.attributes))
    return (
        f'    {{"{operator.name}", "{tensors}", "{attributes}", runs_{operator.c_name},'
        f" {len(operator.runs)}, {_traits(operator)}}},\n"
    )


def _traits(operator: Operator) -> str:
    names = [name for name in TRAITS if getattr(operator, name)]
    words = ["".join(map(str.capitalize, name.split("_"))) for name in names]
    return " | ".join(f"k{word}" for word in words) or "0"


def _runs(operator: Operator) -> str:
    rows = ""
    for number, run in enumerate(operator.runs):
        letters = "".join(pointer_letter(operator, pointer) for pointer in run.pointers)
        rows += (
            f'    {{"{run.name}", "{letters}", "{scalar_letters(operator, run)}",\n'
            f"     tensors_{operator.c_name}_{number}, {passed(operator, run)},\n"
            f"     run_{operator.c_name}_{number}}},\n"
        )
    return f"const RunRow runs_{operator.c_name}[] = {{\n{rows}}};\n"
