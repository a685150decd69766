"""Types of the package for checkers and editors: the names of `infinicore`, and its functions as
methods of `Tensor`. Derived from the sources of the functions."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from pathlib import Path

from .. import Api, First
from . import functions, text

PART = "python"

MODULES = [
    "array_api",
    "context",
    "fft",
    "linalg",
    "masked",
    "nn",
    "op",
    "rt",
    "signal",
    "special",
    "utils",
]
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "infinicore"
CORE = ROOT / "csrc" / "python" / "core" / "_core.pyi"
MARK = "    def __getattr__(self, name: str) -> Any: ...\n"  # where functions become methods

SELF = ("input", "self", "x")  # as in infinicore._namespace
# Some methods and element types have the names of these types and would hide them: the types have
# aliases in the stubs.
RENAMED = {name: f"_{name}" for name in ("int", "float", "bool", "Operand")}
RENAMED |= {"dtype": "_DType", "dtype_class": "_DType"}
RENAMED |= {"device": "_Device", "device_class": "_Device"}
TYPES = """\
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, overload

from infinicore._device import device as _Device
from infinicore._dtype import dtype as _DType
"""
MEANING = {
    "_int": "builtins.int",
    "_float": "builtins.float",
    "_bool": "builtins.bool",
    "_Operand": "Tensor | builtins.float | builtins.bool",  # an int is accepted as a float
}
PLAIN_DECORATORS = {"function", "with_checked_index"}  # they do not change the parameters
PLAIN = {"Any", "Tensor", "Sequence", "str", "None", "tuple", "list", "dict", "Size", "object"}
PLAIN |= {"Iterator", "Callable"}
OTHER_NAMES = {"dim": "axis", "keepdim": "keepdims"}  # as in infinicore._public


@dataclass
class Found:
    module: str
    name: str
    node: ast.FunctionDef | None
    homes: dict[str, str]  # where the names that its module uses are defined


def files(api: Api, first: First) -> dict[str, str]:
    found = exports()
    if not CORE.exists():
        return {}
    core = _core(found)
    return {
        "python/infinicore/__init__.pyi": _package(found, core),
        "python/infinicore/_core.pyi": core,
        "python/infinicore/nn/functional/__init__.pyi": _functional(),
    }


def exports() -> list[Found]:
    """The public names of the package with their definitions, in the order of collection."""
    return _exports({**modules("functions"), **modules("nn/functional"), **parts()})


def modules(folder: str) -> dict[Path, ast.Module]:
    """The public modules of a folder of the package, including generated ones."""
    made = {PACKAGE / name: source for name, source in functions.sources().items()}
    made |= {path: path.read_text(encoding="utf-8") for path in PACKAGE.glob(f"{folder}/**/*.py")}
    inside = [path for path in sorted(made) if (PACKAGE / folder) in path.parents]
    return {path: ast.parse(made[path]) for path in inside if path.stem[0] != "_"}


def _exports(trees: dict[Path, ast.Module]) -> list[Found]:
    found: dict[str, Found] = {}
    for path, tree in trees.items():
        nodes = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for name in _overloaded(tree):
            del nodes[name]  # they have several types: those of the source
        for other, name in other_names(tree).items():
            if name in nodes:
                nodes[other] = nodes[name]
        inside = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(("infinicore", *inside))
        homes = _homes(tree, module)
        for name in public(tree):
            found.setdefault(name, Found(module, name, nodes.get(name), homes))
    return list(found.values())


def other_names(tree: ast.Module) -> dict[str, str]:
    """Aliases in a module: absolute = abs."""
    found: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(other)], ast.Name(name)):
                found[other] = name
            case ast.Assign([ast.Tuple(others)], ast.Tuple(names)):
                pairs = zip(others, names, strict=False)
                found |= {ast.unparse(other): ast.unparse(name) for other, name in pairs}
    return found


def _overloaded(tree: ast.Module) -> set[str]:
    nodes = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        node.name
        for node in nodes
        if any(getattr(each, "id", "") == "overload" for each in node.decorator_list)
    }


def _homes(tree: ast.Module, module: str) -> dict[str, str]:
    """The module that defines each name of a module."""
    homes: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            homes |= {each.asname or each.name: node.module for each in node.names}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            homes[node.name] = module
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            homes[node.targets[0].id] = module
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            homes[node.target.id] = module
    return homes


def parts() -> dict[Path, ast.Module]:
    """The other modules whose public names are names of the package."""
    tree = ast.parse((PACKAGE / "_namespace.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_PARTS":
            paths = [PACKAGE / f"{name}.py" for name in ast.literal_eval(node.value)]
            return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    raise ValueError("_namespace.py has no _PARTS")


def public(tree: ast.Module) -> list[str]:
    """As in infinicore._modules: the names that the module lists, else the lower-case ones that it
    defines."""
    values: dict[str, list[ast.expr | None]] = {}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                values[name] = []
            case ast.Assign(targets, value):
                found = [each for target in targets for each in ast.walk(target)]
                values |= {each.id: [value] for each in found if isinstance(each, ast.Name)}
            case ast.AnnAssign(ast.Name(name), _, value) | ast.AugAssign(ast.Name(name), _, value):
                values.setdefault(name, []).append(value)
    listed = values.get("__all__", [])
    if not listed or isinstance(listed[0], ast.Call):  # own_names
        return sorted(name for name in values if name[0].islower())
    return [name for value in listed for name in _listed(value)]


def _listed(node: ast.expr | None) -> list[str]:
    """The names in a list; lists of other modules (`*others`) are exported there."""
    items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    return [str(item.value) for item in items if isinstance(item, ast.Constant)]


# ---- The package --------------------------------------------------------------------------------


def _package(found: list[Found], core: str) -> str:
    types = ast.parse((PACKAGE / "_dtype.py").read_text(encoding="utf-8"))
    dtypes = [
        node.targets[0].id
        for node in types.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "_make"
        and node.targets[0].id != "bool_"
    ]
    lines = [f"from infinicore._dtype import {name} as {name}" for name in sorted(dtypes)]
    lines += [
        f"from infinicore._dtype import {name} as {name}"
        for name in ("dtype", "get_default_dtype", "promote_types", "set_default_dtype")
    ]
    lines += [
        "from infinicore._core import Tensor as Tensor",
        "from infinicore._device import Size as Size",
        "from infinicore._device import device as device",
        "from infinicore._emit import result_type as result_type",
        "from infinicore._function import Operand as Operand",
        "from infinicore._function import function as function",
    ]
    lines += [f"from infinicore import {name} as {name}" for name in MODULES]
    body = "\n".join(lines)
    return f'''\
"""All names of the package. {text.NOTE}"""

{TYPES}\
{_imports(found)}
{body}

{_meanings(set())}
{_aliases(types)}
{_definitions(found)}
{_in_place(core, {each.name for each in found})}
def _load_once() -> None: ...
e: _float
inf: _float
nan: _float
newaxis: None
pi: _float
use_ntops: _bool
__version__: str'''


def _functional() -> str:
    inner = _exports(modules("nn/functional"))
    return f'''\
"""Functions of neural networks. {text.NOTE}"""

{TYPES}\
from infinicore._core import Tensor
from infinicore._device import Size
{_imports(inner)}
{_meanings(set())}
{_definitions(inner)}'''


def _meanings(known: set[str]) -> str:
    rows = [(name, meaning) for name, meaning in MEANING.items() if name not in known]
    return "".join(f"{name}: TypeAlias = {meaning}\n" for name, meaning in rows)


def _imports(found: list[Found]) -> str:
    """Imports that the annotations of functions need."""
    needed: dict[str, str] = {}
    for each in found:
        if each.node is not None:
            needed |= {name: each.homes[name] for name in _foreign(each.node, each.homes)}
    return "".join(
        f"from {module} import {name} as _{name}\n" for name, module in sorted(needed.items())
    )


def _definitions(found: list[Found]) -> str:
    lines = []
    for each in found:
        # The type of a context manager, for example, comes from the decorator; of other values,
        # from the value.
        decorators = [ast.unparse(one) for one in each.node.decorator_list] if each.node else []
        if each.node is None or not set(decorators) <= PLAIN_DECORATORS:
            lines.append(f"from {each.module} import {each.name} as {each.name}")
        else:
            lines.append(_signatures(each, each.name))
    return "\n".join(lines)


def _aliases(types: ast.Module) -> str:
    for node in types.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "ALIASES":
            assert isinstance(node.value, ast.Dict)
            return "".join(
                f"{ast.literal_eval(key)}: dtype\n" for key in node.value.keys if key is not None
            )
    return ""


def _in_place(core: str, known: set[str]) -> str:
    """In-place methods as functions, as created by infinicore._namespace."""
    (tensor,) = (n for n in ast.parse(core).body if getattr(n, "name", "") == "Tensor")
    assert isinstance(tensor, ast.ClassDef)
    lines = []
    for node in tensor.body:
        name = getattr(node, "name", "_")
        if not isinstance(node, ast.FunctionDef) or name in known or name[0] == "_":
            continue
        if name.endswith("_"):
            node.args.args[0].annotation = ast.Name("Tensor")
            lines.append(ast.unparse(node))
    return "\n".join(lines)


# ---- Methods ------------------------------------------------------------------------------------


def _core(found: list[Found]) -> str:
    stub = CORE.read_text(encoding="utf-8")
    own: set[str] = set()
    known: set[str] = set()
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ClassDef) and node.name == "Tensor":
            own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            known.add(node.target.id)
    methods = [
        each
        for each in found
        if each.node is not None and each.name not in own and _first(each.node) in SELF
    ]
    if MARK not in stub:
        raise ValueError(f"{CORE.name} has no line {MARK.strip()!r}")
    own |= {each.name for each in methods}
    lines = []
    for each in methods:
        lines.append(_signatures(each, each.name, method=True))
        if _traced(each) and f"{each.name}_" not in own:
            lines.append(_signatures(each, f"{each.name}_", method=True))
    body = "".join(textwrap.indent(f"{line}\n", "    ") for line in dict.fromkeys(lines))
    return f"{stub.replace(MARK, body)}\n{TYPES}{_imports(methods)}{_meanings(known)}"


def _first(node: ast.FunctionDef) -> str:
    names = [*node.args.posonlyargs, *node.args.args]
    return names[0].arg if names else ""


# ---- Functions ----------------------------------------------------------------------------------


def _signatures(each: Found, name: str, *, method: bool = False) -> str:
    """With torch's parameter names, and with NumPy's where they differ."""
    assert each.node is not None
    usual = _signature(each, name, method, {})
    named = {one.arg for one in [*each.node.args.args, *each.node.args.kwonlyargs]}
    if not named & set(OTHER_NAMES):
        return usual
    return f"@overload\n{usual}\n@overload\n{_signature(each, name, method, OTHER_NAMES)}"


def _signature(each: Found, name: str, method: bool, others: dict[str, str]) -> str:
    """With `others`, the parameters from the first renamed one on are keywords, and that one is
    required: otherwise type checkers report overlapping overloads."""
    assert each.node is not None
    arguments, homes = each.node.args, each.homes
    plain = [*arguments.posonlyargs, *arguments.args]
    presets = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = list(zip(plain, presets, strict=True))[1 if method else 0 :]
    named = list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    if others and not arguments.vararg:
        cut = next((i for i, (one, _) in enumerate(pairs) if one.arg in others), len(pairs))
        pairs, named = pairs[:cut], [*pairs[cut:], *named]
    words = ["self"] if method else []
    words += [_word(one, preset, homes) for one, preset in pairs]
    adds_out = _traced(each) and all(one.arg != "out" for one in arguments.kwonlyargs + plain)
    adds_out &= ast.unparse(each.node.returns or ast.Constant(...)) != "None"
    if arguments.vararg:
        words.append("*" + _word(arguments.vararg, None, homes))
    elif named or adds_out:
        words.append("*")
    needed = next((one for one, _ in named if one.arg in others), None)
    for one, preset in named:
        word = _word(one, None if one is needed else preset, homes)
        words.append(word.replace(one.arg, others.get(one.arg, one.arg), 1))
    if adds_out:
        words.append("out: Any = None")
    if arguments.kwarg:
        words.append("**" + _word(arguments.kwarg, None, homes))
    return f"def {name}({', '.join(words)}) -> {_annotation(each.node.returns, homes)}: ..."


def _traced(each: Found) -> bool:
    decorators = each.node.decorator_list if each.node else []
    return any(getattr(one, "id", "") == "function" for one in decorators)


def _word(argument: ast.arg, preset: ast.expr | None, homes: dict[str, str]) -> str:
    word = f"{argument.arg}: {_annotation(argument.annotation, homes)}"
    if preset is None:
        return word
    simple = isinstance(preset, (ast.Constant, ast.UnaryOp))
    return f"{word} = {ast.unparse(preset) if simple else '...'}"


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _foreign(node: ast.FunctionDef, homes: dict[str, str]) -> set[str]:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    written = [each.annotation for each in arguments] + [node.returns]
    names = {name for each in written if each is not None for name in _names(each)}
    return {name for name in names if name in homes and name not in {*PLAIN, *RENAMED}}


def _annotation(node: ast.expr | None, homes: dict[str, str]) -> str:
    if node is None or any(isinstance(each, ast.Attribute) for each in ast.walk(node)):
        return "Any"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    if not _names(node) <= {*PLAIN, *RENAMED, *homes}:
        return "Any"
    return ast.unparse(_Renaming(homes).visit(ast.parse(ast.unparse(node), mode="eval")))


class _Renaming(ast.NodeTransformer):
    def __init__(self, homes: dict[str, str]) -> None:
        self.homes = homes

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in RENAMED:
            return ast.Name(RENAMED[node.id])
        if node.id in self.homes and node.id not in PLAIN:
            return ast.Name(f"_{node.id}")
        return node
