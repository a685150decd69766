"""A language model of random weights beside the limits of the machine, and beside transformers.

    python benchmarks/llm.py --shape llama-8b --device nvidia --batch 1,64 --context 2048
    python benchmarks/llm.py --shape smollm2-1.7b --dtype bfloat16 --batch 1 --transformers

The limit of a step that generates is the time to read the weights once and the keys and values of
every request; the limit of a prompt is its products. Bandwidth and rate of products are given, or
measured in this run."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import infinicore
from infinicore.llm import Engine, EngineOptions, SamplingParams
from infinicore.llm.files import Checkpoint, Stored

_COMMON = {"model_type": "llama", "rms_norm_eps": 1e-5, "max_position_embeddings": 16384}
SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {
        "vocab_size": 1024,
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    "smollm2-1.7b": {
        "vocab_size": 49152,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
    },
    "llama-8b": {
        "vocab_size": 128256,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
}


class RandomWeights(Checkpoint):
    """A Llama-type model without a file."""

    def __init__(self, config: dict[str, Any], device: Any, dtype: Any) -> None:
        self.config, self.source = {**_COMMON, **config}, "random weights"
        self._device, self._dtype = device, dtype
        c = self.config
        hidden, wide = c["hidden_size"], c["intermediate_size"]
        size = hidden // c["num_attention_heads"]
        keys = c["num_key_value_heads"] * size
        self._shapes = {
            "model.embed_tokens.weight": (c["vocab_size"], hidden),
            "lm_head.weight": (c["vocab_size"], hidden),
            "model.norm.weight": (hidden,),
        }
        for i in range(c["num_hidden_layers"]):
            for name, shape in (
                ("self_attn.q_proj", (hidden, hidden)),
                ("self_attn.k_proj", (keys, hidden)),
                ("self_attn.v_proj", (keys, hidden)),
                ("self_attn.o_proj", (hidden, hidden)),
                ("mlp.gate_proj", (wide, hidden)),
                ("mlp.up_proj", (wide, hidden)),
                ("mlp.down_proj", (hidden, wide)),
                ("input_layernorm", (hidden,)),
                ("post_attention_layernorm", (hidden,)),
            ):
                self._shapes[f"model.layers.{i}.{name}.weight"] = shape

    def names(self) -> Iterator[str]:
        return iter(self._shapes)

    def get(self, name: str) -> Stored | None:
        shape = self._shapes.get(name)
        if shape is None:
            return None
        if len(shape) == 1:
            data = infinicore.ones(shape, dtype=self._dtype, device=self._device)
        else:
            data = infinicore.randn(shape, dtype=self._dtype, device=self._device) * 0.02
        return Stored(name, shape, data)

    def tokenizer(self) -> Any:
        raise ValueError("random weights have no tokenizer")

    def bytes_read(self) -> int:
        """Bytes that one step reads: all weights except the embedding, of which it reads single
        rows."""
        count = 0
        for name, shape in self._shapes.items():
            elements = shape[0] * (shape[1] if len(shape) > 1 else 1)
            count += 0 if "embed_tokens" in name else elements
        return count * int(self._dtype.itemsize)

    def bytes_of_token(self) -> int:
        """Keys and values of one token."""
        c = self.config
        size = c["hidden_size"] // c["num_attention_heads"]
        per_layer = 2 * c["num_key_value_heads"] * size * int(self._dtype.itemsize)
        return int(c["num_hidden_layers"] * per_layer)


def synchronize(device: Any) -> None:
    infinicore.zeros(1, device=device).cpu()


def copy_bandwidth(device: Any) -> float:
    """Bytes per second that a large copy reads and writes."""
    count = (1 << 30 if device.type != "cpu" else 1 << 28) // 4
    a = infinicore.ones(count, dtype=infinicore.float32, device=device)
    b = infinicore.empty_like(a)
    best = 0.0
    for _ in range(5):
        synchronize(device)
        begin = time.perf_counter()
        b.copy_(a)
        synchronize(device)
        best = max(best, 8 * count / (time.perf_counter() - begin))
    return best


def measure(engine: Engine, batch: int, context: int, tokens: int, repeat: int) -> dict[str, float]:
    """Seconds of a decoding step with about `context` keys, and of a prompt of that length."""
    import random

    draw = random.Random(batch)
    vocab = engine.config.vocab
    ids = [[draw.randrange(vocab) for _ in range(context)] for _ in range(batch)]
    params = SamplingParams(max_tokens=tokens, ignore_eos=True)
    prompts, steps = [], []
    for _ in range(repeat + 1):
        requests = [engine.add(each, params) for each in ids]
        begin = time.perf_counter()
        while any(not each.output for each in requests):
            engine.step()
        middle = time.perf_counter()
        count = 0
        while engine.has_work:
            engine.step()
            count += 1
        prompts.append(middle - begin)
        steps.append((time.perf_counter() - middle) / max(count, 1))
    return {"prompt": min(prompts[1:]), "step": min(steps[1:])}


def transformers_rates(config: dict[str, Any], dtype: str, context: int, tokens: int) -> Any:
    """Seconds of a prompt and of a step of torch and transformers, batch 1, on the same device."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    settings = {**_COMMON, **config}
    settings.pop("model_type")
    device = "cuda" if torch.cuda.is_available() and config.get("_cuda") else "cpu"
    with torch.device(device):
        torch.set_default_dtype(getattr(torch, dtype))
        model = LlamaForCausalLM(LlamaConfig(**settings)).eval()
        torch.set_default_dtype(torch.float32)
    ids = torch.randint(0, settings["vocab_size"], (1, context), device=device)
    best = {"prompt": float("inf"), "step": float("inf")}

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    with torch.inference_mode():
        for _ in range(3):
            begin = time.perf_counter()
            out = model(ids, use_cache=True, logits_to_keep=1)
            wait()
            best["prompt"] = min(best["prompt"], time.perf_counter() - begin)
            token, cache = out.logits[:, -1:].argmax(-1), out.past_key_values
            begin = time.perf_counter()
            for _ in range(tokens):
                out = model(token, past_key_values=cache, use_cache=True)
                token = out.logits[:, -1:].argmax(-1)
            wait()
            best["step"] = min(best["step"], (time.perf_counter() - begin) / tokens)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--shape", choices=SHAPES, default="tiny")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--batch", default="1")
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--bandwidth", type=float, help="TB/s; measured by a copy without it")
    parser.add_argument("--tflops", type=float, help="rate of products for the prompt's limit")
    parser.add_argument("--transformers", action="store_true", help="batch 1 beside it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device, dtype = infinicore.device(options.device), getattr(infinicore, options.dtype)
    bandwidth = options.bandwidth * 1e12 if options.bandwidth else copy_bandwidth(device)
    batches = [int(each) for each in options.batch.split(",")]
    weights = RandomWeights(SHAPES[options.shape], device, dtype)
    length = options.context + options.tokens + 2
    engine = Engine(
        weights,
        EngineOptions(
            device=device,
            dtype=dtype,
            max_length=length,
            cache_tokens=(length + 64) * max(batches),
            max_batch=max(batches),
            max_step_tokens=8192 if device.type != "cpu" else 512,
            prefix_cache=False,
        ),
    )
    print(f"{options.shape}, {options.dtype}, {options.device}, {bandwidth / 1e12:.3f} TB/s")
    rows = []
    for batch in batches:
        found = measure(engine, batch, options.context, options.tokens, options.repeat)
        keys = batch * (options.context + options.tokens // 2) * weights.bytes_of_token()
        limit = (weights.bytes_read() + keys) / bandwidth
        row = {"batch": batch, **found, "limit": limit, "of limit": limit / found["step"]}
        if options.tflops:
            work = 2 * weights.bytes_read() / dtype.itemsize * batch * options.context
            row["prompt of limit"] = work / (options.tflops * 1e12) / found["prompt"]
        rows.append(row)
        print(
            f"batch {batch}: step {found['step'] * 1e3:.3f} ms, limit {limit * 1e3:.3f} ms"
            f" ({row['of limit']:.0%}), {batch / found['step']:.1f} tokens/s; prompt"
            f" {found['prompt']:.4f} s ({batch * options.context / found['prompt']:.0f} tokens/s"
            + (f", {row['prompt of limit']:.0%} of the limit)" if options.tflops else ")"),
            flush=True,
        )
    if options.transformers:
        config = dict(SHAPES[options.shape])
        config["_cuda"] = device.type != "cpu"
        theirs = transformers_rates(config, options.dtype, options.context, options.tokens)
        print(
            f"transformers, batch 1: step {theirs['step'] * 1e3:.3f} ms, prompt"
            f" {theirs['prompt']:.4f} s; ours are {theirs['step'] / rows[0]['step']:.2f} x and"
            f" {theirs['prompt'] / rows[0]['prompt']:.2f} x as fast"
        )
        rows.append({"transformers": theirs})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
