"""Benchmark: prompt processing and generation speed."""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infinicore.llm.sampling import SamplingParams


def bench(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    """The command `infini bench`; `settings` are those of the engine."""
    from infinicore.llm.llm import LLM

    words = options.batch.split(",")
    if not all(word.strip().isdecimal() and int(word) > 0 for word in words):
        raise ValueError(f"--batch is {options.batch}: expected numbers above 0, as in 1,8,64")
    batches = [int(word) for word in words]
    for name in ("prompt", "tokens", "repeat"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is {getattr(options, name)}: expected 1 or more")
    length = options.prompt + options.tokens + 1
    settings["max_batch"] = max(batches)
    settings["max_length"] = options.max_length or length
    settings["cache_tokens"] = options.cache_tokens or (length + 64) * max(batches)
    settings["prefix_cache"] = False  # each round processes its prompts again
    begin = time.monotonic()
    llm = LLM(options.model, **settings)
    load = time.monotonic() - begin
    if llm.follow():
        return 0
    rows = [measure(llm.engine, options.prompt, options.tokens, n, options.repeat) for n in batches]
    llm.close()
    made: dict[str, Any] = {
        "model": str(options.model),
        "device": str(llm.engine.device),
        "dtype": str(llm.engine.dtype).removeprefix("infinicore."),
        "prompt_tokens": options.prompt,
        "generated_tokens": options.tokens,
        "load_seconds": round(load, 3),
        **rows[0],
        "batches": rows,
        "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    if options.against:
        made["against"] = _beside(options, made)
    _show(made)
    if options.json:
        text = json.dumps(made, indent=2)
        if options.json == "-":
            print(text)
        else:
            Path(options.json).write_text(text + "\n", encoding="utf-8")
    return 0


def measure(engine: Any, prompt: int, tokens: int, batch: int, repeat: int) -> dict[str, Any]:
    """The best of several rounds: all prompts are processed, then all requests generate."""
    import random

    draw = random.Random(1)
    ids = [[draw.randrange(engine.config.vocab) for _ in range(prompt)] for _ in range(batch)]
    params = SamplingParams(max_tokens=tokens, ignore_eos=True)
    read, made = [], []
    for _ in range(repeat + 1):  # the first warms up
        requests = [engine.add(each, params) for each in ids]
        begin = time.monotonic()
        while any(not request.output for request in requests):
            engine.step()
        middle = time.monotonic()
        before = sum(len(request.output) for request in requests)
        while engine.has_work:
            engine.step()
        end = time.monotonic()
        read.append(middle - begin)
        after = sum(len(request.output) for request in requests)
        made.append((end - middle) / max(after - before, 1))
    return {
        "batch": batch,
        "prompt": {"tokens_per_second": round(prompt * batch / min(read[1:]), 2)},
        "generate": {"tokens_per_second": round(1 / min(made[1:]), 2) if tokens > 1 else None},
        "first_token_seconds": round(min(read[1:]), 4),
    }


def _beside(options: argparse.Namespace, ours: dict[str, Any]) -> dict[str, Any]:
    """llama.cpp with the same file, prompt, threads and number of tokens."""
    try:
        llama_cpp: Any = importlib.import_module("llama_cpp")
    except ImportError:
        raise ValueError(
            "--against llama.cpp needs the package llama-cpp-python: pip install llama-cpp-python"
        ) from None
    import os

    from infinicore.llm.files import KNOWN
    from infinicore.llm.files.known import fetch

    path = str(fetch(options.model)) if options.model in KNOWN else str(options.model)
    threads = options.threads or len(os.sched_getaffinity(0))
    length = options.prompt + options.tokens + 1
    model = llama_cpp.Llama(
        path,
        n_ctx=length,
        n_batch=max(options.prompt, 1),
        n_ubatch=max(options.prompt, 1),
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )
    best = {"prompt": 0.0, "generate": 0.0}
    ids = [1 + i % 1000 for i in range(options.prompt)]

    def timed(work: Callable[[], object]) -> float:
        begin = time.monotonic()
        work()
        return time.monotonic() - begin

    def generate() -> None:
        # Any tokens will do; sampling is left out, in llama.cpp's favour.
        for i in range(options.tokens - 1):
            model.eval([1 + i % 1000])

    for _ in range(options.repeat + 1):
        model.reset()
        reading = timed(lambda: model.eval(ids))
        making = timed(generate)
        best["prompt"] = max(best["prompt"], options.prompt / reading)
        if options.tokens > 1:
            best["generate"] = max(best["generate"], (options.tokens - 1) / making)
    rates = {name: {"tokens_per_second": round(rate, 2)} for name, rate in best.items()}
    ratios = {
        name: round(ours[name]["tokens_per_second"] / rate, 2)
        for name, rate in best.items()
        if rate
    }
    return {"name": "llama.cpp", "version": llama_cpp.__version__, **rates, "ratios": ratios}


def _show(made: dict[str, Any]) -> None:
    out = sys.stderr
    print(f"{made['model']} on {made['device']}, {made['dtype']}", file=out)
    print(f"{'batch':>6} {'prompt tok/s':>13} {'generate tok/s':>15} {'first token':>12}", file=out)
    for row in made["batches"]:
        generated = row["generate"]["tokens_per_second"] or 0.0
        print(
            f"{row['batch']:>6} {row['prompt']['tokens_per_second']:>13.1f} {generated:>15.1f}"
            f" {row['first_token_seconds']:>10.3f} s",
            file=out,
        )
    if "against" in made:
        other = made["against"]
        print(
            f"{other['name']}: prompt {other['prompt']['tokens_per_second']:.1f}, generate"
            f" {other['generate']['tokens_per_second']:.1f}; ratios {other['ratios']}",
            file=out,
        )
