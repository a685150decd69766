"""Nothing that the spec says is said again by hand, and the core names no vendor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repetition import repetitions

from spec import first

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".h", ".hpp", ".c", ".cc", ".cpp", ".py", ".pyi"}


def sources(*folders: str) -> list[Path]:
    """Hand-written files. What a build puts beside them lies in folders that begin with `_`."""
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


# The C++ enumeration of devices has the vendors' names, and DLPack numbers its devices by them.
NAMING = {"csrc/core/types.cc", "csrc/python/core/dlpack_device.cc"}


@pytest.mark.parametrize("path", sources("csrc"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_names_no_vendor(path: Path) -> None:
    if str(path.relative_to(ROOT)) not in NAMING:
        assert not vendors_in(path.read_text(encoding="utf-8"))


def test_vendors_are_found() -> None:
    vendor = list(first.device_kinds)[1]
    for text in (f"INFINI_DEVICE_{vendor.upper()}", f"k{vendor.capitalize()}", f"// for {vendor}."):
        assert vendors_in(text) == {vendor}
    assert not vendors_in("sorted in ascending order")
