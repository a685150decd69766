"""Prints how infinicore compares with torch's operator database, by category.

python -m tests.opdb                     a sample of every operator
python -m tests.opdb --all               the whole database
python -m tests.opdb add nn.functional.pad
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from .differences import DIFFERENCES, explain
from .rows import SAMPLES, TORCH, Row, drive


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.opdb")
    parser.add_argument("operators", nargs="*", help="names in the database; all by default")
    parser.add_argument("--all", action="store_true", help="every sample, not a few of each")
    parser.add_argument("--seed", type=int, help="of the sample; a new one if it is not given")
    given = parser.parse_args()
    for name in ("torch", "expecttest"):
        if importlib.util.find_spec(name) is None:
            parser.error(f"needs {name}: pip install '.[test-all]'")
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    whole = given.all or bool(given.operators)
    print(f"The table of differences is about torch {TORCH}.")
    print("all samples" if whole else f"{SAMPLES} samples of each dtype; to repeat: --seed {seed}")

    found: Counter[tuple[str, str]] = Counter()
    operators: dict[str, set[str]] = {}
    unexplained: list[Row] = []

    def report(row: Row) -> None:
        category, reason = categorise(row)
        found[category, reason] += 1
        operators.setdefault(category, set()).add(row.operator)
        if category == "differs":
            unexplained.append(row)

    wanted = set(given.operators)
    drive(report, lambda name: not wanted or name in wanted, None if whole else SAMPLES, seed)
    for category in ("right", "differs on purpose", "refused with a reason", "differs"):
        count = sum(n for (each, _), n in found.items() if each == category)
        print(f"{count:7} {category}, in {len(operators.get(category, ()))} operators")
        for (each, reason), n in sorted(found.items(), key=lambda item: -item[1]):
            if each == category and reason:
                print(f"{n:15} {reason}")
    skipped = sum(n for (each, _), n in found.items() if each == "skipped")
    print(f"{skipped:7} samples that torch itself refuses, or accepts though its table says not")
    print(f"{len(DIFFERENCES):7} rows in the table of differences")
    for row in sorted(unexplained, key=str):
        print(row)
    return bool(unexplained)


def categorise(row: Row) -> tuple[str, str]:
    if row.kind in ("right", "skipped"):
        return row.kind, ""
    difference = explain(row)
    if difference is None:
        return "differs", ""
    category = "refused with a reason" if row.kind == "refused" else "differs on purpose"
    return category, difference.reason


if __name__ == "__main__":
    sys.exit(main())
