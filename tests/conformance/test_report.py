"""Reports: the matrix, the comparison of two, the support page."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from infinicore.conformance import command, results
from infinicore.conformance.report import compare, html, markdown, support, write

from .kit_runs import infini


def row(id: str, level: int, status: str = "pass", ulp: float | None = None) -> dict[str, Any]:
    return {"id": id, "level": level, "status": status, "words": "why <so>", "data": {"ulp": ulp}}


@pytest.fixture
def report() -> dict[str, Any]:
    rows = [
        row("load/table", 0),
        row("op/add/F32/contiguous/usual", 4, ulp=0.5),
        row("op/add/F32/strided/usual", 4, ulp=2.0),
        row("op/add/F16/strided/usual", 4, "fail", 9.0),
        row("op/add/F16/contiguous/usual", 4),
        row("op/sort/I32/contiguous/usual", 4, "unsupported"),
    ]
    facts = {
        **dict.fromkeys(("infinicore", "python", "machine", "system", "vendor", "backend"), "x"),
        **{"device": "A chip", "devices": 1, "memory": 1 << 30, "libraries": ["blas 3"]},
        **{"driver": 1, "runtime": 2, "date": "2026-01-01", "seconds": 3.0, "jobs": 2},
        "copy": {"device": 2e9},
        "speed": [
            {"operator": "add", "dtype": "float32", "seconds": 1e-3, "rate": 1e9, "unit": "bytes"},
            {"operator": "mm", "dtype": "float32", "seconds": 1e-3, "rate": 1e9, "unit": "flops"},
            {"operator": "sum", "dtype": "float32", "words": "it is refused"},
        ],
    }
    reached, lack = results.level_reached(rows, 4)
    return {
        "format": 1,
        **{"device": "mychip", "simulated": False, "partial": False, "unmatched": []},
        "level": {"asked": 4, "reached": reached, "next": lack},
        **{"claims": {"level": None}, "facts": facts, "totals": results.totals(rows)},
        "cases": rows,
    }


def test_the_matrix(report: dict[str, Any]) -> None:
    matrix = results.matrix(report["cases"])
    assert matrix["add"]["F32"] == {"layouts": {"contiguous": "pass", "strided": "pass"}, "ulp": 2}
    text = markdown.page(report)
    assert "| `add` | 2 | FAIL (strided) |" in text
    assert "| `sort` |  |  | never |" in text
    assert "| add | float32 | 1000 us | 1 GB/s | 0.50 |" in text
    page = html.page(report)
    assert "why &lt;so&gt;" in page and "<so>" not in page and page.count("<svg") == 2


def test_less_than_all_is_never_a_hundred_per_cent(report: dict[str, Any]) -> None:
    report["totals"] = [{"level": 5, "name": "all", "counts": {"pass": 99_999, "fail": 1}}]
    assert "99.9 %" in markdown.page(report) and "100" not in markdown.page(report).split("##")[1]


def test_two_reports(report: dict[str, Any]) -> None:
    now = copy.deepcopy(report)
    now["cases"][1] |= {"status": "crash"}
    now["cases"][2]["data"] = {"ulp": 7.0}
    now["cases"][3] |= {"status": "pass"}
    now["cases"].append(row("op/new/F32/contiguous/usual", 5, "fail"))
    now["facts"]["speed"][0]["rate"] /= 2
    found = compare.differences(report, now)
    assert [len(found[kind]) for kind in ("broken", "repaired", "less exact", "slower")] == [1] * 4
    assert "op/add/F32/contiguous/usual: pass -> crash" in found["broken"][0]
    assert "2 -> 7 ulp" in found["less exact"][0]
    text = compare.text(report, now)
    assert "broken: 1" in text and "only in one  0" in text
    assert "no case that both ran has changed" in compare.text(report, report)


def test_what_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    for text in ("{", "[]", '{"format": 2}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(compare.ReportError, match=r"old\.json"):
            compare.read(str(path))


def test_the_support_page(tmp_path: Path, report: dict[str, Any]) -> None:
    """Written by the command; simulated devices are marked, and partial reports are rejected."""
    write(report, tmp_path / "one")
    simulated = {**copy.deepcopy(report), "device": "other", "simulated": True}
    write(simulated, tmp_path / "two")
    out = tmp_path / "support.md"
    given = [str(tmp_path / name / "report.json") for name in ("one", "two")]
    done = infini("conformance", "--support", *given, "--out", str(out))
    assert done.returncode == 0, done.stderr
    text = out.read_text(encoding="utf-8")
    assert "| other (simulated) | A chip |" in text
    assert "| `add` | 1/2, 2 ulp; FAIL | 1/2, 2 ulp; FAIL |" in text
    assert text == support.page([json.loads(Path(path).read_text()) for path in given])
    write({**report, "partial": True}, tmp_path / "one")
    done = infini("conformance", "--support", *given, "--out", str(out))
    assert done.returncode == 2 and "part of the cases" in done.stderr


def test_cases_of_an_operator_with_one_reason_share_a_line(report: dict[str, Any]) -> None:
    report["cases"] += [
        row(f"op/gelu/{dtype}/strided/usual", 4, "fail") for dtype in ("F16", "F32")
    ]
    lines = [" ".join(line.split()) for line in command.summary(report).splitlines()]
    assert "fail op/gelu/* (2) why <so>" in lines
    assert "fail op/add/F16/strided/usual why <so>" in lines
