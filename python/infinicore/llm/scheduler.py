"""The scheduler: which requests run next, with how many tokens and which cache blocks."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from infinicore.llm.blocks import BlockPool
from infinicore.llm.request import Request


class Scheduled(NamedTuple):
    request: Request
    tokens: int  # of this step


class Scheduler:
    """Generating requests go first, then prompts in chunks, in the order of arrival. When blocks
    run out the youngest request is preempted: its blocks are freed, and it restarts later."""

    def __init__(self, pool: BlockPool, most_tokens: int, most_requests: int) -> None:
        self.pool, self.most_tokens, self.most_requests = pool, most_tokens, most_requests
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        #: (from, to) of blocks to copy before the next step.
        self.copies: list[tuple[int, int]] = []
        self.preemptions = 0

    def add(self, request: Request) -> None:
        self.waiting.append(request)

    def remove(self, request: Request) -> None:
        """Remove a request that has ended or was cancelled."""
        if request in self.running:
            self.running.remove(request)
        elif request in self.waiting:
            self.waiting.remove(request)
        self._release(request)

    def _release(self, request: Request) -> None:
        # Freed from the end, since the beginning of a prompt is the most likely to be shared.
        for block in reversed(request.blocks):
            self.pool.give_back(block)
        request.blocks, request.keys, request.kept = [], [], 0

    def next(self) -> list[Scheduled]:
        """The work of the next step; empty if there is none."""
        budget = self.most_tokens
        made: list[Scheduled] = []
        ready = [request for request in self.running if request.left == 1]
        prompts = [request for request in self.running if request.left > 1]
        for request in (*ready, *prompts):
            if request not in self.running or budget == 0:  # preempted for an earlier one
                continue
            count = min(request.left, budget)
            if self._room(request, count, {each.request.number for each in made}):
                made.append(Scheduled(request, count))
                budget -= count
        while self.waiting and budget and len(self.running) < self.most_requests:
            request = self.waiting[0]
            if not self._admit(request, budget):
                break
            self.waiting.popleft()
            self.running.append(request)
            count = min(request.left, budget)
            made.append(Scheduled(request, count))
            budget -= count
        return made

    def _room(self, request: Request, count: int, fixed: set[int]) -> bool:
        """Allocates blocks for `count` more tokens; may preempt other requests."""
        needed = -(-(request.kept + count) // self.pool.size) - len(request.blocks)
        while self.pool.free < needed:
            others = [r for r in self.running if r is not request and r.number not in fixed]
            victim = max(others, key=lambda r: r.number, default=None)
            if victim is None or victim.number < request.number:
                if others or fixed:
                    self._preempt(request)
                    return False
                raise self._too_long(request)
            self._preempt(victim)
        request.blocks += self.pool.take(needed)
        return True

    def _too_long(self, request: Request) -> MemoryError:
        return MemoryError(
            f"a request of {len(request)} tokens needs more blocks than the cache has"
            f" ({self.pool.count} of {self.pool.size} tokens)"
        )

    def reserve(self, requests: list[Request]) -> bool:
        """Allocates blocks for one token beyond the next one of each request, if no preemption is
        needed."""
        size = self.pool.size
        lacking = [each for each in requests if (each.kept + 1) // size >= len(each.blocks)]
        if len(lacking) > self.pool.free:
            return False
        for request in lacking:
            request.blocks += self.pool.take()
        return True

    def _preempt(self, request: Request) -> None:
        self.running.remove(request)
        self._release(request)
        request.preemptions += 1
        self.preemptions += 1
        self.waiting.appendleft(request)

    def _admit(self, request: Request, budget: int) -> bool:
        """Reuse cached blocks of the prompt, and allocate blocks for the next chunk."""
        tokens = request.tokens(0, len(request))
        request.blocks, request.keys = self.pool.match(tokens, request.root)
        request.kept = len(request.blocks) * self.pool.size
        shared = self._similar(request, tokens)
        # One block in reserve for each generating request, so that none is preempted immediately.
        spare = sum(1 for each in self.running if each.kept % self.pool.size == 0)
        if shared:
            self.pool.hold(shared[0])
            needed = self._needed(request, request.kept + shared[1], budget)
            if self.pool.free < needed + spare:  # without the copy the source is free too
                self.pool.give_back(shared[0])
                shared = None
        needed = self._needed(request, request.kept + (shared[1] if shared else 0), budget)
        if self.pool.free < needed + spare:
            self._release(request)
            if not self.running and needed > self.pool.count:
                raise self._too_long(request)
            return False
        request.blocks += self.pool.take(needed)
        if shared:
            self.copies.append((shared[0], request.blocks[request.kept // self.pool.size]))
            request.kept += shared[1]
        self.pool.hits += request.kept
        if not request.preemptions:
            request.cached = request.kept
        return True

    def _needed(self, request: Request, kept: int, budget: int) -> int:
        """Blocks for the next chunk after `kept` tokens, in addition to those that the request
        has."""
        ahead = min(len(request), kept + budget)
        return -(-ahead // self.pool.size) - len(request.blocks)

    def _similar(self, request: Request, tokens: list[int]) -> tuple[int, int] | None:
        # At least one token is left over, because its logits are needed.
        rest = tokens[request.kept : min(request.kept + self.pool.size, len(tokens) - 1)]
        return self.pool.similar(request.keys[-1] if request.keys else request.root, rest)

    def computed(self, request: Request, count: int) -> None:
        """Records that `count` more tokens of a request are cached; full blocks become
        shareable."""
        request.kept += count
        size = self.pool.size
        while len(request.keys) < request.kept // size:
            i = len(request.keys)
            parent = request.keys[-1] if request.keys else request.root
            tokens = request.tokens(i * size, (i + 1) * size)
            request.keys.append(self.pool.fill(request.blocks[i], parent, tokens))
