"""docs/differences_from_torch.md: the table of differences, and what no operator database shows.

python -m tests.opdb.page        writes the page
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from .differences import DIFFERENCES
from .rows import TORCH

PAGE = Path(__file__).parents[2] / "docs" / "differences_from_torch.md"

# Differences that torch's database has no samples of. tests/opdb/test_page.py shows each.
OTHERS = {
    "nn.Linear": "has no bias unless `bias=True` is given",
    "from_numpy": "copies, unless `copy=False` is given",
    "ones": "operators take tensors of 8 dimensions at most",
    "floor_divide": "integers divided by 0 give 0; torch raises an error",
    "Tensor.requires_grad": "is False: there are no gradients, and modules are for inference",
    "manual_seed": "the same seed gives other numbers than torch's",
}
_HEAD = """\
# Differences from torch

Functions, methods and modules follow torch {version}: names, arguments, broadcasting, promotion of
types, refusals. What differs does so on purpose. This page is written by `python -m
tests.opdb.page` from the tables that the tests check against torch's own operator database.

| where | what |
|---|---|
"""


def page() -> str:
    rows = [
        f"| {_names(each.operators) or f'`{each.example}` and others'} | {each.reason} |"
        for each in DIFFERENCES
    ]
    rows += [f"| `{name}` | {text} |" for name, text in OTHERS.items()]
    return _HEAD.format(version=TORCH) + "\n".join(rows) + "\n"


def _names(operators: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in operators)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
