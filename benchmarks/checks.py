"""Whether a result equals torch's, with the tolerances of the tests (tests/kit/functions.py).

An element may be off by the relative tolerance of its type, and by the absolute one times the
root mean square of the expected result: a sum of thousands of terms is rounded at their scale.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

KIT = Path(__file__).parents[1] / "tests" / "kit" / "functions.py"
CHUNK = 1 << 22  # elements compared at a time, as float64


@cache
def tolerances() -> dict[str, tuple[float, float]]:
    """Relative and absolute tolerance by the name of torch's type. The file is parsed instead of
    imported, because the tests' kit needs pytest."""
    tree = ast.parse(KIT.read_text())
    found = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CLOSE"
    )
    table = next(found)
    assert isinstance(table, ast.Dict)
    pairs = zip(table.keys, table.values, strict=True)
    names = ((ast.unparse(key).rpartition(".")[2], pair) for key, pair in pairs if key)
    return {name: ast.literal_eval(pair) for name, pair in names}


def difference(ours: Any, theirs: Any, close: float = 1.0) -> str:
    """What is wrong with a result of ours, given as a torch tensor, or nothing. `close` multiplies
    the tolerances of floats as it does in the tests; 0 requires equal values."""
    a, b = ours.reshape(-1), theirs.reshape(-1)
    if a.numel() != b.numel():
        return f"{a.numel()} elements, torch has {b.numel()}"
    name = str(ours.dtype).removeprefix("torch.")
    relative, absolute = (close * each for each in tolerances().get(name, (0.0, 0.0)))
    finite = (y.double().nan_to_num(0.0, 0.0, 0.0) for y in b.split(CHUNK))
    scale = (sum(float(y.square().sum()) for y in finite) / max(len(b), 1)) ** 0.5
    wrong, worst = 0, 0.0
    for x, y in zip(a.split(CHUNK), b.split(CHUNK), strict=True):
        x, y = x.double(), y.double()
        off = (x - y).abs()
        bad = ~(off <= relative * y.abs() + absolute * scale)
        bad &= ~((x == y) | (x.isnan() & y.isnan()))
        wrong += int(bad.sum())
        if bad.any():
            worst = max(worst, float(off[bad].nan_to_num(float("inf")).max()))
    if not wrong:
        return ""
    return f"{wrong} of {a.numel()} elements differ from torch's, by up to {worst:.3g}"
