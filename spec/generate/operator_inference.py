"""Tables from which the core infers results: declared shapes, dtypes, and their expressions.

See csrc/core/infer.h for what the entries mean.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.model import DTYPES, DeclarationError, Operator, Tensor
from . import text
from .operator_checks import Rules, Translator
from .operator_face import RESULTS, Face

PART = "c"
# Functions of csrc/core/infer.h that `sizes` may name.
NUMBERS = ("conv_size", "pool_size")
LISTS = (
    "conv_sizes",
    "conv_transpose_sizes",
    "padded_sizes",
    "pool_sizes",
    "products",
    "replaced",
    "scaled_sizes",
)


def files(api: Api, first: First) -> dict[str, str]:
    return {"src/core/inference.cc": _file()}


def _file() -> str:
    tables = [Table(operator) for operator in OPERATORS]
    bodies = "\n".join(table.text() for table in tables)
    rows = "".join(f"    {table.row()},\n" for table in tables)
    return f"""\
// What the declarations say about results. {text.NOTE}
#include <algorithm>
#include <cmath>

#include "infer.h"

namespace infinicore::detail {{
namespace {{

using infini::floor_divide, infini::minus, infini::modulo, infini::plus, infini::times;
using infini::product, infini::size_at;
using Symbol = Inference::Symbol;
using Sizes = Inference::Sizes;

{bodies}
}}  // namespace

const InferenceRules kInferenceRules[] = {{
{rows}}};

}}  // namespace infinicore::detail"""


def _letters(numbers: Sequence[int]) -> str:
    if any(number >= 58 for number in numbers):
        raise DeclarationError("too many expressions or tensors for a letter each")
    return "".join(chr(ord("A") + number) for number in numbers)


class SizeTranslator(Translator):
    """Expressions of `sizes`: numbers, or lists of them."""

    def Name(self, node: ast.Name) -> str:
        scalars = [scalar.name for scalar in self.rules.operator.run.scalars]
        known = node.id in self.rules.symbols or node.id in self.rules.attributes
        if not known and node.id in scalars:
            return f"c.scalar({scalars.index(node.id)})"
        return super().Name(node)

    def Call(self, node: ast.Call) -> str:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in NUMBERS or name in LISTS:
            return f"{name}({', '.join(map(self.argument, node.args))})"
        if name == "total" and isinstance(node.args[0], ast.Name):
            return f"c.total({self.rules.tensors[node.args[0].id]}, {self(node.args[1])})"
        return super().Call(node)

    def argument(self, node: ast.expr) -> str:
        rules = self.rules
        if isinstance(node, ast.Tuple) and not node.elts:
            return "Dims{}"
        if isinstance(node, ast.Name) and node.id in rules.sizes:
            self._note(self.symbols, node.id)
            return f"l_{node.id}.values"
        if isinstance(node, ast.Name) and rules.kinds.get(node.id) in ("list", "numbers"):
            what = "integers" if rules.kinds[node.id] == "list" else "numbers"
            return f"c.{what}({rules.attributes[node.id]})"
        if isinstance(node, ast.BinOp) and self.is_list(node):
            return f"{self.argument(node.left)} + {self.argument(node.right)}"
        return self(node)

    def is_list(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.Add) and self.is_list(node.left)
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in LISTS
        return isinstance(node, ast.Name) and (
            node.id in self.rules.sizes or self.rules.kinds.get(node.id) in ("list", "numbers")
        )


