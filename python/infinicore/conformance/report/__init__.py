"""Reports: report.json has everything, report.md and report.html are generated from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write(report: dict[str, Any], folder: Path) -> Path:
    """Writes the three files; returns the page."""
    from infinicore.conformance.report import html, markdown

    folder.mkdir(parents=True, exist_ok=True)
    as_json = json.dumps(report, indent=1, ensure_ascii=False)
    (folder / "report.json").write_text(as_json + "\n", encoding="utf-8")
    (folder / "report.md").write_text(markdown.page(report), encoding="utf-8")
    (folder / "report.html").write_text(html.page(report), encoding="utf-8")
    return folder / "report.html"
