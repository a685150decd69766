"""The sample back end, compiled once for the folder, in all its variants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kit import build

SAMPLE = Path(__file__).parent / "sample.cc"


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """sample("SAMPLE_ABI=9", ...): the library made with these macros. Made when first asked for."""
    if not build.has_compiler():
        pytest.skip("no C++ compiler here")
    folder = tmp_path_factory.mktemp("sample")
    made: dict[tuple[str, ...], Path] = {}

    def library(*macros: str, name: str = "") -> Path:
        key = (*macros, name)
        if key not in made:
            place = folder / (name or f"libinfini_sample{len(made)}.so")
            made[key] = build.shared_library(SAMPLE, place, *[f"-D{macro}" for macro in macros])
        return made[key]

    return library
