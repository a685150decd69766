"""Types of the package for checkers and editors: the names of `infinicore`, and its functions as
methods of `Tensor`. Read off the sources of the functions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from .. import Api, First
from . import text

PART = "python"

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "infinicore"
CORE = ROOT / "csrc" / "core_python" / "_core.pyi"
MARK = "    # Functions that are methods: added by the build.\n"

# Methods are called int, float and bool too, and would hide the types in what follows them.
BUILTIN = """
_bool: TypeAlias = bool
_float: TypeAlias = float
_int: TypeAlias = int
"""

SELF = ("input", "self", "x")  # as infinicore._namespace has it
# Names that annotations may use in the stub; anything else is Any there.
KNOWN = {"Any", "Tensor", "Operand", "Sequence", "int", "float", "bool", "str", "None", "tuple"}
KNOWN |= {"list", "dtype", "device", "Size", "object", "Iterator"}


@dataclass
class Found:
    module: str
    name: str
    node: ast.FunctionDef | None


def files(api: Api, first: First) -> dict[str, str]:
    found = exports()
    if not CORE.exists():
        return {}
    return {
        "python/infinicore/__init__.pyi": _package(found),
        "python/infinicore/_core.pyi": _core(found),
    }


def exports() -> list[Found]:
    """The public names of the package with their definitions, in the order of collection."""
    parts = _parts()
    folders = (PACKAGE / "functions", PACKAGE / "nn" / "functional")
    inner = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    paths = [path for path in inner if path.stem[0] != "_"]
    paths += [PACKAGE / f"{name}.py" for name in parts]
    found: list[Found] = []
    for path in paths:
        if not path.exists():
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        inside = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(("infinicore", *inside))
        known = {each.name for each in found}
        found += [
            Found(module, name, functions.get(name)) for name in _public(tree) if name not in known
        ]
    return found


def _parts() -> list[str]:
    tree = ast.parse((PACKAGE / "_namespace.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_PARTS":
            return list(ast.literal_eval(node.value))
    raise ValueError("_namespace.py has no _PARTS")


def _public(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = list(ast.literal_eval(node.value))
        elif isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") == "__all__":
            names += ast.literal_eval(node.value)
    return names


# ---- The package --------------------------------------------------------------------------------


def _package(found: list[Found]) -> str:
    types = ast.parse((PACKAGE / "_dtype.py").read_text(encoding="utf-8"))
    dtypes = [
        node.targets[0].id
        for node in types.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "dtype"
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
    lines += [f"from {each.module} import {each.name} as {each.name}" for each in found]
    modules = "\n".join(
        f"from infinicore import {name} as {name}" for name in ("context", "nn", "op", "rt", "utils")
    )
    aliases = _aliases(types)
    body = "\n".join(dict.fromkeys(lines))
    return f'''\
"""All names of the package. {text.NOTE}"""

{modules}
{body}

{aliases}
__version__: str'''


def _aliases(types: ast.Module) -> str:
    for node in types.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "ALIASES":
            assert isinstance(node.value, ast.Dict)
            return "".join(
                f"{ast.literal_eval(key)}: dtype\n" for key in node.value.keys if key is not None
            )
    return ""


# ---- Methods ------------------------------------------------------------------------------------


def _core(found: list[Found]) -> str:
    stub = CORE.read_text(encoding="utf-8") + BUILTIN
    own = set()
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ClassDef) and node.name == "Tensor":
            own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    methods = [
        _method(each.node)
        for each in found
        if each.node is not None and each.name not in own and _first(each.node) in SELF
    ]
    return stub.replace(MARK, "".join(dict.fromkeys(methods)))


def _first(node: ast.FunctionDef) -> str:
    names = [*node.args.posonlyargs, *node.args.args]
    return names[0].arg if names else ""


def _method(node: ast.FunctionDef) -> str:
    arguments = node.args
    words = ["self"]
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in list(zip(plain, defaults, strict=True))[1:]:
        words.append(_word(argument, default is not None))
    if arguments.vararg:
        words.append("*" + _word(arguments.vararg, False))
    has_out = any(argument.arg == "out" for argument in arguments.kwonlyargs + plain)
    traced = any(getattr(d, "id", "") == "function" for d in node.decorator_list)
    if (arguments.kwonlyargs or (traced and not has_out)) and not arguments.vararg:
        words.append("*")
    for argument, preset in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        words.append(_word(argument, preset is not None))
    if traced and not has_out:
        words.append("out: Any = ...")
    returns = _annotation(node.returns)
    return f"    def {node.name}({', '.join(words)}) -> {returns}: ...\n"


def _word(argument: ast.arg, has_default: bool) -> str:
    return f"{argument.arg}: {_annotation(argument.annotation)}" + (" = ..." if has_default else "")


def _annotation(node: ast.expr | None) -> str:
    if node is None:
        return "Any"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return "Any"
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id in ("int", "float", "bool"):
            each.id = f"_{each.id}"
    attributes = any(isinstance(each, ast.Attribute) for each in ast.walk(node))
    return ast.unparse(node) if names <= KNOWN and not attributes else "Any"
