"""Every public function has a docstring, and its examples are correct."""

from __future__ import annotations

import doctest
import inspect
import re

import numpy
import pytest

import infinicore
from infinicore import _namespace, masked, nn
from infinicore.nn import functional
from kit.place import ON_HOST
from kit.requirements import need


def public():
    found = {}
    for module in _namespace.modules():
        found |= {f"infinicore.{name}": getattr(module, name) for name in module.__all__}
    found |= {f"nn.functional.{name}": getattr(functional, name) for name in functional.__all__}
    found |= {f"masked.{name}": getattr(masked, name) for name in masked.__all__}
    found |= {f"nn.{name}": getattr(nn, name) for name in nn.__all__ if name != "functional"}
    return {name: value for name, value in sorted(found.items()) if callable(value)}


PUBLIC = public()


class Checker(doctest.OutputChecker):
    """Examples are written for the CPU, whose name is not printed."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, re.sub(r",\s*device='\w+:0'", "", got), optionflags)


@pytest.mark.parametrize("name", PUBLIC)
def test_it_has_a_docstring(name):
    assert (inspect.getdoc(PUBLIC[name]) or "").strip(), f"{name} has no docstring"


# Examples that name the device they run on.
AT_HOME = ("infinicore.get_default_device", "infinicore.get_device")


@pytest.mark.parametrize("name", [n for n, v in PUBLIC.items() if ">>>" in (v.__doc__ or "")])
def test_its_example_is_true(name):
    if name in AT_HOME and not ON_HOST:
        pytest.skip("it names the CPU")
    names = {"infinicore": infinicore, "nn": nn, "F": functional, "x": infinicore.ones(2, 3)}
    for library in ("numpy", "torch"):
        if library in PUBLIC[name].__doc__:
            names[library] = numpy if library == "numpy" else need(library)
    parsed = doctest.DocTestParser().get_doctest(PUBLIC[name].__doc__, names, name, None, 0)
    said: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with infinicore.printoptions():  # an example may change them
        doctest.DocTestRunner(Checker(), optionflags=flags).run(parsed, out=said.append)
    assert not said, "".join(said)
