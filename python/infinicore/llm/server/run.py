"""The life cycle of the server: bind, load, serve, and drain running requests at the end."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from types import FrameType

import uvicorn

from infinicore.llm.server.app import Server
from infinicore.llm.server.worker import Worker

_KEEP_ALIVE_SECONDS = 75  # longer than proxies keep idle connections, so that they close them

_BACKLOG = 2048


def run(server: Server, host: str, port: int) -> int:
    """Serve until SIGTERM or SIGINT; a second signal does not wait for running requests."""
    worker = server.worker
    # Before the model is loaded, so that a port in use is reported immediately.
    with bind(host, port) as listening:
        worker.start()
        config = uvicorn.Config(
            server.application(),
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            server_header=False,
        )
        listening.listen(_BACKLOG)  # clients may connect once they see the next line
        address = f"[{host}]" if ":" in host else host
        print(
            f"serving {server.name} at http://{address}:{listening.getsockname()[1]}",
            file=sys.stderr,
            flush=True,
        )
        Draining(config, worker).run(sockets=[listening])
    worker.stop()
    return 1 if worker.failure else 0


def is_first() -> bool:
    """This process is rank 0: it alone has a port."""
    from infinicore.ccl._bootstrap import find_place

    return not find_place(os.environ).rank


def bind(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        raise OSError(f"--host {host} --port {port}: {error.strerror}") from None
    return made


class Draining(uvicorn.Server):
    """At the first signal new requests are refused, and running ones are completed."""

    def __init__(self, config: uvicorn.Config, worker: Worker) -> None:
        super().__init__(config)
        self._worker = worker
        self._told = False  # whether the user was told about the wait

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Replaces the base class's handler, which would raise the signal again at the end. Only
        # sets flags: a second signal may interrupt this one, and print is not reentrant.
        second, self._worker.draining = self._worker.draining, True
        self.force_exit = self.force_exit or second
        self.should_exit = self.should_exit or second

    async def on_tick(self, counter: int) -> bool:
        if self._worker.draining and not self._told:
            self._told = True
            if waiting := len(self._worker.open):
                print(
                    f"shutting down: waiting for {waiting} running requests; a second"
                    " signal cancels them",
                    file=sys.stderr,
                    flush=True,
                )
        if self._worker.draining and not self._worker.open:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # Tasks dropped by a second signal must not outlive the loop.
        for task in list(self.server_state.tasks):
            task.cancel()
        await asyncio.sleep(0)
