"""The bodies of infinicore::op: one call of an operator each, and the facts that calls need."""

from __future__ import annotations

import ast

from .. import Api, First
from ..cpp import HEADERS, Argument, DeclarationError, Function, Header
from ..cpp.mapping import BY_HAND, OPERATORS, REFUSED, TENSORS, VALUES, VARIED
from ..operators import OPERATORS as DECLARED
from ..operators.language.model import Operator, Param
from . import text
from .operator_calls import scalar_letters
from .operator_face import Face, layouts, letter

PART = "c"
PARTS = 4  # files, so that a change of one operator does not compile all

BY_NAME = {operator.name: operator for operator in DECLARED}
INDEX = {operator.name: i for i, operator in enumerate(DECLARED)}
LIST_TYPES = {"I": "int32_t", "L": "int64_t", "F": "float", "D": "double"}
SAME_BYTES = {"size_t": "int64_t", "int": "int32_t"}


def files(api: Api, first: First) -> dict[str, str]:
    made = {"src/core/call_rules.cc": _rules()}
    size = -(-len(HEADERS) // PARTS)
    for part in range(PARTS):
        headers = HEADERS[part * size : (part + 1) * size]
        made[f"src/core/cpp_operators_{part}.cc"] = _source(headers)
    return made


# ---- Facts for calls --------------------------------------------------------------------


def _rules() -> str:
    rows = "".join(map(_rule, DECLARED))
    return f"""\
// {text.NOTE}
#include "call.h"

namespace infinicore::detail {{

const CallRules kCallRules[] = {{
{rows}}};

}}  // namespace infinicore::detail"""


def _rule(operator: Operator) -> str:
    tensors = operator.tensors
    names = [tensor.name for tensor in tensors]
    roles = "".join({"in": "i", "out": "o", "inout": "b"}[tensor.role] for tensor in tensors)
    over = "".join(
        chr(ord("A") + names.index(operator.in_place[name])) if name in operator.in_place else "."
        for name in names
    )
    is_map = roles.count("o") == 1 and "b" not in roles
    is_map &= all(tensor.shapes == (("*S",),) and not tensor.array for tensor in tensors)
    flags = ", ".join(str(flag).lower() for flag in (is_map, operator.name in VARIED))
    words = f'"{roles}", "{layouts(operator)}", "{over}", {len(tensors)}'
    return f"    {{{words}, {flags}}},  // {operator.name}\n"


# ---- Functions ----------------------------------------------------------------------------------


def _source(headers: tuple[Header, ...]) -> str:
    parts, namespace = [], ""
    for header in headers:
        for function in header.functions:
            if function.full_name in BY_HAND:
                continue
            if header.namespace != namespace:
                parts.append(f"}}  // namespace {namespace}\n" if namespace else "")
                namespace = header.namespace
                parts.append(f"namespace {namespace} {{\n\nusing namespace detail;\n")
            parts.append(_definition(function, header))
    includes = "".join(f'#include "infinicore/ops/{header.path}.hpp"\n' for header in headers)
    body = "\n".join(part for part in parts if part)
    return f"""\
// {text.NOTE}
{includes}
#include "call.h"
#include "call_arguments.h"

{body}
}}  // namespace {namespace}"""


def _definition(function: Function, header: Header) -> str:
    arguments = [argument.declare(False) for argument in function.arguments]
    base = function.name.rstrip("_")
    if reason := REFUSED.get(function.full_name, REFUSED.get(base, "")):
        arguments = [argument.type for argument in function.arguments]
        lines = [f'refuse("{function.full_name}", "{reason}");']
    elif forwarded := _same_work(function, header):
        names = ", ".join(argument.name for argument in function.arguments)
        lines = [f"{forwarded}({names});"]
    else:
        lines = Call(function, header).lines()
    head = text.call(f"{function.result} {function.full_name}", arguments, " {")
    return head + "".join(f"\n{line}" for line in _indented(lines)) + "\n}\n"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _same_work(function: Function, header: Header) -> str:
    """The function that a static member implements."""
    if not function.owner:
        return ""
    same = [f.name for f in header.functions if not f.owner and f.types == function.types]
    # A header with several owners has functions of one type for each: Send and Recv.
    own = [name for name in same if name.replace("_", "") == function.owner.lower()]
    same = own or same
    same = [name for name in same if name.endswith("_") or len(same) == 1]
    if function.result == "void" and len(same) == 1:
        return same[0]
    return ""


class Call:
    """A function as a call of one operator."""

    def __init__(self, function: Function, header: Header):
        self.function = function
        base = function.name.rstrip("_")
        if function.owner:
            base = next((f.name for f in header.functions if not f.owner), header.path)
        name = OPERATORS.get(function.name, OPERATORS.get(base, base))
        if name not in BY_NAME:
            raise DeclarationError(f"{function.full_name}: no operator is called {name}")
        self.operator = BY_NAME[name]
        self.face = Face(self.operator)
        self.before: list[str] = []  # statements
        self.sources: dict[str, str] = {}  # argument -> what of the operator it is for
        outputs = [t for t in self.operator.tensors if self._is_output(t.name) and not t.optional]
        self.results = [t.name for t in outputs] if function.returned else []
        if function.returned != len(self.results):
            raise DeclarationError(
                f"{function.full_name}: it returns {function.returned} tensors, {name} has"
                f" {len(self.results)} results"
            )
        # An optional tensor is not absent here if another overload has a number for it.
        self._numbers_elsewhere = {
            argument.name
            for other in header.functions
            if other.full_name == function.full_name
            for argument in other.arguments
            if not argument.is_tensor
        }
        self.tensors = self._match_tensors()
        self.values = self._match_values()

    def _is_output(self, name: str) -> bool:
        return any(slot.name == name for slot in self.face.outputs)

    # ---- Matching -------------------------------------------------------------------------------

    def _match_tensors(self) -> dict[str, str]:
        """Tensors of the operator, bare pointers among them -> arguments."""
        wanted: dict[str, tuple[str, ...]] = {}  # tensor -> names that it goes by
        optional = set()
        for tensor in self.operator.tensors:
            pointers = [p.name for p in self.face.run.pointers if p.tensor == tensor.name]
            wanted[tensor.name] = (tensor.name, *pointers)
            optional |= {tensor.name} if tensor.optional else set()
        for pointer in self.face.run.pointers:
            if not pointer.tensor:
                wanted[pointer.name] = (pointer.name,)
                optional |= {pointer.name} if pointer.optional else set()
        found = {name: f"Given::result({_local(name)})" for name in self.results}
        given = [argument for argument in self.function.arguments if argument.is_tensor]
        left = list(given)
        for name in list(wanted):
            expression = self._told(TENSORS, name)
            if expression in [argument.name for argument in given]:
                found[name] = expression
                left = [a for a in left if a.name != expression]
        for argument in list(left):
            name = next((n for n, known in wanted.items() if argument.name in known), "")
            if name and name not in found:
                found[name] = argument.name
                left.remove(argument)
        open_ = [name for name in wanted if name not in found]
        if len(open_) != len(left):
            open_ = [name for name in open_ if name not in optional]
        if len(open_) != len(left):
            self._fail("tensors", open_, left)
        for name, argument in zip(open_, left, strict=True):
            found[name] = argument.name
        self.sources |= {argument: name for name, argument in found.items()}
        return found

    def _match_values(self) -> dict[str, str]:
        wanted = [*self.operator.attributes, *self.face.scalars]
        counted = {p.name for p in wanted if p.name in self.face.derived}
        wanted = [param for param in wanted if param.name not in counted]
        left = [argument for argument in self.function.arguments if not argument.is_tensor]
        found = {}
        for param in wanted:
            told = self._told(VALUES, param.name)
            if told is not None:
                found[param.name] = self._from(param, told)
                self.sources[param.name] = param.name
                left = [a for a in left if a.name != param.name]
            elif argument := next((a for a in left if a.name == param.name), None):
                found[param.name] = self._value(param, argument)
                left.remove(argument)
        open_ = [param for param in wanted if param.name not in found]
        if len(open_) != len(left):
            for param in list(open_):
                if default := self.face._default(param):
                    found[param.name] = self._preset(param, default)
                    open_.remove(param)
        if len(open_) != len(left):
            self._fail("values", [param.name for param in open_], left)
        for param, argument in zip(open_, left, strict=True):
            found[param.name] = self._value(param, argument)
        for length, (sources, each) in self.face.derived.items():
            name = sources[0]
            size = f"{self._list_name(name)}.size()"
            found[length] = f"integer(int64_t({size}{f' * {each}' if each > 1 else ''}))"
        return found

    def _told(self, table: dict[str, str], name: str) -> str | None:
        function = self.function.full_name
        return table.get(f"{function}.{name}", table.get(f"{self.operator.name}.{name}"))

    def _fail(self, what: str, wanted: list[str], given: list[Argument]) -> None:
        names = ", ".join(argument.name for argument in given)
        raise DeclarationError(
            f"{self.function.full_name}: {what} of {self.operator.name} that no argument is for:"
            f" {', '.join(wanted) or 'none'}; arguments left: {names or 'none'}"
        )

    # ---- Values ---------------------------------------------------------------------------------

    def _from(self, param: Param, expression: str) -> str:
        return f"{'number' if letter(param) == 'f' else 'integer'}({expression})"

    def _value(self, param: Param, argument: Argument) -> str:
        kind, name = letter(param), argument.name
        self.sources[name] = param.name
        if param.length:
            return self._list(kind, param, argument)
        if kind == "s":
            return f"text({name})"
        if argument.plain == "std::string":
            return f'integer(reduction_of("{self.function.full_name}", {name}))'
        if kind == "f":
            return f"number({name})"
        if param.name in ("dim", "axis") and argument.plain != "size_t":
            return f"integer(from_front({name}, {self._first()}))"
        return f"integer(int64_t({name}))"

    def _list(self, kind: str, param: Param, argument: Argument) -> str:
        name = argument.name
        entry = argument.plain.removeprefix("std::vector<").removesuffix(">")
        if param.name == "dim" and entry == "size_t":
            self.before.append(f"const auto {name}_of = dims_or_all({name}, {self._first()});")
            self.lists[param.name] = f"{name}_of"
        elif SAME_BYTES.get(entry, entry) != LIST_TYPES[kind]:
            self.before.append(
                f"const std::vector<{LIST_TYPES[kind]}> {name}_of({name}.begin(), {name}.end());"
            )
            self.lists[param.name] = f"{name}_of"
        else:
            self.lists[param.name] = name
        return f"list({self.lists[param.name]})"

    @property
    def lists(self) -> dict[str, str]:
        if not hasattr(self, "_lists"):
            self._lists: dict[str, str] = {}
        return self._lists

    def _list_name(self, name: str) -> str:
        return self.lists.get(name) or self.tensors.get(name.removesuffix("_"), name)

    def _first(self) -> str:
        """The first tensor that is read."""
        slot = self.face.inputs[0]
        return self.tensors.get(slot.name, self.tensors.get(slot.name.removesuffix("_"), ""))

    def _preset(self, param: Param, default: str) -> str:
        value = ast.literal_eval(default)
        if value is None:
            return "GivenValue{}"
        if isinstance(value, str) and (words := self.face.words(param)):
            value = words[value]
        if isinstance(value, str):
            raise DeclarationError(f"{self.function.full_name}: {param.name} has no argument")
        return self._from(param, repr(float(value)) if letter(param) == "f" else str(int(value)))

    # ---- The body -------------------------------------------------------------------------------

    def needed(self) -> list[str]:
        """Arguments that have to hold a tensor."""
        optional = {t.name for t in self.operator.tensors if t.optional}
        optional |= {p.name for p in self.face.run.pointers if not p.tensor and p.optional}
        used = {argument for name, argument in self.tensors.items() if name not in optional}
        used |= self._numbers_elsewhere
        return [a.name for a in self.function.arguments if a.plain == "Tensor" and a.name in used]

    def lines(self) -> list[str]:
        operator, run = self.operator, self.face.run
        needed = ", ".join(f'{{"{name}", {name}}}' for name in self.needed())
        lines = [f'need_tensors("{self.function.full_name}", {{{needed}}});'] if needed else []
        lines += [f"Tensor {_local(name)};" for name in self.results] + self.before
        tensors = [self.tensors.get(tensor.name, "Given()") for tensor in operator.tensors]
        lines.append(text.call_list("const Given tensors[] =", tensors))
        given = [f"{INDEX[operator.name]} /* {operator.name} */", "0", "tensors"]
        attributes = [self.values[param.name] for param in operator.attributes]
        letters = scalar_letters(operator, run)
        scalars = [
            "GivenValue{}" if kind == "-" else self.values[param.name]
            for kind, param in zip(letters, run.scalars, strict=True)
        ]
        bare = [self.tensors.get(p.name, "Given()") for p in run.pointers if not p.tensor]
        for name, items, kind in (
            ("attributes", attributes, "GivenValue"),
            ("scalars", scalars, "GivenValue"),
            ("bare", bare, "Given"),
        ):
            if items:
                lines.append(text.call_list(f"const {kind} {name}[] =", items))
            given.append(name if items else "nullptr")
        while given[-1] == "nullptr":
            given.pop()
        lines.append(f"call({', '.join(given)});")
        if self.function.returned == 1:
            lines.append(f"return {_local(self.results[0])};")
        elif self.function.returned:
            lines.append(f"return {{{', '.join(map(_local, self.results))}}};")
        return lines


def _local(name: str) -> str:
    return f"made_{name}"
