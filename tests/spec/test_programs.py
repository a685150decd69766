"""Programs are data: their nodes compute the definitions, and no code parses the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec.generate.programs import compiled_functors
from spec.operators import OPERATORS
from spec.operators.language.expression import FUNCTIONS, nextafter
from spec.operators.language.nodes import COPY, COPYING, OPS, Expression, FlatNode
from spec.operators.language.trace import Program, programs

ROOT = Path(__file__).resolve().parents[2]
FOUND = [program for operator in OPERATORS for program in programs(operator)]
EXPRESSIONS = {entry.name: entry.expression for entry in compiled_functors(FOUND).values()}

# The numbers of InfiniNodeOp that back ends were built with: new ones are added at the end.
FIRST_OPS = """
    input constant where nextafter add sub mul div floordiv mod neg rshift lshift bitand bitor
    bitxor bitnot less less_equal equal both either differ negate absolute sqrt exp exp2 expm1 log
    log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc
    erfinv digamma lgamma floor ceil trunc nearest mantissa exponent power fmod maximum minimum
    fmax fmin hypot copysign gcd lcm isnan isinf signbit rsqrt one_plus_erf
"""


def test_numbers_of_operations_stay() -> None:
    known = tuple(FIRST_OPS.split())
    assert OPS[: len(known)] == known


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_nodes_are_in_order(name: str) -> None:
    expression = EXPRESSIONS[name]
    inputs = [node.args[0] for node in expression.nodes if node.op == "input"]
    assert inputs == list(range(expression.inputs))
    for number, node in enumerate(expression.nodes):
        assert node.op in OPS
        assert node.op == "input" or all(arg < number for arg in node.args)
        assert len(node.args) <= 3
        if node.op == "constant":  # as InfiniNode holds it
            assert float(node.value) == node.value


def evaluate(expression: Expression, inputs: list[Any]) -> list[Any]:
    """Evaluates the nodes as a plain back end would."""
    values: list[Any] = []
    for op, args, constant in expression.nodes:
        given = [] if op == "input" else [values[arg] for arg in args]
        if op == "input":
            values.append(inputs[args[0]])
        elif op == "constant":
            values.append(constant)
        elif op == "where":
            values.append(np.where(np.asarray(given[0]) != 0, *given[1:]))
        elif op == "nextafter":
            values.append(nextafter(*given, dtype="F64"))
        else:
            values.append(FUNCTIONS[op].compute(*given))
    return [values[result] for result in expression.results]


def simple(program: Program) -> bool:
    """One stage that maps tensors and plain numbers of floats."""
    kinds = {operand.kind for operand in program.operands}
    views = {operand.view for operand in program.operands}
    return (
        len(program.stages) == 1
        and program.phases == [("none", 0)]
        and kinds <= {"tensor", "attribute", "scalar"}
        and views == {"plain"}
        and not program.cases
        and "double" in program.types
        and bool(program.operator.inputs)
        and not any(op.startswith("bit") for op in program.stages[0].expression.functions)
    )


MAPS = [program for program in FOUND if simple(program)]


def test_most_maps_are_simple() -> None:
    assert len(MAPS) > 70


@pytest.mark.parametrize(
    "program", MAPS, ids=lambda p: "-".join([p.operator.name, *sorted(p.present)])
)
def test_nodes_compute_the_definition(program: Program) -> None:
    operator, stage = program.operator, program.stages[0]
    rng = np.random.default_rng(0)
    tensors: dict[str, Any] = {
        tensor.name: rng.uniform(0.1, 0.9, 40) if not tensor.optional or here else None
        for tensor in operator.inputs
        for here in [tensor.name in program.present]
    }
    attributes = {param.name: rng.integers(1, 3) for param in operator.attributes}
    scalars = {param.name: rng.integers(1, 3) for param in operator.run.scalars}

    def operand(number: int) -> Any:
        kind, index = program.operands[number].kind, program.operands[number].index
        if kind == "tensor":
            return tensors[operator.tensors[index].name]
        params = operator.attributes if kind == "attribute" else operator.run.scalars
        return (attributes | scalars)[params[index].name]

    given: dict[str, Any] = {**tensors, **attributes, **scalars}
    given["shapes"] = {tensor.name: (40,) for tensor in operator.tensors}
    given["dtypes"] = {tensor.name: "F64" for tensor in operator.tensors}
    wanted = operator.definition.__code__
    names = wanted.co_varnames[: wanted.co_argcount + wanted.co_kwonlyargcount]
    expected = operator.definition(**{name: given[name] for name in names})
    expected = [*expected] if isinstance(expected, tuple) else [expected]
    expected = [each for each in expected if each is not None]
    made = evaluate(stage.expression, [operand(number) for number in stage.inputs])
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(np.broadcast_to(one, 40), other, rtol=1e-12)


def test_flags() -> None:
    assert COPYING.flags == COPY
    twice = Expression((FlatNode("input", (0,)), FlatNode("add", (0, 0))), (1,), 0)
    assert not twice.flags
    compared = Expression((*twice.nodes, FlatNode("less", (0, 1))), (1, 2), 0)
    assert compared.truths == 0b10
    assert not compared.flags


# ---- The text is for compilers ------------------------------------------------------------------

SEARCH = r"\b(?:strstr|strcspn|strncmp|regex\w*|sscanf)\s*\(|\.r?find\w*\(|\.replace\("
# The code that inserts a functor's source into a kernel, and that forwards it.
HANDLING = {"backends/cuda/kernels/program/text.cc", "csrc/operators/fuse.cc"}
FRAGMENT = r'"(?:[^"\\]|\\.)*(?:\bconst V |[xy]\[\d|number<V>|constant<V>|kCost|kShared)'


def sources() -> Iterator[Path]:
    for folder in ("csrc", "backends", "python"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".h", ".hpp", ".cc", ".cpp", ".py"}:
                yield path


def problems(name: str, text: str) -> Iterator[str]:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    stages = {"stage", "stages", *re.findall(r"\bInfiniStage\s*[&*]?\s*(\w+)\s*[;=,){(]", text)}
    source = rf"\b(?:{'|'.join(sorted(stages))})(?:\[[^\]]*\])?(?:\.|->)source\b"
    if re.search(source, text):
        if name not in HANDLING:
            yield "reads a functor's source"
        for found in re.finditer(SEARCH, text):
            yield f"searches where it has a functor's source: {found[0]}"
    for statement in re.split(r"[;{}]", text):
        if re.search(SEARCH, statement) and re.search(FRAGMENT, statement):
            yield f"searches for the text of a functor: {' '.join(statement.split())}"


def test_nobody_searches_the_text_of_functors() -> None:
    wrong = [
        f"{name}: {problem}"
        for path in sources()
        for name in [str(path.relative_to(ROOT))]
        for problem in problems(name, path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        'bool is_copy(const InfiniStage &s) { return std::strstr(s.source, "y[0] = x[0];"); }',
        'int cost = std::atoi(std::strstr(program.stages[s].source, "kCost = ") + 8);',
        "std::string text = stage.source; text.replace(text.find(name), 3, other);",
        'std::regex_search(text, std::regex("const V t0 = add"));',
        'at = source.find("number<V>(");',
    ],
)
def test_searches_are_found(text: str) -> None:
    assert list(problems("backends/cuda/kernels/program/text.cc", text))
