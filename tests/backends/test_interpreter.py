"""The null back end's interpreter: operators that have a program run, all others are rejected."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kit import build, process
from kit.binding import root
from kit.requirements import need
from spec.operators import OPERATORS
from spec.operators.language.nodes import OPS

DOCS = process.PROJECT / "docs" / "backends.md"
RUNNABLE = {op.name for op in OPERATORS if not op.kernel and not op.unsupported}
PARTS = 4  # each well below the time that a test may take on a busy machine

# Every operator of a part: those with a program in all dtypes, the others, which may be rejected,
# in one. Prints which of them ran, the reasons of the others, where results are off, and the cases.
PROGRAM = """
import json
from kit.drawing import Draw, NoCaseError
from kit.operator_runs import Trial
from operators.test_operators import LAYOUTS, SUPPORTED, describe, dtypes_of, rules_of

assert rt.set_kind("null") == "INFINI_STATUS_SUCCESS"
CASES = [("strided", "usual"), ("stride-0", "usual"), ("mixed", "large"), ("contiguous", "empty")]
part, parts = map(int, sys.argv[1:])
ran, refused, off, cases = set(), {}, [], 0

def run(operator, dtype, layout, size, seed):
    global cases
    try:
        draw = Draw(operator, rules_of(operator), dtype, size, seed)
    except NoCaseError:
        return
    make = Maker(rt)
    trial = Trial(make, draw, *LAYOUTS[layout])
    if trial.described.status == "INFINI_STATUS_NOT_IMPLEMENTED":
        refused[operator.name] = rt.message()
    else:
        try:
            trial.four_ways()
            ran.add(operator.name)
            cases += 1
        except AssertionError as error:
            off.append(f"{operator.name} {dtype} {layout} {size}: {error}\\n{describe(draw)}")
    make.end()

for operator in SUPPORTED[part::parts]:
    dtypes = dtypes_of(operator)
    if operator.kernel:
        run(operator, dtypes[0], *CASES[0], 0)
        continue
    for dtype in dtypes:
        sizes = set(rules_of(operator).kinds)
        if operator.family == "elementwise" or dtype not in ("F64", "I64"):
            sizes.discard("large")  # it is there for long sums
        for seed, (layout, size) in enumerate(CASES):
            if size in sizes:
                run(operator, dtype, layout, size, seed)
print(json.dumps([sorted(ran), refused, off, cases]))
"""


@pytest.mark.parametrize("part", range(PARTS))
def test_operators(null: Path, part: int) -> None:
    said = process.python(
        PROGRAM, part, PARTS, timeout=220, INFINI_BACKEND_PATH=str(null), INFINI_DEVICE="null"
    )
    ran, refused, off, cases = json.loads(said.splitlines()[-1])
    print(f"{len(ran)} of {len(ran) + len(refused)} operators run, in {cases} cases")
    assert not off, "\n".join([f"{len(off)} cases are off:", *off[:20]])
    mine = {op.name for op in [op for op in OPERATORS if not op.unsupported][part::PARTS]}
    assert set(ran) | set(refused) == mine
    assert not set(ran) & set(refused)
    assert set(ran) >= mine & RUNNABLE
    assert all("kernel of its own" in reason for reason in refused.values()), refused


def test_half_of_the_operators_have_a_program() -> None:
    assert 2 * len(RUNNABLE) >= len(OPERATORS), f"{len(RUNNABLE)} of {len(OPERATORS)}"
    stated = re.search(r"over (\d+) operators", DOCS.read_text())
    assert stated, "docs/backends.md says how many operators the interpreter runs"
    assert len(RUNNABLE) > int(stated[1])


def test_refusals(tmp_path: Path) -> None:
    need("c++")
    source, program = Path(__file__).parent / "interpreter.cc", tmp_path / "interpreter"
    options = ["-std=c++17", *build.WARNINGS, f"-I{root() / 'include'}"]
    build.compile_([build.CXX, *options, str(source), "-o", str(program)])
    done = process.run([str(program), str(len(OPS))])
    assert (done.returncode, done.stdout) == (0, "ok\n")


# Programs made by the fuser: a map of maps, and folds with the maps around them.
FUSED = """
import infinicore as ic
from infinicore.nn import functional as F

def compute(x, w):
    y = F.gelu(x * w + 1) - x
    return y, F.softmax(y.exp() + w, -1), F.rms_norm(x, [33], w) * 2

ic.manual_seed(1)
drawn = ic.randn(2, 5, 33, device="cpu"), ic.randn(33, device="cpu")
expected = compute(*drawn)
given = [tensor.to("null") for tensor in drawn]
with ic.record() as made:
    results = compute(*given)
for _ in range(2):
    made.graph.run()
for result, wanted in zip(results, expected, strict=True):
    assert result.device == ic.device("null")
    print((result.cpu() - wanted).abs().max().item())
assert any("+" in node.name for node in made.graph.nodes), made.graph
"""


def test_fused_programs(null: Path) -> None:
    said = process.python(FUSED, INFINI_BACKEND_PATH=str(null), INFINI_DEVICE=None)
    differences = [float(line) for line in said.split()]
    assert len(differences) == 3
    assert max(differences) < 1e-6
