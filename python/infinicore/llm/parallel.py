"""Several ranks that share a model: one process for each device.

Every rank has the same scheduler and makes the same steps; rank 0 takes the requests and tells the
others what it does. The logits are joined on all ranks, so that all choose the same tokens."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable
from dataclasses import asdict, fields
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import infinicore
from infinicore import ccl
from infinicore.ccl._bootstrap import find_place
from infinicore.llm.engine import Engine, EngineOptions
from infinicore.llm.files import Checkpoint
from infinicore.llm.request import Request
from infinicore.llm.sampling import SamplingParams

_ADDRESS_BYTES = 512


def is_launched() -> bool:
    """This process is one of several ranks already."""
    ranks = find_place(os.environ).ranks
    return ranks is not None and ranks > 1


class ParallelEngine(Engine):
    """The engine of one rank. On rank 0 it is used as any other; the others follow (`follow`)."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EngineOptions | None = None,
        progress: Any = None,
    ) -> None:
        options = options or EngineOptions()
        self.comm = ccl.init(device=options.device)
        self.rank = self.comm.rank
        here = infinicore.context.get_device()
        super().__init__(
            checkpoint,
            EngineOptions(**{**_settings(options), "device": here, "graphs": False}),
            self.comm,
            progress if self.rank == 0 else None,
        )
        self._agree()
        self._channels = self._connect()
        self._told: dict[int, Request] = {}

    def _agree(self) -> None:
        """The smallest room of all ranks is everybody's."""
        mine = infinicore.tensor([self.pool.count], dtype=infinicore.int64).to(self.device)
        least = int(self.comm.all_reduce(mine, "min").item())
        if least != self.pool.count:
            self.pool.shrink(least)

    def _connect(self) -> list[Connection]:
        """A connection from rank 0 to each other; its address and key go by a broadcast."""
        text = b""
        listener = None
        if self.rank == 0:
            key = os.urandom(16)
            listener = Listener((_own_address(), 0), authkey=key, backlog=self.comm.ranks)
            host, port = listener.address[:2]
            text = json.dumps([host, port, key.hex()]).encode()
        padded = infinicore.tensor(list(text.ljust(_ADDRESS_BYTES)), dtype=infinicore.uint8)
        shared = self.comm.broadcast(padded.to(self.device)).cpu()
        if listener is not None:
            made = [listener.accept() for _ in range(self.comm.ranks - 1)]
            listener.close()
            return made
        host, port, key_text = json.loads(bytes(shared.tolist()))
        return [Client((host, port), authkey=bytes.fromhex(key_text))]

    def _tell(self, *message: Any) -> None:
        if self.rank == 0:
            text = json.dumps(message).encode()
            for channel in self._channels:
                channel.send_bytes(text)

    def add(self, prompt: Iterable[int], params: SamplingParams | None = None) -> Request:
        request = super().add(prompt, params)  # raises before the other ranks hear of it
        self._told[request.number] = request
        self._tell("add", request.number, request.prompt, asdict(request.params))
        return request

    def cancel(self, request: Request) -> None:
        if request.finish_reason is None:
            self._tell("cancel", request.number)
        super().cancel(request)

    def step(self) -> list[Request]:
        self._tell("step")
        made = super().step()
        for request in made:
            if request.finish_reason is not None:
                self._told.pop(request.number, None)
        return made

    def hidden(self, prompt: Iterable[int]) -> Any:
        ids = list(prompt)
        self._request(ids, None)  # raises before the other ranks hear of it
        self._tell("hidden", ids)
        return super().hidden(ids)

    def close(self) -> None:
        self._tell("end")
        for channel in self._channels:
            channel.close()
        self.comm.close()

    def follow(self) -> bool:
        if self.rank == 0:
            return False
        known: dict[int, Request] = {}
        while True:
            try:
                action, *rest = json.loads(self._channels[0].recv_bytes())
            except EOFError:
                raise RuntimeError("rank 0 has gone") from None
            if action == "end":
                self.comm.close()
                return True
            if action == "add":
                number, prompt, params = rest
                known[number] = super().add(prompt, SamplingParams(**params))
            elif action == "cancel":
                super().cancel(known.pop(rest[0]))
            elif action == "hidden":
                super().hidden(rest[0])
            else:
                super().step()
                known = {n: each for n, each in known.items() if each.finish_reason is None}


def _settings(options: EngineOptions) -> dict[str, Any]:
    return {each.name: getattr(options, each.name) for each in fields(options)}


def _own_address() -> str:
    """Of this host, as the others know it; alone on one host, only it can connect."""
    main = os.environ.get("MASTER_ADDR")
    if main in (None, "localhost", "127.0.0.1") and not _is_spread():
        return "127.0.0.1"
    return socket.gethostbyname(socket.gethostname()) if main is None else main


def _is_spread() -> bool:
    local, ranks = os.environ.get("LOCAL_WORLD_SIZE"), os.environ.get("WORLD_SIZE")
    return local is not None and ranks is not None and local != ranks
