"""The expected tokens are those of the transformers that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm import tiny

pytestmark = pytest.mark.requires("torch", "transformers")


@pytest.mark.parametrize("name", tiny.MODELS)
def test_expected_tokens(name: str, tmp_path: Path) -> None:
    wanted = tiny.expected()[name]
    folder = tiny.write(tmp_path, name, wanted["shapes"])
    assert tiny.transformers_tokens(folder) == wanted["tokens"]
