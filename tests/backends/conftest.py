"""The null back end and the sample back end, compiled once, and broken variants of the latter."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import build, process
from kit.requirements import need

SAMPLE = Path(__file__).parent / "sample.cc"
NULL = process.PROJECT / "backends" / "null" / "null.cc"


@pytest.fixture(scope="session")
def null(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("c++")
    return build.shared_library(NULL, tmp_path_factory.mktemp("null") / "libinfini_null.so")


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """sample("abi99"): the library as that variant, which it detects from its file name."""
    need("c++")
    folder = tmp_path_factory.mktemp("sample")
    made = build.shared_library(SAMPLE, folder / "libinfini_sample.so", "-ldl")

    def library(variant: str = "") -> Path:
        if not variant:
            return made
        return Path(shutil.copy(made, folder / f"libinfini_sample-{variant}.so"))

    return library
