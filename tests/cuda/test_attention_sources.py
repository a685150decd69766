"""Attention on the tensor cores: NVIDIA's compiler compiles the kernels, without register
spills."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .nvrtc import Compiler, find

DEVICE = Path(__file__).resolve().parents[2] / "backends" / "cuda" / "device"

library = find()
pytestmark = pytest.mark.requires("nvrtc")

COMMON = "using T = {type}; using Table = int32_t; using Length = int32_t;"
DEFAULTS = ("kSloped=0", "kWindow=0", "kCapped=0")
TILE = "kM=2,kWarps=4,kKeys=64"  # of flash_sm80
# File, architecture, constants: as planners choose them for common heads.
CASES = [
    ("decode", "sm_90", "kPaged=0,kRagged=0,kCausal=0,kDepth=128,kValue=128,kM=1,kStages=3"),
    ("decode", "sm_90", "kPaged=1,kRagged=0,kCausal=1,kDepth=128,kValue=128,kM=2,kStages=3"),
    ("decode", "sm_80", "kPaged=1,kRagged=0,kCausal=1,kDepth=64,kValue=64,kM=1,kStages=4"),
    (
        "flash_sm80",
        "sm_80",
        "kPaged=0,kRagged=0,kCausal=1,kDepth=128,kValue=128," + TILE,
    ),
    (
        "flash_sm80",
        "sm_90",
        "kPaged=1,kRagged=1,kCausal=1,kDepth=64,kValue=64," + TILE,
    ),
    (
        "decode",
        "sm_90",
        "kPaged=1,kRagged=0,kCausal=1,kWindow=1,kCapped=1,kDepth=128,kValue=128,kM=1,kStages=3",
    ),
    (
        "flash_sm80",
        "sm_90",
        "kPaged=1,kRagged=1,kCausal=1,kWindow=1,kCapped=1,kDepth=128,kValue=128," + TILE,
    ),
    (
        "flash_sm90",
        "sm_90a",
        "kPaged=0,kRagged=0,kCausal=1,kDepth=128,kValue=128,"
        "kQueryStages=2,kKeyStages=3,kValueStages=2,kSingle=0,kBulk=1",
    ),
    (
        "flash_sm90",
        "sm_90a",
        "kPaged=1,kRagged=1,kCausal=1,kDepth=128,kValue=128,"
        "kQueryStages=2,kKeyStages=3,kValueStages=2,kSingle=0,kBulk=0",
    ),
    (
        "flash_sm90",
        "sm_90a",
        "kPaged=0,kRagged=0,kCausal=0,kDepth=64,kValue=64,"
        "kQueryStages=2,kKeyStages=3,kValueStages=3,kSingle=0,kBulk=1",
    ),
    (
        "flash_sm90",
        "sm_90a",
        "kPaged=1,kRagged=1,kCausal=1,kDepth=192,kValue=128,"
        "kQueryStages=1,kKeyStages=2,kValueStages=2,kSingle=1,kBulk=0",
    ),
    *(
        (
            "flash_sm90",
            "sm_90a",
            "kPaged=1,kRagged=1,kCausal=1,kDepth=128,kValue=128,kQueryStages=2,kKeyStages=3,"
            f"kValueStages=2,kSingle=0,kBulk=0,kWindow={window},kCapped={capped}",
        )
        for window, capped in ((1, 0), (0, 1))
    ),
    (
        "mla_sm90",
        "sm_90a",
        "kPaged=1,kRagged=0,kCausal=1,kDepth=576,kValue=512,kRows=64,kSlots=18",
    ),
    (
        "mla_sm90",
        "sm_90a",
        "kPaged=0,kRagged=0,kCausal=0,kDepth=576,kValue=512,kRows=64,kSlots=18",
    ),
    (
        "mla_few_heads",
        "sm_90a",
        "kPaged=1,kRagged=0,kCausal=1,kDepth=576,kValue=512,kRows=16,kSlots=25",
    ),
    (
        "mla_few_heads",
        "sm_90a",
        "kPaged=0,kRagged=0,kCausal=0,kDepth=576,kValue=512,kRows=32,kSlots=22",
    ),
    ("combine:parts", "sm_90", "kPaged=1,kRagged=0,kCausal=1,kKeys=64"),
    (
        "mla_sm80",
        "sm_90",
        "kPaged=1,kRagged=0,kCausal=1,kDepth=576,kValue=512,kM=4,kStages=3,kAlias=1,kEntries=0",
    ),
    (
        "mla_sm80",
        "sm_90",
        "kPaged=1,kRagged=0,kCausal=0,kDepth=576,kValue=512,kM=4,kStages=3,kAlias=1,kEntries=1",
    ),
]
PLAIN = "kPaged=0,kRagged=0,kCausal=1,"
PAGED = "kPaged=1,kRagged=1,kCausal=1,kWindow=1,kCapped=1,"
FLOATS = [  # F32: sizes of a block, and whether one product of TF32 is enough
    ("sm_90", PLAIN + "kDepth=64,kValue=64,kM=2,kWarps=4,kKeys=32,kPlain=0"),
    ("sm_80", PLAIN + "kDepth=64,kValue=64,kM=2,kWarps=4,kKeys=32,kPlain=1"),
    ("sm_90", PLAIN + "kDepth=128,kValue=128,kM=1,kWarps=4,kKeys=32,kPlain=0"),
    ("sm_80", PAGED + "kDepth=128,kValue=128,kM=1,kWarps=4,kKeys=32,kPlain=0"),
    ("sm_90", PAGED + "kDepth=128,kValue=128,kM=1,kWarps=1,kKeys=16,kPlain=0"),
]


def flattened(name: str, seen: set[str], selector: str = "") -> str:
    """A file of device code with its includes, each once, and one of its kernels."""
    if name in seen:
        return ""
    seen.add(name)
    folder = name[: name.rfind("/") + 1]

    def include(match: re.Match[str]) -> str:
        beside = folder + match[1]
        return flattened(beside if (DEVICE / beside).exists() else match[1], seen, selector)

    def choose(match: re.Match[str]) -> str:
        return match[0] if selector and re.search(rf"\b{selector}\b", match[1]) else ""

    text = (DEVICE / name).read_text().replace("#pragma once\n", "")
    sections = r"^(#if(?:def|) .*\bINFINI_KERNEL_.*)\n(?:.*\n)*?#endif\n"
    text = re.sub(sections, choose, text, flags=re.MULTILINE)
    return re.sub(r'^#include "([^"]+)"$', include, text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("file", "architecture", "constants", "dtype"),
    [
        *((*case, dtype) for case in CASES for dtype in ("f16", "bf16")),
        *(("flash_tf32", *case, "float") for case in FLOATS),
    ],
)
def test_kernels_stay_in_registers(
    file: str, architecture: str, constants: str, dtype: str
) -> None:
    assert library is not None
    seen: set[str] = set()
    file, _, kernel = file.partition(":")
    selector = f"INFINI_KERNEL_{file}_{kernel}".upper() if kernel else ""
    text = (f"#define {selector}\n" if selector else "") + flattened("prelude.cuh", seen)
    others = [each for each in DEFAULTS if each.partition("=")[0] not in constants]
    lines = COMMON.format(type=dtype) + f" constexpr int {','.join([constants, *others])};"
    text += f"namespace infini {{ {lines} }}\n" + flattened(f"attention/{file}.cuh", seen, selector)
    with Compiler(library) as compiler:
        used = compiler.compile(text, architecture)
    assert used.spilled == 0
    assert used.stack == 0
