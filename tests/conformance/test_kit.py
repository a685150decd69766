"""The kit on the CPU, and on a back end with faults: each is detected, named, and fails only its
case."""

from __future__ import annotations

from pathlib import Path

import pytest

from .kit_runs import conformance

SAMPLE = (
    *("op/silu/F32/contiguous/usual", "op/gemm/F16/strided/usual", "op/softmax/BF16/*/usual"),
    *("op/sort/I32/*/one", "op/add/I64/unaligned/usual"),
)


def only(*patterns: str) -> list[str]:
    return ["--exhaustive", *(word for pattern in patterns for word in ("--only", pattern))]


def test_levels_of_the_cpu(tmp_path: Path) -> None:
    """A complete run of three levels reports the level and the share; its report has all parts."""
    done = conformance(tmp_path, "--device", "cpu", "--level", "3")
    assert done.status == 0, done.out
    assert done.report["level"]["reached"] == 3, done.out
    assert "level reached: 3" in done.out
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "| 2 | streams and events |" in text and "100.0 %" in text
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert (
        "<svg" in page
        and "<script" not in page
        and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    )


def test_operators_of_the_cpu(tmp_path: Path) -> None:
    """A selection of cases has errors in units of the last place, but neither level nor share."""
    done = conformance(tmp_path, "--device", "cpu", *only(*SAMPLE))
    assert done.status == 0, done.out
    rows = done.report["cases"]
    assert {row["status"] for row in rows} == {"pass"}, done.out
    assert {row["id"].split("/")[1] for row in rows} == {"silu", "gemm", "softmax", "sort", "add"}
    assert 0 <= done.of("op/silu/F32/contiguous/usual")["data"]["ulp"] < 8
    assert done.report["partial"] and "a partial run has no level" in done.out
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "%" not in text and "| `silu` |" in text


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    """Nothing after level 0 is tried, and none of it counts as a pass."""
    done = conformance(tmp_path, "--device", "nochip", "--level", "1")
    assert done.status == 1
    assert done.report["level"]["reached"] == -1
    assert done.of("memory/sizes")["status"] == "not run"
    assert "nochip" in done.of("load/table")["words"]


def test_a_wrong_copy(tmp_path: Path, broken: Path) -> None:
    given = ("--device", "mychip", "--backend", str(broken), "--level", "1")
    done = conformance(tmp_path, *given, MYCHIP_FAULT="copy")
    assert done.status == 1 and done.report["level"]["reached"] == 0, done.out
    row = done.of("copies/directions")
    assert row["status"] == "fail" and "bytes are wrong" in row["words"]
    assert done.of("memory/sizes")["status"] == "pass"
    assert "copies/directions" in done.out


@pytest.mark.parametrize(("fault", "words"), [("crash", "SIGABRT"), ("hang", "no answer after")])
def test_an_operator_that_ends_its_process(
    tmp_path: Path, broken: Path, fault: str, words: str
) -> None:
    """The cases before and after it are run."""
    cases = [f"op/{name}/F32/contiguous/usual" for name in ("abs", "silu", "tanh")]
    given = ("--device", "mychip", "--backend", str(broken), "--timeout", "20", "--jobs", "1")
    done = conformance(tmp_path, *given, *only(*cases), MYCHIP_FAULT=fault)
    assert done.status == 1
    assert [done.of(case)["status"] for case in cases] == ["pass", fault, "pass"], done.out
    assert words in done.of(cases[1])["words"]
    assert f"1 {fault}" in done.out


def test_the_operator_of_the_porting_page(tmp_path: Path, broken: Path) -> None:
    given = ("--device", "mychip", "--backend", str(broken))
    done = conformance(tmp_path, *given, *only("op/gemm/*/usual"))
    assert done.status == 0, done.out
    assert {row["status"] for row in done.report["cases"]} == {"pass"}


def test_a_library_that_is_no_back_end(tmp_path: Path) -> None:
    library = tmp_path / "libinfini_odd.so"
    library.write_bytes(b"not a library")
    done = conformance(tmp_path, "--device", "odd", "--backend", str(library), "--level", "0")
    assert done.status == 1 and done.report["level"]["reached"] == -1
    missing = conformance(tmp_path, "--device", "odd", "--backend", str(tmp_path / "none.so"))
    assert missing.status == 2 and "there is no such file" in missing.out


def test_without_numpy_pytest_and_torch(tmp_path: Path) -> None:
    """Levels 0 to 3 have no requirements; level 4 reports its requirements, and is not reached."""
    text = (
        "import sys\nfor name in ('numpy', 'scipy', 'pytest', 'torch'): sys.modules[name] = None\n"
    )
    (tmp_path / "sitecustomize.py").write_text(text, encoding="utf-8")
    import infinicore

    package = str(Path(infinicore.__file__).parents[1])
    path = f"{tmp_path}:{package}"
    done = conformance(tmp_path, *only("memory/sizes", "streams/order"), PYTHONPATH=path)
    assert done.status == 0 and "2 pass" in done.out, done.out
    assert "infinicore[conformance]" in done.out
    whole = conformance(tmp_path, "--level", "4", "--list", PYTHONPATH=path)
    assert "op/" not in whole.out
