"""A program of several ranks: `ranks_tokens.py TP PP OPTIONS FOLDER...`. Rank 0 prints as JSON for
each model: greedy tokens of the tiny prompts, tokens that are drawn, with logprobs, and embeddings;
and how many steps were recorded, and requests preempted. With the option "follows_blindly" all
ranks but the leader compute other logits."""

from __future__ import annotations

import json
import sys
from typing import Any

from infinicore.llm import Engine, EngineOptions, SamplingParams, open_model
from infinicore.llm.parallel import ParallelEngine
from tests.llm import tiny

SETTINGS: dict[str, Any] = {"device": "cpu", "cache_tokens": 2048, "block_size": 16, "max_batch": 8}
GREEDY = SamplingParams(max_tokens=tiny.TOKENS)
DRAWN = SamplingParams(max_tokens=8, temperature=1.0, seed=3, logprobs=2)


def results(engine: Engine) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, params in (("greedy", GREEDY), ("drawn", DRAWN)):
        requests = [engine.add(prompt, params) for prompt in tiny.prompts()]
        cancelled = engine.add(tiny.prompts()[1], params)
        engine.step()
        engine.cancel(cancelled)
        while engine.has_work:
            engine.step()
        made[name] = [each.output for each in requests]
    made["logprobs"] = [[each.logprob, each.top] for each in requests[2].chosen]
    made["hidden"] = engine.hidden(tiny.prompts()[1]).tolist()
    made["recorded"] = len(engine.runner._recorded)
    made["layers"] = len(engine.runner.caches)
    made["preemptions"] = engine.scheduler.preemptions
    return made


def main() -> None:
    tp, pp, options, *folders = sys.argv[1:]
    settings = {**SETTINGS, **json.loads(options), "tp": int(tp), "pp": int(pp)}
    follows_blindly = settings.pop("follows_blindly", False)
    every = []
    for folder in folders:
        engine = ParallelEngine(open_model(folder), EngineOptions(**settings))
        if follows_blindly and engine.rank != engine.stage.leader:
            logits = engine.model.logits
            object.__setattr__(engine.model, "logits", lambda hidden, real=logits: -real(hidden))
        if not engine.follow():
            every.append(results(engine))
            engine.close()
    if every:
        print(json.dumps(every))


if __name__ == "__main__":
    main()
