"""Level 7: an engine under load. A small language model with random weights serves many threads."""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Any

from infinicore.conformance.cases import case, expect, expect_equal, on_threads

THREADS = 64
VOCABULARY, WIDTH, HEADS, LAYERS, POSITIONS = 97, 64, 4, 2, 48
SHORT = 5.0  # seconds
PROMPTS = 16


def make_model(device: str, seed: int = 7) -> Any:
    """A decoder-only model with the same weights on every device."""
    import infinicore
    from infinicore import nn
    from infinicore.nn import functional

    chance = random.Random(seed)

    def weight(*shape: int) -> Any:
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [chance.uniform(-0.2, 0.2) for _ in range(count)]
        return infinicore.tensor(values).reshape(*shape).to(device)

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.norm2 = weight(WIDTH) + 1, weight(WIDTH) + 1
            self.qkv, self.out = weight(3 * WIDTH, WIDTH), weight(WIDTH, WIDTH)
            self.up, self.down = weight(4 * WIDTH, WIDTH), weight(WIDTH, 4 * WIDTH)

        def forward(self, x: Any) -> Any:
            count = x.shape[0]
            q, k, v = (
                part.reshape(count, HEADS, WIDTH // HEADS).permute(1, 0, 2)
                for part in functional.linear(
                    functional.rms_norm(x, (WIDTH,), self.norm), self.qkv
                ).chunk(3, -1)
            )
            scores = (q @ k.permute(0, 2, 1)) * (WIDTH // HEADS) ** -0.5
            mask = infinicore.ones(count, count, device=device).triu(1) * -1e9
            mixed = functional.softmax(scores + mask, -1) @ v
            x = x + functional.linear(mixed.permute(1, 0, 2).reshape(count, WIDTH), self.out)
            h = functional.gelu(
                functional.linear(functional.rms_norm(x, (WIDTH,), self.norm2), self.up)
            )
            return x + functional.linear(h, self.down)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = weight(VOCABULARY, WIDTH)
            self.places = weight(POSITIONS, WIDTH)
            self.layers = [Layer() for _ in range(LAYERS)]

        def forward(self, ids: Any) -> Any:
            x = functional.embedding(ids, self.words) + self.places[: ids.shape[0]]
            for layer in self.layers:
                x = layer(x)
            return functional.linear(x[-1:], self.words)

    return Model()


def answer(model: Any, device: str, prompt: list[int], count: int) -> tuple[list[int], list[Any]]:
    """The tokens that follow, and the last logits."""
    import infinicore

    ids, logits = list(prompt), None
    for _ in range(count):
        given = infinicore.tensor(ids, dtype=infinicore.int64, device=device)
        logits = model(given)
        ids.append(int(logits.argmax(-1).tolist()[0]))
    return ids[len(prompt) :], logits.tolist()[0] if logits is not None else []


def prompt_of(seed: int) -> list[int]:
    chance = random.Random(seed)
    return [chance.randrange(VOCABULARY) for _ in range(chance.randrange(3, 20))]


def expect_scores_of_the_cpu(model: Any, host: Any, kind: str, seed: int) -> None:
    _, expected = answer(host, "cpu", prompt_of(seed), 1)
    _, got = answer(model, kind, prompt_of(seed), 1)
    scale = max(map(abs, expected))
    worst = max(abs(a - b) for a, b in zip(got, expected, strict=True)) / scale
    expect(worst < 1e-2, f"prompt {seed}: scores differ by {worst:.2g} of the largest")


def ask_from_all_threads(model: Any, kind: str, first: int, seconds: float) -> int:
    """Runs for a time, at least once in each thread: every answer must equal that of a single
    thread. Returns the number of answers."""
    prompts = range(first, first + PROMPTS)
    expected = {seed: answer(model, kind, prompt_of(seed), 4)[0] for seed in prompts}
    end, counts = time.monotonic() + seconds, [0] * THREADS
    failed = threading.Event()

    def ask(number: int) -> None:
        chance = random.Random(first + number)
        try:
            while (time.monotonic() < end and not failed.is_set()) or not counts[number]:
                seed = chance.choice(prompts)
                got = answer(model, kind, prompt_of(seed), 4)[0]
                expect_equal(got, expected[seed], f"thread {number}, prompt {seed}")
                counts[number] += 1
        except Exception:
            failed.set()
            raise

    on_threads(THREADS, ask)
    return sum(counts)


@case(7, "engine/same-as-cpu", seconds=300)
def same_as_cpu(make: Any) -> None:
    """The model gives the CPU's scores."""
    kind = os.environ["INFINI_DEVICE"]
    host, there = make_model("cpu"), make_model(kind)
    for seed in range(4):
        expect_scores_of_the_cpu(there, host, kind, seed)


@case(7, "engine/threads", seconds=600)
def many_threads(make: Any) -> dict[str, Any]:
    """64 threads ask one model: every answer is what a single thread gets."""
    kind = os.environ["INFINI_DEVICE"]
    return {"answers": ask_from_all_threads(make_model(kind), kind, 0, SHORT), "seconds": SHORT}


@case(7, "engine/recorded", seconds=300)
def recorded(make: Any) -> None:
    """The model recorded as a graph gives what it gives operator by operator, with new data."""
    import infinicore

    kind = os.environ["INFINI_DEVICE"]
    model = make_model(kind)
    step = infinicore.graph(lambda ids: model(ids))
    for seed in range(5):
        chance = random.Random(seed)
        given = [chance.randrange(VOCABULARY) for _ in range(12)]
        ids = infinicore.tensor(given, dtype=infinicore.int64, device=kind)
        plain, replayed = model(ids).tolist()[0], step(ids).tolist()[0]
        scale = max(map(abs, plain))
        worst = max(abs(a - b) for a, b in zip(plain, replayed, strict=True)) / scale
        expect(worst < 1e-4, f"replay {seed} differs by {worst:.2g} of the largest score")
