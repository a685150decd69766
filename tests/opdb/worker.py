"""Drives operators in a process of its own, so that a crash is one failed row.

Requests and rows are lines of JSON. A row is announced before the call, and completed after it."""

from __future__ import annotations

import json
import random
import sys

from .compare import compare, refuses
from .samples import operators, text


def serve(name: str, dtype: str, most: int | None, seed: int) -> None:
    """All samples of an operator in one dtype, or at most this many; "error" stands for torch's
    samples of rejected calls."""
    operator = operators()[name]
    if dtype == "error":
        calls = [(call, None) for call in operator.error_samples()]
    else:
        calls = list(operator.samples(dtype))
    chosen = range(len(calls))
    if most is not None and most < len(calls):
        chosen = sorted(random.Random(f"{name} {dtype} {seed}").sample(chosen, most))
    for index in chosen:
        call, one_value = calls[index]
        row = {"operator": name, "dtype": dtype, "index": index, "call": text(call)}
        print(json.dumps(row), flush=True)
        kind, message = compare(operator, call, one_value) if one_value else refuses(operator, call)
        print(json.dumps({"kind": kind, "message": message[:400]}), flush=True)


def main() -> None:
    found = {name: [*operator.dtypes(), "error"] for name, operator in operators().items()}
    print(json.dumps(found), flush=True)
    for line in sys.stdin:
        serve(*json.loads(line))
        print("{}", flush=True)


if __name__ == "__main__":
    main()
