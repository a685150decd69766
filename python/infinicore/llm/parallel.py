"""Several ranks that share a model: one process for each device.

Every rank has the same scheduler and runs the same steps; rank 0 accepts requests and sends its
decisions to the others. The leader, the first rank of the last pipeline stage, chooses the tokens
for all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import infinicore
from infinicore import ccl
from infinicore.ccl._bootstrap import find_place
from infinicore.llm.channels import connect
from infinicore.llm.engine import Engine, EngineOptions, Launched
from infinicore.llm.files import Checkpoint
from infinicore.llm.request import Request
from infinicore.llm.sampling import Chosen, SamplingParams
from infinicore.llm.stages import Stage


def launched_ranks() -> int | None:
    """The number of ranks started by the launcher of this process: 1 without a launcher, None if it
    is unknown (PMIx)."""
    place = find_place(os.environ)
    if place.rank is None:
        return 1
    if place.launcher not in ("Slurm", "PMIx"):
        return place.ranks
    # The batch script of a Slurm job, or its interactive shell, is not a rank, though SLURM_NTASKS
    # is set to the tasks of the whole job; only processes started by srun belong to a step.
    step = os.environ.get("SLURM_STEP_NUM_TASKS", "")
    if step.isdecimal():
        return int(step)
    return 1 if place.launcher == "Slurm" else None


class ParallelEngine(Engine):
    """The engine of one rank. On rank 0 it is used like any other engine; the other ranks call
    `follow`."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EngineOptions | None = None,
        progress: Any = None,
    ) -> None:
        o = options or EngineOptions()
        self.comm = _join(o)
        self.rank = self.comm.rank
        self.stage = Stage(self.rank // o.tp, o.pp, o.tp, self.comm)
        sharing = None  # the ranks that share this stage's layers
        if o.tp > 1:
            sharing = self.comm if o.pp == 1 else self.comm.split(self.stage.number, self.rank)
        super().__init__(
            checkpoint,
            replace(o, device=self.comm.device),
            sharing,
            progress if self.rank == 0 else None,
            self.stage,
        )
        self._agree()
        self._channels = connect(self.comm)

    def _agree(self) -> None:
        """All ranks use the smallest cache size."""
        mine = infinicore.tensor([self.pool.count], dtype=infinicore.int64).to(self.device)
        least = int(self.comm.all_reduce(mine, "min").item())
        if least != self.pool.count:
            self.pool.shrink(least)

    def _hear(self, rank: int) -> Any:
        try:
            return json.loads(self._channels[rank].recv_bytes())
        except (EOFError, ConnectionError):
            raise _gone(rank) from None

    def _tell(self, *message: Any) -> None:
        """Sends from rank 0 to all others; does nothing on those."""
        if self.rank == 0:
            self._tell_some(self._channels, message)

    def _tell_some(self, ranks: Iterable[int], message: Any) -> None:
        text = json.dumps(message).encode()
        for rank in ranks:
            try:
                self._channels[rank].send_bytes(text)
            except ConnectionError:
                raise _gone(rank) from None

    def add(self, prompt: Iterable[int], params: SamplingParams | None = None) -> Request:
        request = super().add(prompt, params)  # raises before the other ranks receive it
        self._tell("add", request.number, request.prompt, asdict(request.params))
        return request

    def cancel(self, request: Request) -> None:
        if request.finish_reason is None:
            with contextlib.suppress(RuntimeError):  # a rank exited: the next step raises
                self._tell("cancel", request.number)
        super().cancel(request)

    def step(self) -> list[Request]:
        self._tell("step")
        return super().step()

    def hidden(self, prompt: Iterable[int]) -> Any:
        return self.stage.from_leader(super().hidden(prompt))

    def _alone(self, prompt: Iterable[int]) -> Request:
        request = super()._alone(prompt)  # raises before the other ranks receive it
        self._tell("hidden", request.prompt)
        return request

    def _choose(self, launched: Launched) -> list[Chosen]:
        """If the tokens are not chosen on the device, the leader chooses them. It sends them to
        rank 0, which sends them to the others: ranks agree even if their logits differ in the last
        bits."""
        leader = self.stage.leader
        if launched.later is not None or not launched.last:
            return super()._choose(launched)
        if self.rank == leader:
            chosen = super()._choose(launched)
            pairs = zip(launched.last, chosen, strict=True)
            told = [(_grammar_error(r), c.token, c.logprob, c.top) for r, c in pairs]
            if leader:
                self._tell_some([0], told)
        else:
            told = self._hear(leader if self.rank == 0 else 0)
        if self.rank == 0:
            self._tell_some(self._channels.keys() - {leader}, told)
        if self.rank == leader:
            return chosen
        made = []
        for request, (error, token, own, top) in zip(launched.last, told, strict=True):
            if error:  # detected by the leader: the request ends on all ranks
                request.chooser.grammar.error = error
            made.append(Chosen(token, own, [(t, p) for t, p in top]))
        return made

    def close(self) -> None:
        for rank, channel in self._channels.items():
            with contextlib.suppress(RuntimeError):  # a rank that has exited needs no message
                if self.rank == 0:
                    self._tell_some([rank], ["end"])
            channel.close()
        self.comm.close()

    def follow(self) -> bool:
        if self.rank == 0:
            return False
        known: dict[int, Request] = {}
        while True:
            action, *rest = self._hear(0)
            if action == "end":
                self.comm.close()
                return True
            if action == "add":
                number, prompt, params = rest
                known[number] = super().add(prompt, SamplingParams(**params))
            elif action == "cancel":
                super().cancel(known.pop(rest[0]))
            elif action == "hidden":
                self.hidden(rest[0])
            else:
                super().step()
                known = {n: each for n, each in known.items() if each.finish_reason is None}


def _grammar_error(request: Request) -> str:
    return getattr(request.chooser.grammar, "error", "")


def _gone(rank: int) -> RuntimeError:
    return RuntimeError(f"rank {rank} has gone")


def _join(options: EngineOptions) -> Any:
    """The communicator of all ranks, each on its own device."""
    device = options.device
    if isinstance(device, str) and ":" not in device:
        # The device of this type whose index is this rank's number on its host.
        infinicore.context.set_device(infinicore.device(device))
        device = None
    comm = ccl.init(device=device)
    if comm.ranks != options.tp * options.pp:
        raise ValueError(
            f"tp is {options.tp} and pp is {options.pp}, but {comm.ranks} ranks were started:"
            f" expected {options.tp * options.pp}"
        )
    return comm
