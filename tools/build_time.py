"""Prints where a build's time went, from ninja's log.

    python tools/build_time.py BUILD_FOLDER [--top N]

The sums are of elapsed time per compiler run: on an idle machine close to CPU time. The build's
wall time is about the total divided by the number of cores.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Edge(NamedTuple):
    """One command of the build: what it wrote and how long it ran."""

    output: str
    seconds: float

    @property
    def part(self) -> str:
        """The library or kernel family that a file belongs to."""
        if kernels := re.search(r"infini_cpu_\w+_objects\.dir/(.*)", self.output):
            rest = kernels[1]
            if "generated/" in rest:
                return "cpu kernels: generated " + re.sub(r"_?\d*\.cc\.o$", "", Path(rest).name)
            family = rest.split("/")[0] if "/" in rest else "(shared)"
            return f"cpu kernels: {family}"
        return self.output.split("/CMakeFiles/")[0] if "/CMakeFiles/" in self.output else "other"

    @property
    def isa(self) -> str:
        kernels = re.search(r"infini_cpu_(\w+)_objects\.dir/", self.output)
        return kernels[1] if kernels else ""


def read_log(path: Path) -> list[Edge]:
    """The last run of each command; an older one of the same output was repeated since."""
    edges: dict[str, Edge] = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        begin, end, _, output, _ = line.split("\t")
        edges[output] = Edge(output, (int(end) - int(begin)) / 1000)
    return list(edges.values())


def add_up(rows: Iterable[tuple[str, float]]) -> list[tuple[str, float, int]]:
    seconds: dict[str, float] = defaultdict(float)
    files: dict[str, int] = defaultdict(int)
    for name, spent in rows:
        seconds[name] += spent
        files[name] += 1
    return sorted(((n, s, files[n]) for n, s in seconds.items()), key=lambda row: -row[1])


def show(title: str, rows: list[tuple[str, float, int]]) -> None:
    print(f"\n{title}\n{'seconds':>9}  {'files':>5}")
    for name, seconds, files in rows:
        print(f"{seconds:9.1f}  {files:5}  {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("build", type=Path, help="the build folder, with its .ninja_log")
    parser.add_argument("--top", type=int, default=20, help="how many files to list (20)")
    options = parser.parse_args()
    log = options.build / ".ninja_log"
    if not log.is_file():
        print(f"{log}: no such file; expected the folder of a build by ninja", file=sys.stderr)
        return 1
    edges = [edge for edge in read_log(log) if edge.output.endswith((".o", ".gch"))]
    edges = [edge for edge in edges if (options.build / edge.output).exists()]
    print(f"{sum(edge.seconds for edge in edges):.0f} seconds in {len(edges)} files")
    show("By part", add_up((edge.part, edge.seconds) for edge in edges))
    show("By instruction set", add_up((edge.isa, edge.seconds) for edge in edges if edge.isa))
    slowest = sorted(edges, key=lambda edge: -edge.seconds)[: options.top]
    print("\nSlowest files")
    for edge in slowest:
        print(f"{edge.seconds:9.1f}  {edge.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
