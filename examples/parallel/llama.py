"""One Llama-type model on several devices: each rank has a part of every weight.

python examples/parallel/llama.py --ranks 3         # threads of one process, a CPU device each
infini launch -n 3 examples/parallel/llama.py       # processes; torchrun and mpirun serve too
python examples/parallel/llama.py --weights random --tokens 64 --eager

Weights are those of SmolLM2-135M where it is installed (see weights.py), else random. Every step is
a recorded graph with the collectives inside; the logits are compared with those of the whole model.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

LAUNCHED = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
PROMPT = "What is the capital of France, and what is it known for?"
TOLERANCE = 2e-3


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--ranks", type=int, help="of one process; 2 unless it was launched")
    parser.add_argument("--weights", default="auto", help="auto, smollm2, random or a GGUF file")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--tokens", type=int, default=24, help="to be made")
    parser.add_argument("--eager", action="store_true", help="without recorded graphs")
    parser.add_argument("--no-check", action="store_true", help="without the whole model beside it")
    chosen = parser.parse_args()
    if chosen.tokens < 1:
        parser.error(f"--tokens is {chosen.tokens}: expected 1 or more")
    return chosen


class Decoder:
    """A model with its place in the text, on one rank."""

    def __init__(self, model: Any, recorded: bool) -> None:
        import infinicore

        self.model, self.recorded, self.graph = model, recorded, None
        device = model.norm.weight.device
        self.id = infinicore.zeros(1, dtype=infinicore.int64, device=device)
        self.position = infinicore.zeros(1, dtype=infinicore.int64, device=device)

    def read(self, ids: list[int]) -> Any:
        """The whole prompt: logits [tokens, vocab]."""
        import infinicore

        device = self.id.device
        positions = infinicore.arange(len(ids), device=device)
        return self.model(infinicore.tensor(ids, device=device), positions)

    def step(self, id: int, position: int) -> int:
        """The token that follows."""
        import infinicore

        self.id.fill_(id)
        self.position.fill_(position)
        if not self.recorded:
            return int(self.model(self.id, self.position).argmax(-1).item())
        if self.graph is None:
            with infinicore.record(self.id.device) as made:
                self.next = self.model(self.id, self.position).argmax(-1)
            self.graph = made.graph
        self.graph.run()
        return int(self.next.item())


def generate(decoder: Decoder, prompt: list[int], tokens: int) -> dict[str, Any]:
    """Tokens one by one, each the most likely."""
    begin = time.perf_counter()
    logits = decoder.read(prompt)
    made = [int(logits[-1].argmax(-1).item())]
    read = time.perf_counter()
    first = read
    while len(made) < tokens:
        made.append(decoder.step(made[-1], len(prompt) + len(made) - 1))
        if len(made) == 2:
            first = time.perf_counter()  # the graph is recorded by now
    end = time.perf_counter()
    steps = tokens - 2
    return {
        "logits": logits,
        "ids": made,
        "read": len(prompt) / (read - begin),
        "speed": steps / (end - first) if steps > 0 else float("nan"),
    }


def build(source: Any, comms: list[Any], positions: int, check: bool) -> list[Any]:
    """The models of these ranks, followed by the whole model if requested."""
    from model import Llama
    from weights import load

    import infinicore
    from infinicore import context

    models = []
    for comm in comms:
        with context.device(comm.device):
            models.append(Llama(source.config, positions, comm))
    if check:
        models.append(Llama(source.config, positions, None))
    shapes = whole_shapes(models[0])
    load(models, shapes, source)
    infinicore.sync_device()
    return models


def whole_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """Of the parameters as a plain model has them."""
    from infinicore import nn

    shapes = {}
    for name, parameter in model.named_parameters():
        layer = model.get_submodule(name.rpartition(".")[0])
        if isinstance(layer, nn.Linear):
            shapes[name] = (layer.out_features, layer.in_features)
        elif isinstance(layer, nn.Embedding):
            shapes[name] = (layer.num_embeddings, layer.embedding_dim)
        else:
            shapes[name] = tuple(parameter.shape)
    return shapes


def report(source: Any, how: str, result: dict[str, Any], whole: Any) -> bool:
    """Prints rank 0's results; returns whether the logits are right."""
    print(f"{source.name}: {how}", flush=True)
    print(f"  {source.decode(result['ids'])!r}")
    print(f"  prompt {result['read']:.1f} tokens/s, then {result['speed']:.1f} tokens/s")
    if whole is None:
        return True
    expected = whole["logits"]
    difference = (result["logits"].to("cpu") - expected.to("cpu")).abs().max().item()
    largest = expected.abs().max().item()
    is_right = difference <= TOLERANCE * largest
    same = "the same" if whole["ids"] == result["ids"] else "other"
    print(
        f"  beside the whole model ({whole['speed']:.1f} tokens/s): logits differ by at most"
        f" {difference:.2e} of {largest:.1f}, {same} tokens: {'right' if is_right else 'WRONG'}"
    )
    return is_right


def in_threads(chosen: argparse.Namespace, source: Any, prompt: list[int]) -> bool:
    from infinicore import ccl, context

    comms = ccl.init_all(chosen.ranks)
    check = not chosen.no_check
    models = build(source, comms, len(prompt) + chosen.tokens, check)
    results: list[Any] = [None] * len(comms)
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            with context.device(comms[rank].device), comms[rank]:
                decoder = Decoder(models[rank], not chosen.eager)
                results[rank] = generate(decoder, prompt, chosen.tokens)
        except BaseException as error:
            errors.append(error)

    whole = None
    if check:
        whole = generate(Decoder(models[-1], not chosen.eager), prompt, chosen.tokens)
    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(comms))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    if any(result["ids"] != results[0]["ids"] for result in results):
        raise RuntimeError("llama.py: the ranks have made different tokens")
    return report(source, f"{len(comms)} ranks, threads of one process", results[0], whole)


def in_processes(chosen: argparse.Namespace, source: Any, prompt: list[int]) -> bool:
    from infinicore import ccl

    with ccl.init() as comm:
        check = comm.rank == 0 and not chosen.no_check
        models = build(source, [comm], len(prompt) + chosen.tokens, check)
        whole = None
        if check:
            whole = generate(Decoder(models[1], not chosen.eager), prompt, chosen.tokens)
        comm.barrier()
        result = generate(Decoder(models[0], not chosen.eager), prompt, chosen.tokens)
        how = f"{comm.ranks} ranks, a process each"
        return comm.rank != 0 or report(source, how, result, whole)


def main() -> int:
    chosen = arguments()
    is_launched = any(name in os.environ for name in LAUNCHED) and chosen.ranks is None
    if not is_launched:
        chosen.ranks = chosen.ranks or 2
        # Before the library is loaded: a device for each rank.
        os.environ.setdefault("INFINI_CPU_DEVICES", str(chosen.ranks))
    sys.path.insert(0, str(Path(__file__).parent))
    from weights import find_source

    source = find_source(chosen.weights)
    prompt = source.encode(chosen.prompt)
    run = in_processes if is_launched else in_threads
    return 0 if run(chosen, source, prompt) else 1


if __name__ == "__main__":
    sys.exit(main())
