"""Finds facts in hand-written files that belong only in the spec."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spec import api, first

LONGEST_LIST = 7  # consecutive names of the spec

FUNCTIONS = {f.c_name for f in api.functions + first.functions}
FUNCTIONS |= {f.c_symbol for f in api.functions}
ENUMS = api.enums + first.core_enums + first.enums
ENUMERATORS = {value.name for enum in ENUMS for value in enum.values}
TYPES = {enum.name for enum in ENUMS} | {struct.name for struct in api.structs + first.structs}
LISTED = FUNCTIONS | ENUMERATORS | {name.removeprefix("infinirt") for name in FUNCTIONS}


def repetitions(text: str) -> Iterator[str]:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    for name in re.findall(r"\b(\w+)\s*=\s*-?\d", text):
        if name in ENUMERATORS or f"infinirt{name}" in ENUMERATORS:
            yield f"gives {name} a value"
    for name in re.findall(r"#\s*define\s+(infinirt\w+)", text):
        yield f"defines {name}"
    for name in re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", text):
        if name in TYPES:
            yield f"defines the type {name}"
    prototype = r"(?:infinirtError_t|infiniStatus_t|char\s*\*)\s*(infini\w+)\s*\([^;{}]*\)\s*;"
    for name in re.findall(rf"(?m)^\s*(?:extern\s+)?(?:\"C\"\s+)?(?:\w+\s+)*?{prototype}", text):
        if name in FUNCTIONS:
            yield f"declares {name}"
    # A number next to each name ends a list: such rows map names to a vendor's numbers.
    run: list[str] = []
    for word in [*re.findall(r"[A-Za-z_]\w*|\d+", text), ""]:
        if word in LISTED:
            run.append(word)
            continue
        if len(run) > LONGEST_LIST:
            yield f"lists {len(run)} names: {run[0]} to {run[-1]}"
        run = []
