"""What a call costs: `python benchmarks/overhead.py [--json FILE] [--quick]`.

Tensors so small that the work is nothing, beside torch in the same process, in alternating rounds;
the best round of each side counts. `ours / torch` below 1 means that infinicore takes less time.
The decode block (18 operators of a small Llama-type layer) runs eagerly and recorded.
"""

from __future__ import annotations

import argparse
import json
import platform
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass

import infinicore
from infinicore.cli.block import DecodeBlock


@dataclass
class Row:
    what: str
    ours_ns: float
    against: str
    theirs_ns: float
    goal: float | None = None  # of ours / theirs, at most

    @property
    def ratio(self) -> float:
        return self.ours_ns / self.theirs_ns

    @property
    def met(self) -> str:
        if self.goal is None:
            return ""
        return f"{'met' if self.ratio <= self.goal else 'MISSED'} (<= {self.goal})"


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int, rounds: int
) -> tuple[float, float]:
    """Nanoseconds of each: the rounds alternate, the best of each side counts."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for side, operation in enumerate((ours, theirs)):
            best[side] = min(best[side], timeit.timeit(operation, number=repeats) / repeats * 1e9)
    return best[0], best[1]


def calls(quick: bool) -> list[Row]:
    import torch

    torch.set_num_threads(1)
    repeats, rounds = (2000, 7) if quick else (10000, 15)
    a, b, c = (torch.rand(8, 8) for _ in range(3))
    x, y, z = (infinicore.from_torch(t) for t in (a, b, c))
    cases: list[tuple[str, Callable[[], object], Callable[[], object], float | None]] = [
        (
            "add(x, y, out=z), 8x8",
            lambda: infinicore.add(x, y, out=z),
            lambda: torch.add(a, b, out=c),
            0.4,
        ),
        ("add(x, y), 8x8", lambda: infinicore.add(x, y), lambda: torch.add(a, b), 0.4),
        ("x + y, 8x8", lambda: x + y, lambda: a + b, None),
        ("x * 0.5, 8x8", lambda: x * 0.5, lambda: a * 0.5, None),
        ("matmul(x, y), 8x8", lambda: infinicore.matmul(x, y), lambda: torch.matmul(a, b), None),
        ("softmax(x, -1), 8x8", lambda: x.softmax(-1), lambda: a.softmax(-1), None),
        ("x.sum(-1), 8x8", lambda: x.sum(-1), lambda: a.sum(-1), None),
        ("x[2]", lambda: x[2], lambda: a[2], None),
        ("x[1:5, ::2]", lambda: x[1:5, ::2], lambda: a[1:5, ::2], None),
        ("x.transpose(0, 1)", lambda: x.transpose(0, 1), lambda: a.transpose(0, 1), None),
        ("x.view(64)", lambda: x.view(64), lambda: a.view(64), None),
        ("empty((8, 8))", lambda: infinicore.empty((8, 8)), lambda: torch.empty((8, 8)), None),
        (
            "from_torch / torch.from_dlpack",
            lambda: infinicore.from_torch(a),
            lambda: torch.from_dlpack(a),
            None,
        ),
        (
            "from_dlpack / torch.from_dlpack",
            lambda: infinicore.from_dlpack(a),
            lambda: torch.from_dlpack(a),
            None,
        ),
    ]
    rows = []
    for what, ours, theirs, goal in cases:
        ours(), theirs()
        times = compare(ours, theirs, repeats, rounds)
        rows.append(Row(what, times[0], "torch", times[1], goal))
    return rows


def blocks(quick: bool) -> list[Row]:
    rounds = 5 if quick else 15
    rows = []
    for hidden in (64, 576) if quick else (64, 256, 576):
        block = DecodeBlock(hidden=hidden, heads=max(hidden // 64, 2))
        eager, recorded = block.eager(), block.recorded()
        eager(), recorded()
        ours, theirs = compare(recorded, eager, 20, rounds)
        rows.append(Row(f"decode block, hidden {hidden}, recorded", ours, "eager", theirs))
        reference = block.torch()
        if reference is not None:
            ours, theirs = compare(eager, reference, 20, rounds)
            rows.append(Row(f"decode block, hidden {hidden}, eager", ours, "torch", theirs))
            ours, theirs = compare(recorded, reference, 20, rounds)
            rows.append(Row(f"decode block, hidden {hidden}, recorded", ours, "torch", theirs))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    rows = calls(options.quick) + blocks(options.quick)
    print(f"infinicore {infinicore.__version__}, {platform.machine()}\n")
    print(f"{'what':44} {'ours us':>9} {'against':>8} {'us':>9} {'ratio':>6}  goal")
    for row in rows:
        print(
            f"{row.what:44} {row.ours_ns / 1e3:9.2f} {row.against:>8} {row.theirs_ns / 1e3:9.2f}"
            f" {row.ratio:6.2f}  {row.met}"
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([{**asdict(row), "ratio": row.ratio} for row in rows], file, indent=1)


if __name__ == "__main__":
    main()
