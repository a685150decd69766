"""Nothing in the spec is repeated by hand, and the core names no vendor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from repetition import repetitions

from spec import first
from spec.operators import OPERATORS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".h", ".hpp", ".c", ".cc", ".cpp", ".py", ".pyi"}


def sources(*folders: str) -> list[Path]:
    """Hand-written files. Build outputs next to them are in folders that begin with `_`."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    parts = [(path, path.relative_to(ROOT).parts[:-1]) for path in found]
    return sorted(
        path
        for path, folder in parts
        if path.suffix in SOURCES and not any(name.startswith(("_", ".")) for name in folder)
    )


def vendors_in(text: str) -> set[str]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    return {word.lower() for word in words} & (set(first.device_kinds) - {"cpu"})


def test_there_are_sources() -> None:
    assert len(sources("csrc", "include", "backends", "python")) > 10


@pytest.mark.parametrize(
    "path",
    sources("csrc", "include", "backends", "python"),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_repetition(path: Path) -> None:
    assert not list(repetitions(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "text",
    [
        "constexpr int infinirtErrorInvalidValue = 1;",
        "ErrorInvalidValue = 1",
        "enum { INFINI_DEVICE_CPU = 0 };",
        "#define infinirtStreamNonBlocking 0x01",
        "struct infinirtPos { size_t x, y, z; };",
        'extern "C" infinirtError_t infinirtMalloc_v2(void **devPtr, size_t size);',
        "const char *infinirtGetErrorName(infinirtError_t);",
        "names = ['Malloc', 'Free', 'Memcpy', 'Memset', 'SetDevice', 'GetDevice', "
        "'StreamCreate', 'StreamDestroy']",
    ],
)
def test_repetitions_are_found(text: str) -> None:
    assert list(repetitions(text))


@pytest.mark.parametrize(
    "text",
    [
        "if (error == infinirtErrorInvalidValue) return infinirtSuccess;",
        "infinirtError_t Malloc(Call &call, void **devPtr, size_t size);",
        "infinirtError_t error = infinirtMalloc(&memory, 4);",
        "int infinirtGetBackendCount(void);",
        "return infinirtErrorNotReady;",
    ],
)
def test_use_is_no_repetition(text: str) -> None:
    assert not list(repetitions(text))


# The C++ enumeration of devices has the vendors' names, DLPack numbers its devices by them, and one
# quantisation of the C++ interface is called after a vendor.
NAMING = {"csrc/core/types.cc", "csrc/python/core/dlpack_device.cc", "csrc/core/nn/schemes.cc"}


@pytest.mark.parametrize("path", sources("csrc"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_names_no_vendor(path: Path) -> None:
    if str(path.relative_to(ROOT)) not in NAMING:
        assert not vendors_in(path.read_text(encoding="utf-8"))


def test_vendors_are_found() -> None:
    vendor = list(first.device_kinds)[1]
    for text in (f"INFINI_DEVICE_{vendor.upper()}", f"k{vendor.capitalize()}", f"// for {vendor}."):
        assert vendors_in(text) == {vendor}
    assert not vendors_in("sorted in ascending order")


# ---- Operator properties are in the declarations ------------------------------------------------

OPERATOR_NAMES = {operator.name for operator in OPERATORS}


def name_lists(text: str) -> Iterator[str]:
    """Python collections of operators' names, except a module's exports."""
    tree = ast.parse(text)
    exported = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets)
    }
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Set, ast.List, ast.Tuple)) or id(node) in exported:
            continue
        words = [each.value for each in node.elts if isinstance(each, ast.Constant)]
        if len(words) > 2 and len(words) == len(node.elts) and OPERATOR_NAMES.issuperset(words):
            yield f"line {node.lineno}: {words}"


def name_tests(text: str) -> Iterator[str]:
    """C++ that compares an operator's name."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    equal = re.findall(r'\bname\s*[!=]=\s*"(\w+)"|\bname\.c_str\(\),\s*"(\w+)"', text)
    yield from (word for pair in equal for word in pair if word in OPERATOR_NAMES)
    for prefix in re.findall(r'\bname\.starts_with\("(\w+)"\)', text):
        if any(name.startswith(prefix) for name in OPERATOR_NAMES):
            yield f"{prefix}*"


def test_no_lists_of_operators() -> None:
    """Properties shared by several operators belong in the declarations."""
    found = [
        f"{path.relative_to(ROOT)}, {each}"
        for path in sources("python", "tests/kit")
        if path.suffix == ".py" and "ref" not in path.relative_to(ROOT).parts
        for each in name_lists(path.read_text(encoding="utf-8"))
    ]
    found += [
        f"{path.relative_to(ROOT)}: {each}"
        for path in sources("csrc")
        if path.suffix != ".pyi"
        for each in name_tests(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_lists_of_operators_are_found() -> None:
    assert list(name_lists('IN_PLACE = {"softmax", "rms_norm", "rope"}'))
    assert not list(name_lists('__all__ = ["softmax", "rms_norm", "rope"]'))
    assert list(name_tests('if (step.name == "gemm") return true;'))
    assert list(name_tests('return name.starts_with("random_");'))
    assert not list(name_tests('run_operator("rearrange", {to, from});'))
