"""benchmarks/operators.py on an accelerator: all rows with few elements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.place import KIND

from .conftest import run


@pytest.mark.requires("accelerator")
def test_every_row(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    said = run("operators.py", "--device", KIND, "--tiny", "--json", path)
    assert "FAILED" not in said
    rows = {each["title"] for each in json.loads(path.read_text())["rows"]}
    assert len(rows) > 40 and "100-node graph replay" in rows
