"""A transformer layer, operator by operator and as a recorded graph."""

from __future__ import annotations

import infinicore
from infinicore.cli.block import DecodeBlock
from infinicore.cli.demo.rows import Row, Setting, against, fastest
from infinicore.cli.table import duration

HIDDEN, HEADS, GROUPS = 256, 4, 2
TOKENS = 32
LIMIT = 1e-4  # of the difference, for results of about 1


def show(setting: Setting) -> list[Row]:
    """Both versions process the same tokens in order, each with its own cache."""
    setting.step("weights")
    eager, recorded = (DecodeBlock(hidden=HIDDEN, heads=HEADS, groups=GROUPS) for _ in range(2))
    run_eager = eager.eager()
    setting.step("recording")
    replay = recorded.recorded()
    operators, launches = len(recorded.graph.recorded), len(recorded.graph.nodes)
    differences = []
    for position in range(TOKENS):
        setting.step(f"token {position + 1} of {TOKENS}")
        token = infinicore.randn((1, HIDDEN))
        for block in (eager, recorded):
            block.x.copy_(token)
            block.position.fill_(position)
        expected = run_eager()
        replay()
        differences.append(float((recorded.result - expected).abs().max().item()))
    worst = max(differences)
    is_equal = all(difference <= LIMIT for difference in differences)
    setting.step("timing")
    slow, fast = fastest(run_eager), fastest(replay)
    return [
        Row(f"{operators} operators, one by one", None, duration(slow), slow),
        Row(
            f"recorded: {launches} launches",
            is_equal,
            duration(fast),
            fast,
            against(slow, fast),
        ),
        Row(f"same results, {TOKENS} tokens", is_equal, f"{worst:.0e} apart" if worst else "equal"),
    ]
