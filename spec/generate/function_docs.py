"""The reference pages of the Python functions: signatures and docstrings, read off the sources."""

from __future__ import annotations

import ast
from pathlib import Path

from .. import Api, First
from . import text
from .package_stubs import PACKAGE, modules, other_names, parts, public

PART = "docs"


def files(api: Api, first: First) -> dict[str, str]:
    pages = {}
    rows = []
    for path, tree in _sources().items():
        names = public(tree)
        if not names:
            continue
        inside = path.relative_to(PACKAGE).with_suffix("").parts
        prefix = "infinicore.nn." if inside[0] == "nn" else "infinicore."
        if inside[:2] == ("nn", "functional"):
            prefix = "infinicore.nn.functional."
        page = "-".join(part.strip("_") for part in inside)
        title = (ast.get_docstring(tree) or page).splitlines()[0].rstrip(".:")
        nodes = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        listed = [(name, nodes.get(name)) for name in names]
        pages[f"docs/reference/functions/{page}.md"] = _page(
            title, prefix, listed, other_names(tree)
        )
        known = " ".join(f"`{name}`" for name in names)
        rows.append(f"| [{title}](functions/{page}.md) | {known} |")
    index = "\n".join(rows)
    pages["docs/reference/functions.md"] = (
        f"# Functions\n\n{text.NOTE}\n\n| family | names |\n|---|---|\n{index}"
    )
    return pages


def _sources() -> dict[Path, ast.Module]:
    layers = [path for path in sorted((PACKAGE / "nn").glob("*.py")) if path.stem[0] != "_"]
    return {
        **modules("functions"),
        **modules("nn/functional"),
        **parts(),
        **{path: ast.parse(path.read_text(encoding="utf-8")) for path in layers},
    }


def _page(
    title: str,
    prefix: str,
    listed: list[tuple[str, ast.FunctionDef | ast.ClassDef | None]],
    others: dict[str, str],
) -> str:
    sections = [f"# {title}\n\n{text.NOTE}\n"]
    for name, node in listed:
        head = f"{prefix}{name}"
        if node is None:  # generated for several ranks, or an alias
            same = f"Another name of `{others[name]}`." if name in others else ""
            sections.append(f"## {name}\n\n{same or f'`help({head})` has its text.'}\n")
            continue
        if isinstance(node, ast.FunctionDef):
            head += f"({ast.unparse(node.args)})"
        doc = ast.get_docstring(node) or ""
        prose, _, example = doc.partition(">>>")
        sections.append(f"## {name}\n\n```python\n{head}\n```\n\n{prose.strip()}\n")
        if example:
            sections.append(f"```python\n>>>{example.rstrip()}\n```\n")
    return "\n".join(sections)
