"""Python for the operators: the table, one function for each, their stub, the definitions' source.

`infinicore/op/_table.py` has what the package needs to call each operator. The functions of
`infinicore/op/_functions.py` only forward their arguments with the operator's name.
"""

from __future__ import annotations

import inspect
import pprint
import textwrap
from typing import Any

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.model import CLASSES, Operator, Pointer, Tensor
from . import text
from .operator_calls import pointer_letter
from .operator_face import ADDED_TO, FOUND, Face, all_faces, is_result, layouts, letter
from .operator_headers import signatures

PART = "python"


def files(api: Api, first: First) -> dict[str, str]:
    made = {
        "_table": _table(first),
        "_functions": _functions(),
        "_sources": _sources(),
    }
    pages = {f"python/infinicore/op/{name}.py": source for name, source in made.items()}
    pages["python/infinicore/op/_functions.pyi"] = _functions_stub()
    return pages


# ---- The table ----------------------------------------------------------------------------------


def _table(first: First) -> str:
    rows = {operator.name: _row(operator, index) for index, operator in enumerate(OPERATORS)}
    show = pprint.PrettyPrinter(width=92, compact=True, sort_dicts=False).pformat
    body = "".join(f"    {name!r}: {show(row)},\n" for name, row in rows.items())
    faces = "".join(
        f"    {face.name!r}: ({face.operator.name!r}, {face.number}),\n" for face in all_faces()
    )
    statuses = "".join(
        f"    {value.value}: {value.name!r},\n" for value in first.enum("infiniStatus_t").values
    )
    dtypes, devices = (
        "".join(
            f"    {value.name.removeprefix(prefix)!r}: {value.value},\n"
            for value in first.enum(enum).values
            if not value.name.endswith(("_INVALID", "_COUNT"))
        )
        for enum, prefix in (
            ("infiniDtype_t", "INFINI_DTYPE_"),
            ("infiniDevice_t", "INFINI_DEVICE_"),
        )
    )
    return f'''\
"""What is known of each operator. {text.NOTE}"""

from __future__ import annotations

from typing import Any

STATUS_NAMES = {{
{statuses}}}

# Numbers of infiniDtype_t and infiniDevice_t.
DTYPES = {{
{dtypes}}}
DEVICES = {{
{devices}}}

# Functions: operator, number of the run function.
FUNCTIONS = {{
{faces}}}

OPERATORS: dict[str, dict[str, Any]] = {{
{body}}}'''


def _row(operator: Operator, index: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": index,
        "group": operator.family,
        # name, role, may be absent, element types or "=tensor" or "+tensor" (see the declarations),
        # alternatives of shapes, array
        "tensors": tuple(_tensor(operator, tensor) for tensor in operator.tensors),
        # name, letter, length of a list, words for numbers
        "attributes": tuple(
            (p.name, letter(p), p.length, Face(operator).words(p)) for p in operator.attributes
        ),
        "runs": tuple(_run(Face(operator, number)) for number in range(len(operator.runs))),
    }
    if set(strides := layouts(operator)) != {"."}:
        row["layouts"] = strides
    if operator.where:
        row["where"] = operator.where
    if operator.in_place:
        row["in_place"] = operator.in_place
    if "complex_as" in operator.options:
        row["complex_as"] = operator.options["complex_as"]
    if operator.name in FOUND:
        row["found"] = FOUND[operator.name]
    if operator.name in ADDED_TO:
        row["added_to"] = ADDED_TO[operator.name]
    if operator.unsupported:
        row["unsupported"] = operator.unsupported
    return row


def _tensor(operator: Operator, tensor: Tensor) -> tuple[Any, ...]:
    kinds = f"={tensor.same_as}" if tensor.same_as else " ".join(tensor.dtypes)
    kinds = f"+{tensor.sum_of}" if tensor.sum_of else kinds
    role = "out" if Face(operator).is_added_to(tensor.name) else tensor.role
    return (tensor.name, role, tensor.optional, kinds, tensor.shapes, tensor.array)


def _run(face: Face) -> dict[str, Any]:
    operator = face.operator
    tensors = [tensor.name for tensor in operator.tensors]
    pointers = tuple(
        (p.name, tensors.index(p.tensor) if p.tensor else -1, pointer_letter(operator, p))
        for p in face.run.pointers
        if not is_result(p)
    )
    run: dict[str, Any] = {
        "name": face.run.name,
        "pointers": pointers,
        "inputs": tuple((s.name, s.place, s.optional, s.array) for s in face.inputs),
        "outputs": tuple((s.name, s.place, s.optional) for s in face.outputs),
    }
    if face.run.scalars:
        run["scalars"] = tuple(p.name for p in face.run.scalars)
    if face.derived:
        run["derived"] = face.derived
    if defaults := {k.name: eval(k.default) for k in face.keywords if k.default}:
        run["defaults"] = defaults
    lengths = {p.name: p.length for p in face.scalars if p.length}
    if lengths:
        run["lengths"] = lengths
    if counts := operator.options.get("run_counts"):
        run["counts"] = dict(counts)
    return run


