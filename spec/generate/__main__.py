"""Writes the generated files. Files that would not change are left alone."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

from .. import Api, First, api, first
from . import text

Files = dict[str, str]  # path below the output directory -> contents


def generators() -> dict[str, list[Callable[[Api, First], Files]]]:
    """The generators by the part that they belong to: every module here with a PART and `files`."""
    parts: dict[str, list[Callable[[Api, First], Files]]] = {}
    for found in sorted(pkgutil.iter_modules([str(Path(__file__).parent)]), key=lambda m: m.name):
        if not found.name.startswith("_"):
            module = importlib.import_module(f"{__package__}.{found.name}")
            if part := getattr(module, "PART", ""):
                parts.setdefault(part, []).append(module.files)
    return parts


PARTS = generators()


def generate(out: Path, parts: list[str]) -> tuple[list[str], list[str]]:
    """Returns (all files, files that changed), relative to `out`."""
    written: list[str] = []
    changed: list[str] = []
    for part in parts:
        for make in PARTS[part]:
            for name, contents in make(api, first).items():
                written.append(name)
                if text.write(out / name, contents):
                    changed.append(name)
    return written, changed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m spec.generate", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory to write into")
    parser.add_argument("--only", default=",".join(PARTS), help="parts: %(default)s")
    parser.add_argument("--list", action="store_true", help="print the files' names, not counts")
    options = parser.parse_args()
    parts = options.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}; known: {', '.join(PARTS)}")
    written, changed = generate(options.out, parts)
    if options.list:
        print("\n".join(written))
        return
    served = sum(function.served for function in api.functions)
    print(
        f"{len(api.functions)} functions, {served} served by the core's software; "
        f"{len(first.functions)} of the first generation; "
        f"{len(changed)} of {len(written)} files changed"
    )


if __name__ == "__main__":
    main()
