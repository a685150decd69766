#!/usr/bin/env python3
"""A server under load: many clients that stream, some of which go away in the middle.

    python benchmarks/serving.py --clients 64 --minutes 10 [--model smollm2] [--json out.json]

Lengths of prompts and outputs are log-normal, as those of people's conversations are. The engine's
own rate is measured first, in a process of its own, with the same requests and without HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

MEDIAN_PROMPT, SPREAD_PROMPT = 120, 1.0
MEDIAN_OUTPUT, SPREAD_OUTPUT = 130, 0.8
SAMPLE_SECONDS = 2.0


class Job(NamedTuple):
    prompt: list[int]
    tokens: int
    leaves_after: int | None  # events after which the client closes the connection


class Jobs:
    """An endless sequence of requests, reproducible by seed."""

    def __init__(self, options: argparse.Namespace, vocab: int) -> None:
        self._draw = random.Random(options.seed)
        self._options, self._vocab = options, vocab

    def next(self) -> Job:
        draw, most = self._draw, self._options.longest
        prompt = min(max(int(draw.lognormvariate(math.log(MEDIAN_PROMPT), SPREAD_PROMPT)), 4), most)
        tokens = min(max(int(draw.lognormvariate(math.log(MEDIAN_OUTPUT), SPREAD_OUTPUT)), 4), most)
        leaves = draw.randrange(1, tokens) if draw.random() < self._options.kill else None
        return Job([draw.randrange(self._vocab) for _ in range(prompt)], tokens, leaves)


def engine_arguments(options: argparse.Namespace) -> list[str]:
    made = ["--max-batch", str(options.clients), "--max-length", str(2 * options.longest)]
    for name in ("device", "threads", "cache_tokens", "dtype"):
        value = getattr(options, name)
        if value is not None:
            made += [f"--{name.replace('_', '-')}", str(value)]
    return made


# ---- without HTTP --------------------------------------------------------------------------------


def engine_rate(options: argparse.Namespace) -> dict[str, float]:
    """Tokens per second of the engine alone, with as many concurrent requests as there are
    clients."""
    import os

    if options.threads is not None:
        os.environ["INFINI_NUM_THREADS"] = str(options.threads)
    from infinicore.llm import LLM, SamplingParams

    names = ("device", "dtype", "cache_tokens")
    settings: dict[str, Any] = {name: getattr(options, name) for name in names}
    llm = LLM(options.model, max_batch=options.clients, max_length=2 * options.longest, **settings)
    engine = llm.engine
    jobs = Jobs(options, engine.config.vocab)

    def add() -> None:
        job = jobs.next()
        tokens = job.tokens if job.leaves_after is None else job.leaves_after
        engine.add(job.prompt, SamplingParams(max_tokens=tokens, ignore_eos=True, temperature=1.0))

    for _ in range(options.clients):
        add()
    begin, end, counted = 0.0, 0.0, (0, 0)
    warm = time.monotonic() + options.warm
    while True:
        for request in engine.step():
            if request.finish_reason is not None:
                add()
        now = time.monotonic()
        if not begin and now >= warm:
            begin, end = now, now + 60 * options.engine_minutes
            counted = (engine.generated, engine.prompt_tokens)
        elif begin and now >= end:
            seconds = now - begin
            return {
                "generated_per_second": (engine.generated - counted[0]) / seconds,
                "prompt_per_second": (engine.prompt_tokens - counted[1]) / seconds,
            }


# ---- with HTTP -----------------------------------------------------------------------------------


async def client(port: int, jobs: Jobs, end: float, seen: Counter[str], bad: list[str]) -> None:
    while time.monotonic() < end:
        job = jobs.next()
        try:
            seen[await _request(port, job)] += 1
        except Exception as error:
            seen["errors"] += 1
            bad.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(0.1)


async def _request(port: int, job: Job) -> str:
    """Sends a request and reads its stream; the client does as little as it can."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        asked = {"prompt": job.prompt, "max_tokens": job.tokens, "ignore_eos": True, "stream": True}
        body = json.dumps(asked).encode()
        head = (
            f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        status = (await reader.readline()).split(b" ", 2)[1]
        if status != b"200":
            raise RuntimeError(f"status {status.decode()}: {(await reader.read())[-300:]!r}")
        events, last = 0, b""
        while data := await reader.read(1 << 16):
            last = (last + data)[-400:]
            events += data.count(b"data: ")
            if job.leaves_after is not None and events > job.leaves_after:
                return "left"
        if b"data: [DONE]" not in last or b'"error"' in last:
            raise RuntimeError(f"a stream ended with {last!r}")
        return "answered"
    finally:
        writer.close()


def metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {k: float(v) for k, v in (x.rsplit(" ", 1) for x in lines if not x.startswith("#"))}


def memory_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


async def load(options: argparse.Namespace, port: int, pid: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=60) as answer:
        assert json.load(answer)["data"]
    jobs = Jobs(options, options.vocab)
    end = time.monotonic() + options.warm + 60 * options.minutes
    seen: Counter[str] = Counter()
    bad: list[str] = []
    clients = [
        asyncio.create_task(client(port, jobs, end, seen, bad)) for _ in range(options.clients)
    ]
    await asyncio.sleep(options.warm)
    first, begin = metrics(port), time.monotonic()
    samples = []
    while time.monotonic() < end:
        await asyncio.sleep(min(SAMPLE_SECONDS, max(end - time.monotonic(), 0.01)))
        samples.append((time.monotonic() - begin, memory_bytes(pid)))
    last, seconds = metrics(port), time.monotonic() - begin
    await asyncio.gather(*clients)
    final = {}
    for _ in range(100):  # disconnected clients are removed at the next step
        final = metrics(port)
        if not final['infini_cache_blocks{state="used"}']:
            break
        await asyncio.sleep(0.1)

    def rate(name: str) -> float:
        return (last[f"infini_{name}"] - first[f"infini_{name}"]) / seconds

    firsts = last["infini_first_token_seconds_count"] - first["infini_first_token_seconds_count"]
    waited = last["infini_first_token_seconds_sum"] - first["infini_first_token_seconds_sum"]
    return {
        "seconds": round(seconds, 1),
        "answered": seen["answered"],
        "left": seen["left"],
        "errors": seen["errors"],
        "first_errors": bad[:5],
        "generated_per_second": rate("generated_tokens_total"),
        "prompt_per_second": rate("prompt_tokens_total"),
        "first_token_seconds": waited / max(firsts, 1),
        "preemptions": last["infini_preemptions_total"],
        "blocks_left": final['infini_cache_blocks{state="used"}'],
        "memory_bytes": samples[-1][1],
        "memory_bytes_per_minute": slope(samples[len(samples) // 2 :]) * 60,
    }


def slope(points: list[tuple[float, int]]) -> float:
    """The slope of the least-squares line."""
    if len(points) < 2:
        return 0.0
    x = sum(p[0] for p in points) / len(points)
    y = sum(p[1] for p in points) / len(points)
    spread = sum((p[0] - x) ** 2 for p in points)
    return sum((p[0] - x) * (p[1] - y) for p in points) / spread if spread else 0.0


def serve_and_load(options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "infinicore", "serve", options.model, "--port", "0"]
    command += ["--max-waiting", str(options.clients), *engine_arguments(options)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.startswith("serving "):
                port = int(line.rsplit(":", 1)[1])
                break
            print(line, end="", file=sys.stderr)
        else:
            raise RuntimeError(f"the server did not start: exit status {process.wait()}")
        made = asyncio.run(load(options, port, process.pid))
        process.terminate()
        made["exit_status"] = process.wait(60)
        return made
    finally:
        if process.poll() is None:
            process.kill()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10.0, help="of load (%(default)s)")
    parser.add_argument("--engine-minutes", type=float, default=1.0, help="of the engine alone")
    parser.add_argument("--warm", type=float, default=20.0, metavar="SECONDS", help="not counted")
    parser.add_argument("--kill", type=float, default=0.03, help="share of clients that leave")
    parser.add_argument("--longest", type=int, default=1024, help="tokens of a prompt, an output")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device")
    parser.add_argument("--dtype")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cache-tokens", type=int)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--vocab", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--engine-only", action="store_true", help="without HTTP; prints JSON")
    return parser.parse_args()


def main() -> int:
    options = parse()
    if not options.vocab:
        from infinicore.llm import open_model

        options.vocab = int(open_model(options.model).config["vocab_size"])
    if options.engine_only:
        print(json.dumps(engine_rate(options)))
        return 0
    alone = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--engine-only"],
        stdout=subprocess.PIPE,
        check=True,
    )
    engine = json.loads(alone.stdout.splitlines()[-1])
    served = serve_and_load(options)
    share = served["generated_per_second"] / engine["generated_per_second"]
    made = {"clients": options.clients, "engine": engine, "server": served, "share": share}
    print(f"engine alone   {engine['generated_per_second']:10.1f} tokens/s generated")
    print(f"server         {served['generated_per_second']:10.1f} tokens/s = {share:.1%}")
    print(
        f"{served['answered']} answered, {served['left']} clients left, {served['errors']} errors,"
        f" {served['preemptions']:.0f} preemptions, {served['blocks_left']:.0f} blocks left behind"
    )
    print(
        f"first token after {served['first_token_seconds']:.2f} s on average; memory"
        f" {served['memory_bytes'] / 1e6:.0f} MB,"
        f" {served['memory_bytes_per_minute'] / 1e6:+.2f} MB/minute in the second half"
    )
    for error in served["first_errors"]:
        print(f"error: {error}")
    if options.json:
        Path(options.json).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return 1 if served["errors"] or served["exit_status"] else 0


if __name__ == "__main__":
    sys.exit(main())
