"""The committed result files are complete, and docs/performance.md is what they give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import page
import pytest
import results

COMMITTED = sorted(results.FOLDER.glob("*.json"))
STAMP = {
    "commit": "abc1234",
    "date": "2026-01-01",
    "quick": True,
    "processor": "a processor",
    "architecture": "x86_64",
    "cores": 4,
    "threads": 2,
    "versions": dict.fromkeys(results.VERSIONS, "1"),
}


def suite(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**STAMP, **more, "rows": list(rows)}


def operator(name: str, ours: float, theirs: float | None, **more: Any) -> dict[str, Any]:
    named = {"group": "norm", "name": name, "shape": "4x4", "dtype": "F32", "decode": False}
    amounts = {"reads": 2**24, "writes": 2**24, "limit_s": 0.5 * ours, "failed": ""}
    return {**named, **amounts, "ours_s": ours, "against": "torch", "theirs_s": theirs, **more}


def on_device(title: str, ours: float, theirs: float, **more: Any) -> dict[str, Any]:
    known = {"group": "map", "unit": "TB/s", "reads": 4e8, "writes": 4e8, "flops": 0.0}
    return {**known, "title": title, "ours_s": ours, "against": "x", "theirs_s": theirs, **more}


def example() -> dict[str, Any]:
    times = {"ours_s": 1e-6, "against": "torch", "theirs_s": 2e-6}
    copy = {"what": "Memcpy", "case": "4 KiB", "ours_s": 1e-7}
    rates = {"copy": {"1048576": 1e10}, "read": {"1048576": 2e10}, "write": {"1048576": 1e10}}
    limits = {**rates, "issue": 1e9, "lanes": 4, "products": {"F32": 1e11}, "tiny": {"add": 200.0}}
    moved = {"operation": "all_reduce", "bytes": 8, "ranks": 2}
    summary = {"cases": 2, "failed": 1, "mean": 1.5, "worst": 0.5, "slower": 1, "much_slower": 1}
    random_cases = suite(
        {"case": "add/float32/0/1/64", "call": "add(float32[64])", "failed": "", **times},
        {"case": "mul/float32/0/1/64", "call": "mul(float32[64])", "failed": "refused: no"},
        summary=summary,
        seed=7,
    )
    return {
        "machine": "example",
        "suites": {
            "overhead": suite({"what": "add(x, y)", **times}, {"what": "x[2]", **times}),
            "operators": suite(
                operator("a", 1e-3, 4e-3),
                operator("b", 2e-3, 1e-3),
                operator("c", 1e-3, None),
                {**operator("d", 0, None), "ours_s": None, "failed": "3 of 16 elements differ"},
                limits=limits,
            ),
            "operators_device": suite(
                on_device("add", 2e-4, 4e-4),
                on_device("sum", 1e-4, 4e-4, writes=100.0),
                on_device("slow", 8e-4, 4e-4, others={"a": 4e-4, "b": "no kernel"}),
                {"group": "failed", "title": "lost", "failed": "the device is lost"},
                device="chip",
                limits={"copy": 3e12, "product": 6e14},
            ),
            "runtime": suite(
                {**copy, "against": "memcpy", "theirs_s": 2e-7},
                {**copy, "against": "fastest copy", "theirs_s": 5e-8},
            ),
            "collectives": suite(
                {"mode": "latency", **moved, "seconds": {"infinicore": 1e-6, "gloo": 3e-6}},
                {"mode": "throughput", **moved, "seconds": {"infinicore": 1e-6, "gloo": 1e-6}},
            ),
            "wild": random_cases,
            "wild_device": random_cases,
        },
    }


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_results_are_complete(path: Path) -> None:
    result = json.loads(path.read_text())
    assert result["machine"] == path.stem
    assert results.problems(result) == []


def test_page_is_current() -> None:
    assert COMMITTED
    assert page.PAGE.read_text() == page.write(results.load()), "run: python benchmarks/page.py"


def test_page_of_every_suite() -> None:
    assert results.problems(example()) == []
    text = page.write([example()])
    assert "@" not in text.replace("@example", "")
    assert "Not measured yet" not in text and text.count("commit abc1234, 2026-01-01") == 7
    assert "| norm | 3 | 1.41 | 0.50 | 1 | 50 % |" in text
    assert "| norm/b 4x4 F32 | 2 ms | 1 ms | 0.50 |" in text
    assert "* norm d 4x4 F32: 3 of 16 elements differ" in text
    assert "* failed lost: the device is lost" in text and "a 2.00 TB/s, b n/a" in text
    assert "memcpy 200 ns (2.00), fastest copy 50 ns (0.50)" in text
    assert "| latency, x gloo | 8 B |" in text and "| throughput, x gloo | 8 B |" in text
    assert "Seed 7: 2 cases, mean 1.50; slower than torch: 1 (50 %), below 0.8: 1." in text
    assert "| `add(float32[64])` | 1 µs | 2 µs | 2.00 |" in text
    assert "* mul(float32[64]): refused: no" in text
    assert "`Memcpy` as fast as memcpy: 1 of 1" in text and "2x gloo on one host: 1 of 2" in text


def test_rows_never_exceed_the_limit_on_a_device() -> None:
    import device_report

    found = example()["suites"]["operators_device"]
    found["rows"] = [row for row in found["rows"] if not row.get("failed")]
    limits = device_report.limits_of(found)
    assert limits["copy"] == 8e8 / 2e-4 and limits["read"] == pytest.approx(4e8 / 1e-4)
    parts = [device_report.part_of_limit(row, limits) for row in found["rows"]]
    assert max(parts) <= 1.0 + 1e-6


@pytest.mark.parametrize("path", sorted(results.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_no_measured_row_exceeds_the_limit(path: Path) -> None:
    import device_report

    if not (found := json.loads(path.read_text())["suites"].get("operators_device")):
        return
    limits = device_report.limits_of(found)
    for row in found["rows"]:
        if row["reads"] + row["writes"] > 1 << 28:
            assert (device_report.part_of_limit(row, limits) or 0) <= 1.0 + 1e-6, row["name"]


def test_problems_are_named() -> None:
    wrong = example()
    del wrong["suites"]["runtime"]["date"]
    del wrong["suites"]["overhead"]["rows"][0]["ours_s"]
    wrong["suites"]["operators"]["rows"][0]["failed"] = "differs"
    told = results.problems(wrong)
    assert "runtime: no date" in told and "overhead: row 0 has no ours_s" in told
    assert any("why a failed row has a time" in each for each in told)


def test_merge_keeps_other_suites(tmp_path: Path) -> None:
    path, suites = tmp_path / "new" / "m.json", example()["suites"]
    results.merge(path, "m", {"runtime": suites["runtime"]})
    results.merge(path, "m", {"overhead": {**suites["overhead"], "commit": "later"}})
    found = json.loads(path.read_text())["suites"]
    assert found["runtime"] == suites["runtime"] and found["overhead"]["commit"] == "later"
    assert path.read_text().count("\n    {") == 4, "one line for each row"
