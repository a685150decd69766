"""The engine: requests in, tokens out, many at a time."""

from __future__ import annotations

import operator
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import infinicore
from infinicore._tensor import Tensor
from infinicore.llm.blocks import BlockPool
from infinicore.llm.config import read_config
from infinicore.llm.files import Checkpoint, ModelFileError
from infinicore.llm.loading import no_collection
from infinicore.llm.models import model_type
from infinicore.llm.request import Request
from infinicore.llm.runner import Later, Runner
from infinicore.llm.sampling import Chooser, Chosen, SamplingParams, choose
from infinicore.llm.scheduler import Scheduled, Scheduler
from infinicore.llm.stages import Stage
from infinicore.llm.weights import Weights


@dataclass(frozen=True)
class Launched:
    """A step that was launched on the device."""

    batch: list[Scheduled]
    last: list[Request]  # the requests that get a token
    rows: list[int]  # their rows of the logits
    logits: Tensor | None
    later: Later | None  # the tokens, chosen on the device

    @property
    def is_over(self) -> bool:
        """Whether all its requests have ended."""
        return all(each.finish_reason is not None for each in self.last)


@dataclass(frozen=True)
class EngineOptions:
    """device: where the model runs; None: the current device.
    dtype: of the computation; None: that of the file for dense weights, else float32 on the CPU and
    bfloat16 elsewhere. max_length: tokens of a prompt and its output; None: the model's training
    length, at most 8192. cache_tokens: capacity of the cache in tokens; None: as many as fit into
    its share of the memory. max_batch: requests that run at the same time; max_step_tokens: tokens
    of one step. graphs: record decode steps as graphs. prefix_cache: share blocks of equal
    prefixes. tp, pp: tensor-parallel ranks and pipeline-parallel stages: tp x pp processes
        (docs/serving.md).
    batch_invariant: a request's logits have the same bits whatever else runs, however its prompt is
        cut into chunks, and with any number of threads; slower (docs/reproducibility.md).
    """

    device: Any = None
    dtype: Any = None
    max_length: int | None = None
    cache_tokens: int | None = None
    block_size: int = 32
    max_batch: int = 64
    max_step_tokens: int = 512
    graphs: bool = True
    prefix_cache: bool = True
    batch_invariant: bool = False
    tp: int = 1
    pp: int = 1

    def __post_init__(self) -> None:
        for name, kind in self.__annotations__.items():
            if not kind.startswith("int"):
                continue
            value = getattr(self, name)
            if value is None and kind == "int | None":
                continue
            least = 2 if name == "max_length" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(
                    f"EngineOptions: {name} is {value!r}: expected a whole number from {least} on"
                )


