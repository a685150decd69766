"""`infini config`: where compilers and build tools find the installed libraries."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path


def root() -> Path:
    """The folder that holds include/ and lib/. It is beside the extension module."""
    spec = find_spec("infinicore._rt")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("infinicore's extension module is not installed")
    return Path(spec.origin).parent.resolve() / "_root"


def answers(folder: Path) -> dict[str, str]:
    include, lib = folder / "include", folder / "lib"
    words = {
        "root": [str(folder)],
        "include": [str(include)],
        "lib": [str(lib)],
        "cmake-dir": [str(lib / "cmake" / "Infini")],
        "cflags": [f"-I{include}"],
        # The linker keeps only the libraries that a program calls.
        "libs": [
            f"-L{lib}",
            f"-Wl,-rpath,{lib},--as-needed",
            "-linfinicore_cpp_api",
            "-linfiniop",
            "-linfiniccl",
            "-linfinirt",
        ],
    }
    return {name: shlex.join(items) for name, items in words.items()}


def run(wanted: Sequence[str]) -> int:
    folder = root()
    if not folder.is_dir():
        print(f"infini config: {folder} does not exist: install the package again", file=sys.stderr)
        return 1
    known = answers(folder)
    print(" ".join(known[name] for name in wanted))
    return 0
