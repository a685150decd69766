"""The package that contains Triton: the page, the error message, and every device type."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import infinicore
from infinicore import library
from infinicore.python_kernels.packages import TRITON

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python_kernels.md"


def test_the_page_has_every_kind() -> None:
    for kind, package in TRITON.items():
        assert f"| {kind} | `{package.name}` | {package.source} |\n" in PAGE.read_text()


def test_every_accelerator_is_known() -> None:
    types = infinicore.lib._infinicore.Device.Type
    kinds = {name.lower() for name in types.__members__} - {"cpu", "count"}
    assert kinds == set(TRITON)


@pytest.mark.parametrize("kind", TRITON)
def test_a_missing_package_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    def kernel(a: Any, b: Any, *, out: Any) -> None: ...

    with pytest.raises(ImportError, match=f"register: kernels of triton need .* for {kind} it"):
        library.register("swiglu", kernel, device=kind, language="triton")