class Engine:
    """One model on one device (or one rank's part of it)."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EngineOptions | None = None,
        comm: Any = None,
        progress: Any = None,
        stage: Stage | None = None,
    ) -> None:
        o = options or EngineOptions()
        self.options, self.checkpoint = o, checkpoint
        self.device = infinicore.device(o.device) if o.device is not None else _current_device()
        self.config = read_config(checkpoint.config, checkpoint.source)
        self.dtype = _dtype(o.dtype, checkpoint, self.device)
        self.max_length = o.max_length or min(self.config.positions, 8192)
        weights = Weights(checkpoint, self.device, self.dtype, comm, progress, stage)
        kind = model_type(self.config.model_type, checkpoint.source)
        self.model = kind(weights, self.config, self.max_length)
        extra = [name for name in weights.untaken() if not _is_no_weight(name)]
        if extra:
            shown = ", ".join(extra[:4]) + (", ..." if len(extra) > 4 else "")
            raise ModelFileError(
                f"{checkpoint.source}: {len(extra)} weights have no place in a"
                f" {self.config.model_type} model: {shown}"
            )
        ranks = 1 if comm is None else comm.ranks
        tokens = o.cache_tokens or self._cache_tokens(ranks)
        blocks = max(-(-tokens // o.block_size), 1)
        self.pool = BlockPool(blocks, o.block_size, o.prefix_cache)
        self.scheduler = Scheduler(self.pool, o.max_step_tokens, o.max_batch)
        self.runner = Runner(
            self.model,
            self.device,
            self.dtype,
            blocks,
            o.block_size,
            self.max_length,
            o.max_batch,
            o.graphs,
            ranks,
        )
        self._tokenizer: Any = None
        self._pending: Launched | None = None
        self.steps = self.generated = self.prompt_tokens = 0

    def _cache_tokens(self, ranks: int) -> int:
        """Space for a full batch, limited to a share of the free memory."""
        bytes_of_token = 0
        for keys, values in self.model.cache_shapes(ranks):
            for heads, size in (keys, values or (0, 0)):
                bytes_of_token += heads * size * self.dtype.itemsize
        free = _free_memory(self.device)
        wanted = self.options.max_batch * min(self.max_length, 2048)
        share = 0.25 if self.device.type == "cpu" else 0.8
        return max(min(wanted, int(free * share) // bytes_of_token), self.options.block_size)

    @property
    def tokenizer(self) -> Any:
        if self._tokenizer is None:
            with no_collection():
                self._tokenizer = self.checkpoint.tokenizer()
        return self._tokenizer

    # ---- requests -----------------------------------------------------------------------------

    def add(self, prompt: Iterable[int], params: SamplingParams | None = None) -> Request:
        """Queue a prompt of token ids."""
        request = self._request(prompt, params)
        self.scheduler.add(request)
        return request

    def _request(self, prompt: Iterable[int], params: SamplingParams | None) -> Request:
        """A request whose prompt is checked."""
        ids = [operator.index(token) for token in prompt]
        params = params or SamplingParams()
        if params.seed is None and params.temperature > 0:
            params = replace(params, seed=secrets.randbits(63))  # also sent to the other ranks
        if not ids:
            raise ValueError("Engine.add: prompt is empty: expected at least one token")
        for token in ids:
            if not 0 <= token < self.config.vocab:
                raise ValueError(
                    f"Engine.add: prompt has the token {token}: expected 0 to"
                    f" {self.config.vocab - 1}"
                )
        if len(ids) >= self.max_length:
            raise ValueError(
                f"Engine.add: prompt has {len(ids)} tokens: expected fewer than {self.max_length}"
                " (max_length)"
            )
        room = self.pool.count * self.pool.size
        if len(ids) >= room:
            raise ValueError(
                f"Engine.add: prompt has {len(ids)} tokens: expected fewer than {room}, the room"
                " of the cache (cache_tokens)"
            )
        grammar = None
        if params.json_schema is not None:
            from infinicore.llm.grammar import Grammar

            grammar = Grammar(params.json_schema, self.tokenizer)
        request = Request(ids, params, Chooser(params, grammar))
        long_from = self.config.long_from
        most = min(len(ids) + params.max_tokens, self.max_length)
        if long_from is not None and most > long_from:
            request.first_position = long_from
        return request

    def cancel(self, request: Request) -> None:
        """Cancel a request; its blocks are freed immediately."""
        if request.finish_reason is None:
            request.finish_reason = "cancelled"
            self.scheduler.remove(request)

    def hidden(self, prompt: Iterable[int]) -> Any:
        """Normalised hidden states [tokens, hidden] of a prompt, computed in one step with
        temporary blocks."""
        request = self._alone(prompt)
        try:
            return self.runner.hidden([(request, len(request.prompt))])
        finally:
            self.scheduler.remove(request)

    def _alone(self, prompt: Iterable[int]) -> Request:
        """A request with blocks for its whole prompt, outside the scheduler."""
        request = self._request(prompt, SamplingParams(max_tokens=1))
        request.blocks = self.pool.take(-(-len(request.prompt) // self.pool.size))
        return request

    @property
    def has_work(self) -> bool:
        return bool(self.scheduler.running or self.scheduler.waiting)

    def step(self) -> list[Request]:
        """Run one step; the requests that have a new token.

        If the next step depends only on the new tokens, which are on the device, it is launched
        before they are read, so that host and device overlap."""
        current, self._pending = self._pending, None
        with infinicore.batch_invariant(self.options.batch_invariant):
            if current is None or current.is_over:
                current = self._launch(self.scheduler.next())
            if current is None:
                return []
            self._pending = self._launch_ahead(current)
            return self._collect(current)

    def _launch(self, batch: list[Scheduled]) -> Launched | None:
        for source, target in self.scheduler.copies:
            self.runner.copy(source, target)
            self.pool.give_back(source)
        self.scheduler.copies.clear()
        if not batch:
            return None
        self.steps += 1
        rows = [
            i for i, (request, count) in enumerate(batch) if request.kept + count == len(request)
        ]
        last = [batch[i].request for i in rows]
        logits = self.runner.run(batch)
        later = None
        if all(each.params.is_greedy for each in last):
            later = self.runner.later(batch)
        return Launched(batch, last, rows, logits, later)

    def _launch_ahead(self, current: Launched) -> Launched | None:
        """The step after one whose tokens are still on the device, for the same requests."""
        requests = current.last
        if current.later is None or self.scheduler.waiting or len(requests) != len(current.batch):
            return None
        for request in requests:
            ends = len(request.output) + 1 >= request.params.max_tokens
            if request.finish_reason or ends or len(request) + 1 >= self._most_tokens:
                return None
        if not self.scheduler.reserve(requests):
            return None
        self.steps += 1
        later = self.runner.run_ahead(current.batch)
        return Launched(current.batch, requests, current.rows, None, later)

    def _collect(self, launched: Launched) -> list[Request]:
        """Read the tokens of a step, and continue the requests that were not cancelled since."""
        chosen = self._choose(launched)
        for request, count in launched.batch:
            if request.finish_reason is None:
                self.prompt_tokens += count if not request.output else 0
                self.scheduler.computed(request, count)
        now = time.monotonic()
        made = []
        for request, each in zip(launched.last, chosen, strict=True):
            if request.finish_reason is not None:
                continue
            request.output.append(each.token)
            request.chosen.append(each)
            request.first_token = request.first_token or now
            self.generated += 1
            self._finish(request)
            made.append(request)
        return made

    def _choose(self, launched: Launched) -> list[Chosen]:
        last = launched.last
        if launched.later is not None:
            return [Chosen(token) for token in launched.later.read(len(last))]
        if not last:
            return []
        logits = launched.logits
        assert logits is not None
        if len(launched.rows) < len(launched.batch):
            index = infinicore.tensor(launched.rows, dtype=infinicore.int64).to(self.device)
            logits = logits.index_select(0, index)
        texts = [(each.prompt, each.output) for each in last]
        return choose(logits, [each.chooser for each in last], texts)

    def follow(self) -> bool:
        """On ranks other than 0: follow rank 0 until it ends, then return True."""
        return False

    def close(self) -> None:
        """Make the other ranks end."""

    def _finish(self, request: Request) -> None:
        """Whether it has ended with its newest token."""
        token, params = request.output[-1], request.params
        grammar = request.chooser.grammar
        if grammar is not None:
            grammar.accept(token)
        ends = () if params.ignore_eos else self.end_tokens
        if token in ends or token in params.stop_token_ids:
            request.output.pop()
            request.chosen.pop()
            request.finish_reason = "stop"
        elif (params.stop and self._stops(request)) or (grammar and grammar.is_complete):
            request.finish_reason = "stop"
        elif len(request.output) >= params.max_tokens or len(request) >= self._most_tokens:
            request.finish_reason = "length"
        if request.finish_reason is not None:
            self.scheduler.remove(request)

    @property
    def _most_tokens(self) -> int:
        """The maximum length of a request, limited by the model and the cache."""
        return min(self.max_length, self.pool.count * self.pool.size)

    @property
    def end_tokens(self) -> tuple[int, ...]:
        return self.config.eos

    def _stops(self, request: Request) -> bool:
        longest = max(len(text) for text in request.params.stop)
        # Each token has at least one byte, so this many tokens cover the newest text.
        tail = self.tokenizer.decode(request.output[-(4 * longest + 4) :])
        return any(text in tail for text in request.params.stop)


def _current_device() -> Any:
    from infinicore import context

    return context.get_device()


_DTYPES = ("float32", "float16", "bfloat16")


def _dtype(given: Any, checkpoint: Checkpoint, device: Any) -> Any:
    if given is not None and not isinstance(given, str):
        return given
    if given is not None and given not in _DTYPES:
        raise ValueError(f"EngineOptions: dtype is {given!r}: expected one of {', '.join(_DTYPES)}")
    name = given or checkpoint.config.get("torch_dtype") or checkpoint.config.get("dtype")
    if name in _DTYPES:
        return getattr(infinicore, name)
    return infinicore.float32 if device.type == "cpu" else infinicore.bfloat16


def _is_no_weight(name: str) -> bool:
    """Tables that some files contain but that are computed here."""
    return name.endswith("rotary_emb.inv_freq")


def _free_memory(device: Any) -> int:
    if device.type != "cpu":
        from infinicore import rt

        return int(rt.MemGetInfo()[0])
    import os

    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
