"""Nothing grows with the number of requests: plans, recipes, objects, blocks."""

from __future__ import annotations

import gc
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import infinicore
from infinicore import _core
from infinicore.llm import Engine, EngineOptions, SamplingParams, open_model
from infinicore.llm.runner import step_size
from tests.llm.small_llama import VOCAB

KEPT = 200  # requests; as many again must not change a count


def recipes() -> int:
    """Of all functions of the package."""
    modules = [each for name, each in sys.modules.items() if name.startswith("infinicore")]
    found = {id(f): f for each in modules for f in vars(each).values() if is_function(f)}
    return sum(map(_core.recipe_count, found.values()))


def is_function(each: Any) -> bool:
    return type(each) is _core.Function


def objects() -> int:
    """Excludes cancelled timers, of which event loops keep up to a hundred."""
    for _ in range(3):
        gc.collect()
    return sum(type(each).__name__ not in ("TimerHandle", "Context") for each in gc.get_objects())


def serve(engine: Engine, count: int, seed: int) -> None:
    """Requests of any length come one by one; some are drawn, some are cancelled."""
    draw = random.Random(seed)
    open_requests = []
    while count or open_requests:
        if count and len(open_requests) < 4:
            count -= 1
            prompt = [draw.randrange(VOCAB) for _ in range(draw.randint(1, 120))]
            params = SamplingParams(
                max_tokens=draw.randint(1, 12), temperature=draw.choice((0, 1)), ignore_eos=True
            )
            open_requests.append(engine.add(prompt, params))
        engine.step()
        if draw.random() < 0.02:
            engine.cancel(draw.choice(open_requests))
        open_requests = [each for each in open_requests if each.finish_reason is None]


def test_steps_have_few_shapes() -> None:
    sizes = [step_size(tokens) for tokens in range(1, 8193)]
    assert all(n <= size <= max(n + n / 16, n + 7) for n, size in enumerate(sizes, 1))
    assert len(set(sizes[:512])) == 51 and len(set(sizes)) == 115


def test_the_engine_keeps_nothing_of_requests(folder: Path) -> None:
    options = EngineOptions(max_batch=4, cache_tokens=1024, max_step_tokens=32, block_size=8)
    engine = Engine(open_model(folder), options)
    shapes = _core.trace_count(infinicore.paged_attention_varlen)
    serve(engine, KEPT, 1)
    # 1, 2, 4, 8, 16, 24, 32 tokens of 1, 2, 4 requests; and the recorded steps.
    assert _core.trace_count(infinicore.paged_attention_varlen) - shapes <= 7 * 3 + 3
    counts = []
    for _ in range(2):
        serve(engine, KEPT, 2)
        assert not engine.has_work and engine.pool.free == engine.pool.count
        counts.append((recipes(), _core.plan_cache_counts()[0], objects()))
    (*first, before), (*second, after) = counts
    assert first == second
    # The prefix cache uses all available blocks.
    assert after <= before + 2 * engine.pool.count


def test_the_server_keeps_nothing_of_requests(folder: Path) -> None:
    from tests.llm.served import Served

    options = {"cache_tokens": 1024, "max_batch": 4, "max_step_tokens": 32, "block_size": 8}
    server = Served(folder, prefix_cache=False, **options)

    def ask(count: int, seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(count):
            prompt = [draw.randrange(VOCAB) for _ in range(draw.randint(1, 120))]
            body = {"prompt": prompt, "max_tokens": draw.randint(1, 12), "ignore_eos": True}
            kind = draw.randrange(4)
            if kind == 0:
                assert server.ask("/v1/completions", body).status == 200
            elif kind == 1:
                assert list(server.events("/v1/completions", body))
            elif kind == 2:  # a client that disconnects
                connection, response = server.open("/v1/completions", {**body, "stream": True})
                response.read(1)
                connection.close()
            else:
                assert server.ask("/v1/completions", {**body, "temperature": "hot"}).status == 400

    def round_(seed: int) -> int:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(ask, [KEPT // 4] * 4, range(seed, seed + 4)))
        server.until("running", 0)
        return objects()

    try:
        round_(10)
        before, after = round_(20), round_(30)
    finally:
        server.close()
    # A request that is kept has more: its tokens, its ticket, its event. Connections come and go.
    assert after <= before + KEPT
