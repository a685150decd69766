"""Several ranks that share a model: one process for each device.

Every rank has the same scheduler and makes the same steps; rank 0 takes the requests and tells the
others what it does. The ranks of the last stage (pipeline parallel; else there is one stage) have
all logits and choose the same tokens; other stages are told which."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import socket
from collections.abc import Iterable
from dataclasses import asdict, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import infinicore
from infinicore import ccl
from infinicore.ccl._bootstrap import find_place
from infinicore.llm.engine import Engine, EngineOptions, Launched
from infinicore.llm.files import Checkpoint
from infinicore.llm.request import Request
from infinicore.llm.sampling import Chosen, SamplingParams
from infinicore.llm.stages import Stage

_ADDRESSES, _ADDRESS_BYTES = 8, 1024
_ADDRESS_SECONDS = 10.0  # to try one
_SIOCGIFADDR = 0x8915  # of Linux: the IPv4 address of an interface


def launched_ranks() -> int | None:
    """How many ranks the launcher of this process has started: 1 without a launcher, None if it
    does not tell (PMIx)."""
    place = find_place(os.environ)
    # The script of a Slurm job is rank 0 of nobody; what srun starts in it is a step.
    is_script = place.launcher == "Slurm" and "SLURM_STEP_NUM_TASKS" not in os.environ
    return 1 if place.rank is None or is_script else place.ranks


class ParallelEngine(Engine):
    """The engine of one rank. On rank 0 it is used as any other; the others follow (`follow`)."""

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
        self._channels = self._connect()
        self._told: dict[int, Request] = {}

    def _agree(self) -> None:
        """The smallest room of all ranks is everybody's."""
        mine = infinicore.tensor([self.pool.count], dtype=infinicore.int64).to(self.device)
        least = int(self.comm.all_reduce(mine, "min").item())
        if least != self.pool.count:
            self.pool.shrink(least)

    def _connect(self) -> dict[int, Connection]:
        """A connection from rank 0 to each other; its address and key go by a broadcast."""
        hosts = ["127.0.0.1"] if _is_one_host(self.comm) else _own_addresses()
        text = b""
        listener = None
        if self.rank == 0:
            key = os.urandom(16)
            where = hosts[0] if hosts == ["127.0.0.1"] else ""  # else: all interfaces
            listener = Listener((where, 0), authkey=key, backlog=self.comm.ranks)
            text = json.dumps([hosts, listener.address[1], key.hex()]).encode()
        padded = infinicore.tensor(list(text.ljust(_ADDRESS_BYTES)), dtype=infinicore.uint8)
        shared = self.comm.broadcast(padded.to(self.device)).cpu()
        if listener is not None:
            made: dict[int, Connection] = {}
            while len(made) < self.comm.ranks - 1:
                # Who goes away, or has no key, is a rank that tries addresses, or a stranger.
                with contextlib.suppress(EOFError, OSError, AuthenticationError):
                    channel = listener.accept()
                    made[int(channel.recv_bytes())] = channel
            listener.close()
            return made
        hosts, port, key_text = json.loads(bytes(shared.tolist()))
        channel = _call_first(hosts, port, bytes.fromhex(key_text))
        channel.send_bytes(b"%d" % self.rank)
        return {0: channel}

    def _hear(self, rank: int) -> Any:
        try:
            return json.loads(self._channels[rank].recv_bytes())
        except (EOFError, ConnectionError):
            raise RuntimeError(f"rank {rank} has gone") from None

    def _tell(self, *message: Any) -> None:
        """From rank 0 to all others; nothing on those."""
        if self.rank == 0:
            self._tell_some(self._channels, message)

    def _tell_some(self, ranks: Iterable[int], message: Any) -> None:
        text = json.dumps(message).encode()
        for rank in ranks:
            self._channels[rank].send_bytes(text)

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
        return self.stage.from_last(super().hidden(ids))

    def _choose(self, launched: Launched) -> list[Chosen]:
        """Where the device does not choose the tokens, the last stage does. Its first rank tells
        rank 0, which tells the other stages."""
        stage = self.stage
        if stage.count == 1 or launched.later is not None or not launched.last:
            return super()._choose(launched)
        if stage.is_last:
            chosen = super()._choose(launched)
            if self.rank == stage.leader:
                told = [(each.token, each.logprob, each.top) for each in chosen]
                self._tell_some([0], told)
            return chosen
        told = self._hear(stage.leader if self.rank == 0 else 0)
        if self.rank == 0:
            self._tell_some(range(1, stage.leader), told)
        return [Chosen(token, own, [(t, p) for t, p in top]) for token, own, top in told]

    def close(self) -> None:
        self._tell("end")
        for channel in self._channels.values():
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
                # Every rank counts the same blocks: rank 0 has the same error, and reports it.
                with contextlib.suppress(MemoryError):
                    self.stage.from_last(super().hidden(rest[0]))
            else:
                super().step()
                known = {n: each for n, each in known.items() if each.finish_reason is None}


def _join(options: EngineOptions) -> Any:
    """The communicator of all ranks, each on a device of its own."""
    device = options.device
    if isinstance(device, str) and ":" not in device:
        # Of this type, the one with the number of this rank on its host.
        infinicore.context.set_device(infinicore.device(device))
        device = None
    comm = ccl.init(device=device)
    if comm.ranks != options.tp * options.pp:
        raise ValueError(
            f"tp is {options.tp} and pp is {options.pp}, but {comm.ranks} ranks were started:"
            f" expected {options.tp * options.pp}"
        )
    return comm


def _call_first(hosts: list[str], port: int, key: bytes) -> Connection:
    """A connection to the first of rank 0's addresses that can be reached."""
    for host in hosts:
        with contextlib.suppress(OSError, AuthenticationError):
            # A Client has no time-out of its own.
            socket.create_connection((host, port), timeout=_ADDRESS_SECONDS).close()
            return Client((host, port), authkey=key)
    raise RuntimeError(
        f"rank 0 cannot be reached at {', '.join(hosts)}, port {port}: expected INFINI_CCL_ADDRESS"
        " there with its address"
    )


def _is_one_host(comm: Any) -> bool:
    """All ranks are on this host, in containers of one name if in any."""
    here = socket.gethostname() + Path("/proc/sys/kernel/random/boot_id").read_text()
    digest = list(hashlib.sha256(here.encode()).digest()[:8])
    mine = infinicore.tensor(digest, dtype=infinicore.uint8).to(comm.device)
    every = comm.all_gather(mine).tolist()
    return bool(every == digest * comm.ranks)


def _own_addresses() -> list[str]:
    """Of this host, as others may reach it: the best first."""
    found = [os.environ.get("INFINI_CCL_ADDRESS"), os.environ.get("MASTER_ADDR")]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("198.51.100.1", 9))  # sends nothing: finds the default route
            found.append(probe.getsockname()[0])
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                asked = fcntl.ioctl(probe, _SIOCGIFADDR, name.encode().ljust(256, b"\0"))
                found.append(socket.inet_ntoa(asked[20:24]))
    others = [each for each in dict.fromkeys(found) if each and not each.startswith("127.")]
    return [*others[:_ADDRESSES], socket.gethostname()]
