"""The functions of the CUDA-aligned API in NVIDIA's library: every symbol is in both generations of
the library, and layouts and parameters that differ in 13 match its header."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import cuda_wheels
import pytest
from header_facts import Facts

from spec import api, cuda13_differences
from spec.generate import forwarding

FORWARDS = forwarding.forwards(api)
# 13 has no replacement for these.
GONE = {"LaunchCooperativeKernelMultiDevice"}


def symbols(package: str, version: str, cache: Path) -> ctypes.CDLL:
    library = cuda_wheels.library(package, version, cache)
    try:
        return ctypes.CDLL(str(library))  # opens without a driver, too
    except OSError as error:
        pytest.skip(f"{library} cannot be opened here: {error}")


def test_all_is_forwarded_but_what_the_core_does() -> None:
    kept = {function.name for function in api.entries} - {f.function.name for f in FORWARDS}
    of_the_core = {"GetDevice", "GetDeviceCount", "SetDevice", "SetValidDevices"}
    versions = {"DriverGetVersion", "RuntimeGetVersion"}
    errors = {function.name for function in api.entries if function.group == "error"}
    assert kept == of_the_core | versions | errors


def test_the_symbols_of_12(cache: Path) -> None:
    library = symbols("nvidia-cuda-runtime-cu12", "12.9", cache)
    missing = [f.symbol12 for f in FORWARDS if not hasattr(library, f"cuda{f.symbol12}")]
    assert missing == []


def test_the_symbols_of_13(cache: Path) -> None:
    library = symbols("nvidia-cuda-runtime", cuda13_differences.VERSION, cache)
    named = [f.symbol13 for f in FORWARDS if f.symbol13]
    assert [name for name in named if not hasattr(library, f"cuda{name}")] == []
    assert {f.function.name for f in FORWARDS if not f.symbol13} == GONE


def test_what_12_does_not_have_13_does_not_get(cache: Path, cuda13: Facts) -> None:
    """Converted arguments have the form that the header declares."""
    for forward in FORWARDS:
        if not forward.symbol13:
            continue
        _, params = cuda13.functions[f"cuda{forward.symbol13}"]
        theirs = [re.sub(r"\bconst\b|\bstruct\b|\benum\b|\s", "", type_) for type_, _ in params]
        ours = [p.bare.replace("infinirt", "cuda") for p in forward.params13]
        assert [_plain(t) for t in ours] == [_plain(t) for t in theirs], forward.function.name


def _plain(type_: str) -> str:
    """Names of one type: a tag or its typedef."""
    return re.sub(r"_st\b|_t\b", "", type_)


def test_the_layouts_of_13(cuda13: Facts) -> None:
    """New entries follow the existing ones, in the order of the header."""
    changed = forwarding.changed_structs(api)
    assert {"infinirtDeviceProp", "infinirtPointerAttributes"} <= set(changed)
    used = {forwarding._struct_of(p.type) for f in FORWARDS for p in f.function.params}
    for name in used & set(changed):
        ours = [f.name for f in (*changed[name].kept, *changed[name].added) if f.name]
        struct = cuda13.structs[name.replace("infinirt", "cuda")]
        theirs = [path for path, _, _ in struct.fields if "." not in path]
        named = [path for path in theirs if path in ours]
        assert named == ours, name


def test_members_that_are_gone_are_told_by_attributes() -> None:
    gone = {field.name for field in forwarding.changed_structs(api)["infinirtDeviceProp"].gone}
    unknown = gone - set(cuda13_differences.ATTRIBUTES)
    assert unknown == {"reserved", "cooperativeMultiDeviceLaunch"}  # 13 does not support the latter
    attributes = {v.name for e in api.enums if e.name == "infinirtDeviceAttr" for v in e.values}
    for word in cuda13_differences.ATTRIBUTES.values():
        assert f"infinirtDevAttr{word}" in attributes
