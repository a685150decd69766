"""benchmarks/collectives.py starts its ranks and prints what it measured."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import run


def test_two_ranks(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    operations = ("--operations", "all_reduce,broadcast", "--rows", "8 B,4 KiB")
    settings = {"INFINI_CCL_TIMEOUT": "60"}
    said = run("collectives.py", "-n", 2, "--quick", *operations, "--json", file, **settings)
    assert "latency     all_reduce" in said and "throughput  broadcast" in said
    rows = json.loads(file.read_text())["rows"]
    assert len(rows) == 2 * 2 * 2 and not any(row["failed"] for row in rows)
    assert all(row["ranks"] == 2 and row["seconds"]["infinicore"] > 0 for row in rows)


def test_an_operation_that_is_none() -> None:
    said = run("collectives.py", "--operations", "all_reduce,reduce", code=2)
    assert "--operations: reduce is none of all_reduce, all_gather" in said
