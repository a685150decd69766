"""The claims of docs/adding_an_operator.md, tested with its own text: one declaration gives
everything."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "adding_an_operator.md"


def example(number: int) -> tuple[str, str]:
    """The file that the page names, and the text that the page shows or adds there."""
    if not PAGE.exists():
        pytest.skip("the pages are not here")
    found = re.findall(r"of\s+`(spec/\S*)`:\n\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    return found[number]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Reads generated files with both operators added."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "spec", tree / "spec", ignore=shutil.ignore_patterns("__pycache__"))
    for pattern in ("include/infini/*.h", "csrc/base/*.h", "csrc/python/*/*.pyi", "python/**/*.py"):
        for path in ROOT.glob(pattern):
            (tree / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tree / path.relative_to(ROOT))
    for number in (0, 1):
        name, text = example(number)
        path = tree / name
        before = path.read_text("utf-8")
        path.write_text(before.replace(text, "") + "\n\n" + text, "utf-8")
    command = [sys.executable, "-B", "-m", "spec.generate", "--out", str(tree / "out")]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr

    def read(name: str) -> str:
        return "\n".join(path.read_text("utf-8") for path in sorted((tree / "out").glob(name)))

    return read


def test_lines() -> None:
    assert len(example(0)[1].splitlines()) == 4
    assert len(example(1)[1].splitlines()) == 12


def test_the_first_one_is_in_the_tree() -> None:
    name, text = example(0)
    assert text in (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "c_name", "family", "parameters", "public"),
    [
        ("mish", "Mish", "elementwise", "x, *, out=None, stream=None", "inplace: bool = False"),
        (
            "l2_normalize",
            "L2Normalize",
            "norm",
            "x, *, eps=1e-05, out=None, stream=None",
            "eps: float = 1e-05",
        ),
    ],
)
def test_everything_follows(
    generated: Callable[[str], str],
    name: str,
    c_name: str,
    family: str,
    parameters: str,
    public: str,
) -> None:
    functions = [
        f"infiniopCreate{c_name}Descriptor",
        f"infiniopGet{c_name}WorkspaceSize",
        f"infiniopGet{c_name}Workspace",
        f"infiniop{c_name}",
        f"infiniopDestroy{c_name}Descriptor",
    ]
    header = generated(f"include/infiniop/ops/{name}.h")
    entries = generated(f"src/operators/entries_{family}.cc")
    exports = generated("src/operators/infiniop.map")
    prototypes = generated("python/infinicore/op/_ctypes.py")
    page = generated(f"docs/reference/operators/{family}.md")
    for function in functions:
        assert f"INFINI_EXPORT infiniStatus_t {function}(" in header
        assert f"infiniStatus_t {function}(" in entries
        assert f" {function};" in exports
        assert f'"{function}": "' in prototypes
        assert f"{function}(" in page
    assert f'#include "infiniop/ops/{name}.h"' in generated("include/infiniop.h")
    assert f"check_{c_name}(" in generated(f"src/operators/checks_{family}.cc")
    assert f'"{name}"' in generated("src/operators/programs.cc")
    assert f"def {name}({parameters}):" in generated("python/infinicore/op/_functions.py")
    assert f"def {name}(x: Tensor" in generated("python/infinicore/op/_functions.pyi")
    assert f"run_{c_name}_0(" in generated("src/core/calls.cc")
    assert f"## {name}\n" in page and f"def {name}(" in page
    # infinicore.nn.functional.NAME, with torch's arguments, and the methods
    source = generated(f"python/infinicore/nn/functional/declared/{family}.py")
    assert f"def {name}(input: Tensor, {public}, *, out: Any = None) -> Tensor:" in source
    types = public.replace(": ", ": _")
    functional = generated("python/infinicore/nn/functional/__init__.pyi")
    assert f"def {name}(input: Tensor, {types}, *, out: Any = None) -> Tensor: ..." in functional
    methods = generated("python/infinicore/_core.pyi")
    assert f"    def {name}(self, {types}, *" in methods
    assert f"    def {name}_(self, {types}, *" in methods
    page = generated(f"docs/reference/functions/nn-functional-declared-{family}.md")
    assert f"infinicore.nn.functional.{name}(input: Tensor, " in page


def test_help_has_an_example(generated: Callable[[str], str]) -> None:
    source = generated("python/infinicore/nn/functional/declared/elementwise.py")
    help = source.partition("def mish(")[2].partition("return")[0]
    assert '"""input * tanh(log(1 + e^input)).' in help
    assert ">>> F.mish(infinicore.tensor([-1.5, 0.25, 2.0]))\n    tensor([" in help
