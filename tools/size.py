"""Prints how large the hand-written files are, and warns about those that grew past the limits.

The limits are soft: 400 lines a file, 100 columns a line. `--strict` makes warnings fail.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

SUFFIXES = {".py", ".pyi", ".c", ".cc", ".h", ".txt", ".md", ".cmake", ".in", ".toml"}
ROOMS = (
    *("spec", "include", "csrc", "backends", "python", "tests", "benchmarks", "examples"),
    *("tools", "docs"),
)
MAX_LINES = 400
MAX_COLUMNS = 100


def room_of(path: Path) -> str:
    """`csrc/runtime` for a file below that folder, `tools` for one directly in it."""
    return "/".join(path.parts[: min(2, len(path.parts) - 1)])


def is_data(path: Path) -> bool:
    """Counted, but never warned about: declarations and prose have no limit."""
    return path.suffix in {".txt", ".md"} or path.parent == Path("spec/runtime")


def sources(top: Path) -> list[Path]:
    files = (path for room in ROOMS for path in (top / room).rglob("*"))
    return sorted(
        path.relative_to(top)
        for path in files
        if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="one row per file, not only per room")
    parser.add_argument("--strict", action="store_true", help="fail when there is a warning")
    options = parser.parse_args()

    top = Path(__file__).resolve().parent.parent
    rooms: dict[str, list[tuple[int, Path]]] = defaultdict(list)
    warnings: list[str] = []
    for path in sources(top):
        lines = (top / path).read_text(encoding="utf-8").splitlines()
        rooms[room_of(path)].append((len(lines), path))
        if is_data(path):
            continue
        if len(lines) > MAX_LINES:
            warnings.append(f"{path}: {len(lines)} lines (limit {MAX_LINES})")
        wide = [number for number, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS]
        if wide:
            warnings.append(f"{path}:{wide[0]}: {len(wide)} lines over {MAX_COLUMNS} columns")

    print(f"{'room':<28}{'files':>6}{'lines':>8}{'longest':>9}")
    for room, files in sorted(rooms.items()):
        longest, name = max(files)
        print(f"{room:<28}{len(files):>6}{sum(n for n, _ in files):>8}{longest:>9}  {name.name}")
        if options.all:
            for count, path in sorted(files, reverse=True):
                print(f"    {path!s:<58}{count:>6}")
    print(
        f"{'total':<28}{sum(map(len, rooms.values())):>6}"
        f"{sum(n for files in rooms.values() for n, _ in files):>8}"
    )
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 1 if options.strict and warnings else 0


if __name__ == "__main__":
    sys.exit(main())
