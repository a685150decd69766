"""Builds the simulated libraries of a vendor whose runtime is not CUDA-like.

Prototypes and enumerators are generated from facts/<vendor>*.json, so that the definitions in
<vendor>/*.cc cannot differ from them: the compiler rejects another type.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SIMULATED = HERE.parent
PROJECT = SIMULATED.parents[1]
CXX = os.environ.get("CXX", "c++")
FLAGS = [
    *("-std=c++20", "-O1", "-g1", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"),
]
COLLECTIVES = ["accelerator/collectives.cc", "../../backends/cpu/collectives/reduce.cc"]
# Headers next to the libraries, from which the back end reads constants.
HEADERS = {"cambricon": ["cambricon/cnnl.h", "cambricon/cnnl_extra.h"], "kunlun": ["kunlun/bkcl.h"]}
# Library: its sources. The first one contains the core, which the others use.
LIBRARIES = {
    "ascend": {
        "libascendcl.so": ["accelerator/core.cc", "ascend/runtime.cc"],
        "libopapi.so": [
            *("ascend/opapi.cc", "ascend/functions.cc", "ascend/index.cc", "ascend/paged.cc"),
            "accelerator/operators.cc",
        ],
        "libhccl.so": ["ascend/hccl.cc", *COLLECTIVES],
    },
    "cambricon": {
        "libcnrt.so": ["accelerator/core.cc", "cambricon/cnrt.cc"],
        "libcnnl.so": [
            *("cambricon/cnnl.cc", "cambricon/functions.cc", "cambricon/elementwise.cc"),
            "accelerator/operators.cc",
        ],
        "libcnnl_extra.so": ["cambricon/extra.cc", "accelerator/operators.cc"],
        "libcncl.so": ["cambricon/cncl.cc", *COLLECTIVES],
    },
    "kunlun": {
        "libxpurt.so": ["accelerator/core.cc", "kunlun/xpurt.cc"],
        "libxpu_blas.so": ["kunlun/blas.cc"],
        "libbkcl.so": ["kunlun/bkcl.cc", *COLLECTIVES],
    },
}
VENDORS = tuple(LIBRARIES)


def facts(vendor: str) -> Iterator[dict[str, Any]]:
    """All parts: runtime, collectives, operators."""
    for path in sorted((SIMULATED / "facts").glob(f"{vendor}*.json")):
        found = json.loads(path.read_text())
        yield from (part for part in found.values() if isinstance(part, dict))


def prototypes(vendor: str) -> list[str]:
    found = []
    for part in facts(vendor):
        for fact in part["functions"].values():
            for signature in fact["signature"].split(";"):
                text = signature.strip()
                if re.match(r"[\w ]+\**\s*\w+\(", text) and not text.startswith("static"):
                    found.append(re.sub(r"\benum (\w+)", r"\1", text))
    return list(dict.fromkeys(found))


def header(vendor: str) -> str:
    """`facts.h`: prototypes of the functions, and k_<enum>_<name> for each enumerator."""
    lines = ["#pragma once", f'#include "{vendor}/types.h"', 'extern "C" {']
    lines += [f'__attribute__((visibility("default"))) {text};' for text in prototypes(vendor)]
    lines += ["}", f"namespace {vendor} {{"]
    for part in facts(vendor):
        flat = {"": {k: v for k, v in part["enums"].items() if isinstance(v, int)}}
        flat |= {k: v for k, v in part["enums"].items() if isinstance(v, dict)}
        for group, names in flat.items():
            for name, value in names.items():
                number = int(value, 0) if isinstance(value, str) and value[:2] == "0x" else value
                if not isinstance(number, int):
                    continue
                word = re.sub(r"\W.*", "", name)
                lines.append(f"constexpr int {group or 'code'}_{word} = {number};")
    unique = list(dict.fromkeys(lines))
    return "\n".join([*unique, "}", ""])


def build(vendor: str, output: Path, root: Path) -> None:
    work = output / "work"
    work.mkdir(parents=True, exist_ok=True)
    (work / "facts.h").write_text(header(vendor))
    for name in HEADERS.get(vendor, []):
        shutil.copy(SIMULATED / name, output)
    places = (work, SIMULATED, PROJECT, PROJECT / "backends/cpu", root / "include")
    search = [f"-I{folder}" for folder in places]
    core = ""
    for name, sources in LIBRARIES[vendor].items():
        files = [str(SIMULATED / source) for source in sources]
        link = [f"-L{output}", f"-l:{core}", "-Wl,-rpath,$ORIGIN"] if core else []
        command = [CXX, *FLAGS, *search, *files, f"-Wl,-soname,{name}", *link]
        command += ["-o", str(output / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        core = core or name


def folder(vendor: str, root: Path) -> Path:
    """Where the libraries are; built once for each state of the sources."""
    digest = hashlib.sha256(str(root).encode())
    for place in (HERE, SIMULATED / vendor, SIMULATED / "facts"):
        for path in sorted(place.iterdir()):
            if path.suffix in {".cc", ".h", ".py", ".json"}:
                digest.update(path.read_bytes())
    base = Path(tempfile.gettempdir()) / f"infini-simulated-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    output = base / f"{vendor}-{digest.hexdigest()[:16]}"
    with (base / f"{vendor}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (output / "done").exists():
            build(vendor, output, root)
            (output / "done").touch()
    return output


def settings(vendor: str, root: Path) -> dict[str, str]:
    """The environment in which a process finds the simulated libraries instead of the vendor's."""
    return {f"INFINI_{vendor.upper()}_LIBRARIES": str(folder(vendor, root))}
