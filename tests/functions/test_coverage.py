"""Every function of the package is tried by some test of this folder."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from infinicore import _namespace, functions
from infinicore._modules import modules_of
from infinicore.nn import functional
from spec.generate.package_stubs import public

WORDS = set()
for path in Path(__file__).parent.glob("test_*.py"):
    WORDS |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))

MODULES = list(modules_of(functions.__name__, list(functions.__path__)))
# Other names of functions that are tried.
ALIASES = {
    id(getattr(module, name)) for module in MODULES for name in module.__all__ if name in WORDS
}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.partition("functions.")[2])
def test_all_are_tried(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    missing = [n for n in names if n not in WORDS and id(getattr(module, n)) not in ALIASES]
    # Names that a test puts together: f"{vendor}_..."
    missing = [n for n in missing if not any(w[0] == "_" and n.endswith(w) for w in WORDS)]
    assert not missing


NAMED = [*_namespace.modules(), *modules_of(functional.__name__, list(functional.__path__))]


@pytest.mark.parametrize("module", NAMED, ids=lambda m: m.__name__)
def test_stubs_have_the_names_of_the_module(module: object) -> None:
    source = Path(module.__file__).read_text(encoding="utf-8")  # type: ignore[attr-defined]
    assert sorted(public(ast.parse(source))) == sorted(module.__all__)  # type: ignore[attr-defined]
