"""The pages: links are valid, examples run, and the names in them exist."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import process
from kit.requirements import need
from spec.cpp import HEADERS
from spec.generate.__main__ import generate

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    generate(out, ["docs"])
    return out / "docs"


def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page.read_text("utf-8")) if kind == language]


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path, generated: Path) -> None:
    for target in LINK.findall(prose(page)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        if name.startswith("reference/"):  # installed next to the pages
            there = generated / name
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name}: {target}"


def test_links_of_the_reference(generated: Path) -> None:
    pages = sorted(generated.rglob("*.md"))
    assert pages
    for page in pages:
        for target in LINK.findall(prose(page)):
            name = target.partition("#")[0]
            if "://" in target:
                continue
            there = page.parent / name if name else page
            if not there.exists():  # a link to a page that is written by hand
                there = ROOT / "docs" / Path(name).name
            assert there.exists(), f"{page.relative_to(generated)}: {target}"


# ---- Python -------------------------------------------------------------------------------------

PYTHON = [(page, i) for page in PAGES for i in range(len(blocks(page, "python")))]


@pytest.mark.parametrize(("page", "number"), PYTHON, ids=lambda value: getattr(value, "name", None))
def test_examples_are_python(page: Path, number: int) -> None:
    ast.parse(blocks(page, "python")[number])


def test_examples_of_tensors_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = need("torch")
    monkeypatch.chdir(tmp_path)  # one of them writes a file
    import infinicore

    names: dict[str, Any] = {
        "t": torch.ones(2, 2),
        "weight": infinicore.randn(8, 8),
        "bias": infinicore.randn(8),
        "new": infinicore.ones(2, 8),
    }
    for body in blocks(ROOT / "docs" / "tensors.md", "python"):
        exec(compile(body, "tensors.md", "exec"), names)
    expected = torch.nn.functional.gelu(
        torch.nn.functional.linear(
            torch.ones(2, 8), torch.from_dlpack(names["weight"]), torch.from_dlpack(names["bias"])
        )
    )
    assert torch.allclose(torch.from_dlpack(names["z"]), expected * 2, atol=1e-5)
    assert names["softcap"](infinicore.ones(2), cap=2.0).shape == (2,)


def test_examples_of_the_array_api_run() -> None:
    need("scipy", "sklearn")
    program = "\n".join(blocks(ROOT / "docs" / "array_api.md", "python"))
    done = process.run([sys.executable, "-c", program], timeout=240)
    assert done.returncode == 0, done.stderr


def test_examples_of_the_readme_run() -> None:
    torch = need("torch")
    names: dict[str, Any] = {"t": torch.ones(4, 64)}
    for body in blocks(ROOT / "README.md", "python"):
        exec(compile(body, "README.md", "exec"), names)


def test_names_in_the_text_exist() -> None:
    import infinicore

    graph = infinicore.Graph
    owners = {"infinicore": infinicore, "nn": infinicore.nn, "graph": graph}
    owners |= {"F": infinicore.nn.functional, "rt": infinicore.rt, "op": infinicore.op}
    for page in (ROOT / "README.md", ROOT / "docs" / "tensors.md"):
        for code in re.findall(r"`([^`]+)`", prose(page)):
            found = re.match(r"@?(infinicore|nn|F|graph|rt|op)((?:\.\w+)+)", code)
            value = owners[found.group(1)] if found else None
            for part in found.group(2).split(".")[1:] if found else ():
                assert hasattr(value, part), f"{page.name}: `{code}`"
                value = getattr(value, part)


# ---- C++ ----------------------------------------------------------------------------------------


def test_names_in_the_page_on_cpp_are_declared() -> None:
    headers = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "include").rglob("*.h*"))
    )
    generated = (f"{h.namespace} {f.full_name}" for h in HEADERS for f in h.functions)
    headers = " ".join([headers, *generated])
    declared = set(re.findall(r"\w+", headers))
    page = ROOT / "docs" / "cpp.md"
    used: set[str] = set()
    for body in blocks(page, "cpp"):
        code = re.sub(r"//.*", "", body)
        used |= set(re.findall(r"(?:::|->)(\w+)", code))
        used |= set(re.findall(r"\b(?:Tensor|DeviceEvent|Device|DataType)\b", code))
    for code in re.findall(r"`([^`]+)`", prose(page)):
        if found := re.fullmatch(r"(\w+)\([^)]*\)", code):
            used.add(found.group(1))
    missing = used - declared - {"std", "cout", "string", "shared_ptr", "runtime_error", "fork"}
    assert not missing, sorted(missing)