# ---- Functions ----------------------------------------------------------------------------------


def _functions() -> str:
    parts = []
    for face in all_faces():
        words = [name + (f"={default}" if default else "") for name, _, default in face.parameters]
        inputs = "".join(f"{slot.name}, " for slot in face.inputs)
        values = ", ".join(f'"{k.name}": {k.name}' for k in face.keywords)
        out = "out" if face.outputs else "None"
        parts.append(
            f"def {face.name}({', '.join(words)}):\n"
            f"{textwrap.indent(_docstring(face), '    ')}\n"
            f'    return call("{face.name}", ({inputs}), {{{values}}}, {out}, stream)\n'
        )
    names = "".join(f'    "{face.name}",\n' for face in all_faces())
    body = "\n\n".join(parts)
    return f'''\
"""One function for each operator. {text.NOTE}"""

from infinicore.op._call import call

__all__ = [
{names}]


{body}'''


def _docstring(face: Face) -> str:
    operator = face.operator
    doc = operator.doc or operator.name
    lines = textwrap.wrap(_plain(doc), 92) or [operator.name]
    lines.append("")
    lines += [f"    {line}" for line in tensor_lines(operator)]
    if operator.where:
        lines += ["", *textwrap.wrap("Needs " + "; ".join(operator.where) + ".", 92)]
    if operator.unsupported:
        lines += ["", *textwrap.wrap(f"Not on the CPU: {operator.unsupported}.", 92)]
    lines += ["", f"C: {face.run.name}"]
    return '"""' + "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''") + '\n"""'


def _plain(doc: str) -> str:
    return " ".join(doc.split())


def tensor_lines(operator: Operator) -> list[str]:
    """A line for each tensor: name, element types, shape, remarks."""
    rows = []
    for tensor in operator.tensors:
        remarks = [{"out": "written", "inout": "read and written"}.get(tensor.role, "")]
        remarks.append("optional" if tensor.optional else "")
        remarks.append({"inner1": "last stride 1", "dense": "dense"}.get(tensor.layout, ""))
        remarks.append("a list of tensors" if tensor.array else "")
        remark = ", ".join(filter(None, remarks))
        rows.append([tensor.name, kinds(tensor), shape_text(tensor), remark])
    for run in operator.runs:
        for pointer in run.pointers:
            if not pointer.tensor and not any(row[0] == pointer.name for row in rows):
                rows.append([pointer.name, "", "", _bare(pointer)])
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip()
        for row in rows
    ]


def _bare(pointer: Pointer) -> str:
    if is_result(pointer):
        return "told by the run function"
    what = "array of pointers" if pointer.array else "data without a descriptor"
    return what + (", optional" if pointer.optional else "")


def kinds(tensor: Tensor) -> str:
    if tensor.same_as:
        return f"as {tensor.same_as}"
    if tensor.sum_of:
        return f"as sums of {tensor.sum_of}"
    for name in ("ANY", "PLAIN", "I*", "F+", "F", "IDX", "H16"):
        if " ".join(tensor.dtypes) == CLASSES[name]:
            return {"ANY": "any", "PLAIN": "any but complex"}.get(name, CLASSES[name])
    return " ".join(tensor.dtypes)


def shape_text(tensor: Tensor) -> str:
    return " or ".join(f"[{', '.join(shape)}]" for shape in tensor.shapes)


def _functions_stub() -> str:
    parts = []
    for face in all_faces():
        words = []
        for name, annotation, default in face.parameters:
            word = f"{name}: {annotation}" if annotation else name
            words.append(word + (f" = {default}" if default else ""))
        parts.append(text.call(f"def {face.name}", words, f" -> {face.returns}: ..."))
    names = "".join(f'    "{face.name}",\n' for face in all_faces())
    body = "\n".join(parts)
    return f'''\
"""One function for each operator. {text.NOTE}"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from infinicore.rt import Stream

Tensor: TypeAlias = Any  # with DLPack, the buffer protocol or __array_interface__

{body}

__all__ = [
{names}]'''


# ---- Sources ------------------------------------------------------------------------------------


def definition_source(operator: Operator) -> str:
    """The definition without its decorator."""
    source = textwrap.dedent(inspect.getsource(operator.definition))
    at = 0 if source.startswith("def ") else source.index("\ndef ") + 1
    return source[at:].rstrip()


def c_face(operator: Operator) -> str:
    return "\n".join(
        text.call(f"infiniStatus_t {name}", params, ";") for name, params in signatures(operator)
    )


def _sources() -> str:
    rows = "".join(
        f"    {operator.name!r}: (\n        {c_face(operator)!r},\n"
        f"        {definition_source(operator)!r},\n    ),\n"
        for operator in OPERATORS
    )
    return f'''\
"""C declarations and definitions of the operators, to show to people. {text.NOTE}"""

SOURCES = {{
{rows}}}'''
