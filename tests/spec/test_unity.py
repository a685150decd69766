"""Files that may be compiled together (see cmake/CompileTime.cmake) define no name twice.

Which files share a batch depends on all their names, so a clash could show up only when an
unrelated file is added.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "infinirt": ["csrc/runtime/*.cc"],
    "infiniop": ["csrc/operators/*.cc"],
    "infiniccl": ["csrc/collectives/*.cc"],
    "infinicore": ["csrc/core/*.cc", "csrc/core/nn/*.cc"],
    "infini_cpu": ["backends/cpu/*.cc", "backends/cpu/runtime/*.cc", "backends/cpu/collectives/*"],
    "infini_cuda_like": ["backends/cuda/*.cc", "backends/cuda/[!v]*/**/*.cc"],
    "_rt": ["csrc/python/runtime/*.cc"],
    "_core": ["csrc/python/core/*.cc", "csrc/python/operators/*.cc"],
}
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
CONSTANT = re.compile(r"constexpr [\w:<>* ]+?(k[A-Z]\w*)\b(.*)")
FURTHER = re.compile(r", (k[A-Z]\w*) =")
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)")


def hidden_names(source: str) -> Iterator[str]:
    """Constants and types at the top level of anonymous namespaces."""
    for body in ANONYMOUS.findall(source):
        for line in body.splitlines():
            if found := CONSTANT.match(line):
                yield from (found[1], *FURTHER.findall(found[2]))
            elif found := TYPE.match(line):
                yield found[1]


def test_names_are_found() -> None:
    source = "namespace {\n\nconstexpr int kA = 1, kB = 2;\nstruct C {\n    int d;\n};\n"
    assert list(hidden_names(source + "}  // namespace\n")) == ["kA", "kB", "C"]


@pytest.mark.parametrize("target", TARGETS)
def test_no_name_is_defined_twice(target: str) -> None:
    files = {path for pattern in TARGETS[target] for path in ROOT.glob(pattern)}
    assert files
    places = defaultdict(set)
    for path in files:
        for name in hidden_names(path.read_text("utf-8")):
            places[name].add(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
