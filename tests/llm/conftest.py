"""Shared by the server's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.requirements import need


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model, on disk."""
    need("llm")
    from .small_llama import make_folder

    return make_folder(tmp_path_factory.mktemp("model") / "small", positions=4096)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Any]:
    """A server shared by the tests of a file."""
    from .served import Served

    made = Served(folder, cache_tokens=1 << 15)
    yield made
    made.close()