class Table:
    def __init__(self, operator: Operator):
        self.operator = operator
        self.rules = Rules(operator)
        self.symbols = list(self.rules.symbols)
        self.lists = list(self.rules.sizes)
        self.expressions: list[str] = []
        self.face = Face(operator)
        self.tensors = {tensor.name: tensor for tensor in operator.tensors}

    # ---- Expressions ----------------------------------------------------------------------------

    def expression(self, source: str) -> int:
        if source not in self.expressions:
            self.expressions.append(source)
        return self.expressions.index(source)

    def _cases(self) -> Iterator[tuple[int, bool, str, str]]:
        """Number, whether it is a list, C++ for it, what it needs."""
        for number, source in enumerate(self.expressions):
            translate = SizeTranslator(self.rules)
            node = ast.parse(source, mode="eval").body
            is_list = translate.is_list(node)
            value = translate.argument(node) if is_list else translate(node)
            used = [name for name in translate.symbols if name in self.symbols]
            lists = [name for name in translate.symbols if name in self.lists]
            declared = [f"const Symbol &s_{n} = c.symbol({self.symbols.index(n)});" for n in used]
            declared += [f"const Sizes &l_{n} = c.list({self.lists.index(n)});" for n in lists]
            needs = (
                f"{{{sum(1 << self.symbols.index(n) for n in used):#x},"
                f" {sum(1 << self.lists.index(n) for n in lists):#x}}}"
            )
            yield number, is_list, " ".join([*declared, f"return {value};"]), needs

    # ---- Tables ---------------------------------------------------------------------------------

    def _size(self, size: str) -> str:
        if size[0] in "*~":
            return f"{{'{size[0]}', {self.lists.index(size[1:])}}}"
        if size[0] in "-/":
            return f"{{'{size[0]}', {self.rules.attributes[size[1:]]}}}"
        if size in self.symbols:
            return f"{{'s', {self.symbols.index(size)}}}"
        return f"{{'=', {self.expression(size)}}}"

    def _together(self) -> list[int]:
        """Lists that several inputs have for a shape: these broadcast."""
        counts = [
            sum(
                t.shapes == ((f"*{name}",),) and not t.array and self._is_input(t)
                for t in self.operator.tensors
            )
            for name in self.lists
        ]
        return [i for i, count in enumerate(counts) if count > 1]

    def _is_input(self, tensor: Tensor) -> bool:
        return tensor.role == "in" and not self.face.is_added_to(tensor.name)

    def _is_result(self, tensor: Tensor) -> bool:
        return tensor.role == "out" or self.face.is_added_to(tensor.name)

    def _equations(self) -> list[int]:
        found = []
        for condition in self.operator.where:
            left, equal, right = condition.partition(" == ")
            if equal and " or " not in condition and "(" not in condition:
                found.append(self.expression(f"({left}) - ({right})"))
        return found

    def _same_dtype(self, tensor: Tensor) -> tuple[list[str], Tensor]:
        """Tensors with the same dtype, in the order in which they are queried, and the one whose
        declaration has the rest."""
        tied = [t for t in self.operator.tensors if t.same_as == tensor.name]
        needed = [t.name for t in tied if t.role == "in" and not t.optional][:1]
        if not tensor.same_as:
            return [*needed, *(t.name for t in tied if t.name not in needed)], tensor
        root = self.tensors[tensor.same_as]
        names, last = self._same_dtype(root)
        names = [name for name in names if name != tensor.name]
        return [*needed, root.name, *(name for name in names if name not in needed)], last

    def _tensor(self, index: int, tensor: Tensor, shapes: str) -> str:
        names, root = self._same_dtype(tensor)
        order = [self.rules.tensors[name] for name in names]
        asked = len(tensor.shapes) > 1 and self._is_result(tensor)
        conditions = [
            self.expression(condition)
            for condition in self.operator.where
            if asked and f"rank({tensor.name})" in condition
        ]
        mask = sum(1 << DTYPES.index(dtype) for dtype in root.dtypes)
        flags = (self._is_result(tensor), tensor.optional, bool(tensor.array))
        return (
            f'{{"{tensor.name}", {index}, {", ".join(str(f).lower() for f in flags)}, {shapes},'
            f' {len(tensor.shapes)}, "{_letters(conditions)}", "{_letters(order)}",'
            f" {self.rules.tensors[root.sum_of] if root.sum_of else -1}, {mask:#x}}}"
        )

    def _bare(self) -> Iterator[tuple[str, str]]:
        """Results without a descriptor: their shapes and rows."""
        for slot in self.face.outputs:
            if slot.place < len(self.operator.tensors):
                continue
            if slot.name not in (known := RESULTS.get(self.operator.name, {})):
                continue
            dtype, sizes = known[slot.name]
            name = f"shapes_{self.operator.c_name}_{slot.name}"
            entries = ", ".join(map(self._size, sizes))
            shape = f"const DeclaredSize sizes_{name}[] = {{{entries}}};\n"
            shape += f"const DeclaredShape {name}[] = {{{{sizes_{name}, {len(sizes)}}}}};\n"
            yield (
                shape,
                f'{{"{slot.name}", {slot.place}, true, false, false, {name}, 1, "", "", -1,'
                f" {1 << DTYPES.index(dtype):#x}}}",
            )

    def _shapes(self, index: int, tensor: Tensor) -> tuple[str, str]:
        """Tables of the alternatives, and the name of the last one."""
        prefix, made, alternatives = f"{self.operator.c_name}_{index}", "", []
        for number, shape in enumerate(tensor.shapes):
            name = f"sizes_{prefix}_{number}"
            if shape:
                entries = ", ".join(map(self._size, shape))
                made += f"const DeclaredSize {name}[] = {{{entries}}};\n"
            alternatives.append(f"{{{name if shape else 'nullptr'}, {len(shape)}}}")
        made += f"const DeclaredShape shapes_{prefix}[] = {{{', '.join(alternatives)}}};\n"
        return made, f"shapes_{prefix}"

    def text(self) -> str:
        name, parts, rows = self.operator.c_name, [], []
        for index, tensor in enumerate(self.operator.tensors):
            made, shapes = self._shapes(index, tensor)
            parts.append(made)
            rows.append(self._tensor(index, tensor, shapes))
        for made, row in self._bare():
            parts.append(made)
            rows.append(row)
        parts.append(
            f"const DeclaredTensor tensors_{name}[] = {{\n"
            + "".join(f"    {row},\n" for row in rows)
            + "};\n"
        )
        for kind, names in (("symbols", self.symbols), ("lists", [f"*{n}" for n in self.lists])):
            if names:
                listed = ", ".join(f'"{each}"' for each in names)
                parts.append(f"const char *const {kind}_{name}[] = {{{listed}}};\n")
        self.tensor_count = len(rows)
        self.equations = self._equations()
        sizes = self.operator.options.get("sizes", {})
        derived = [self._derived(size, source) for size, source in sizes.items()]
        self.derived_count = len(derived)
        if derived:
            parts.append(f"const DerivedSize derived_{name}[] = {{{', '.join(derived)}}};\n")
        parts.append(self._functions())
        return "".join(parts)

    def _derived(self, size: str, source: str) -> str:
        is_list = size in self.lists
        index = (self.lists if is_list else self.symbols).index(size)
        return f"{{{str(is_list).lower()}, {index}, {self.expression(source)}}}"

    def _functions(self) -> str:
        name, cases = self.operator.c_name, list(self._cases())
        made = ""
        if cases:
            needs = ", ".join(needs for *_, needs in cases)
            made += f"const Needs needs_{name}[] = {{{needs}}};\n"
        self.has = {False: False, True: False}
        for is_list, result, function in ((False, "int64_t", "number"), (True, "Dims", "list")):
            own = [case for case in cases if case[1] == is_list]
            if not own:
                continue
            self.has[is_list] = True
            body = "".join(f"        case {n}: {{ {value} }}\n" for n, _, value, _ in own)
            made += (
                f"{result} {function}_{name}(const Inference &c, int expression) {{\n    (void)c;\n"
                f"    switch (expression) {{\n{body}        default: return {{}};\n    }}\n}}\n"
            )
        return made

    def row(self) -> str:
        name = self.operator.c_name

        def pointer(prefix: str, present: object) -> str:
            return f"{prefix}_{name}" if present else "nullptr"

        return (
            f"{{tensors_{name}, {pointer('symbols', self.symbols)},"
            f" {pointer('lists', self.lists)}, {pointer('needs', self.expressions)},"
            f' "{_letters(self.equations)}", {pointer("derived", self.derived_count)},'
            f' "{_letters(self._together())}", {self.tensor_count}, {len(self.symbols)},'
            f" {len(self.lists)}, {self.derived_count},"
            f" {self.rules.attributes.get('keepdim', -1)}, {pointer('number', self.has[False])},"
            f" {pointer('list', self.has[True])}}}"
        )
