"""Writes <vendor>.json, the facts about a vendor's libraries, from the collected data.

python tests/simulated/facts/extract.py FOLDER    # with runtime.json and collectives.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VENDORS = {"ascend": "hccl", "cambricon": "cncl", "kunlun": "bkcl (xccl)"}


def extract(folder: Path) -> None:
    runtime = json.loads((folder / "runtime.json").read_text())
    collectives = json.loads((folder / "collectives.json").read_text())
    for kind, library in VENDORS.items():
        found = next(v for v in runtime["vendors"] if v["vendor"] == kind)
        group = next(c for c in collectives["libraries"] if c["name"] == library)
        facts: dict[str, Any] = {"vendor": kind}
        for part, given in (("runtime", found), ("collectives", group)):
            functions = {**given["functions"], **given.get("extra_functions", {})}
            facts[part] = {
                "functions": {name: fact for name, fact in functions.items() if fact},
                "enums": given["enums"],
            }
        (HERE / f"{kind}.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    extract(Path(sys.argv[1]))
