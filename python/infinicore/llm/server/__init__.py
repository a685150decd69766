"""`infini serve`: a language model behind OpenAI's API."""

from __future__ import annotations

import argparse
import ipaddress
import os
import signal
import sys
from pathlib import Path
from typing import Any

__all__ = ["application", "serve"]

#: Names of the local machine.
LOCAL = ("127.0.0.1", "::1", "localhost")


def application(
    model: Any,
    *,
    name: str | None = None,
    api_key: str | None = None,
    max_waiting: int = 256,
    **options: Any,
) -> Any:
    """Load a model and return the server as an ASGI application, for hosts with their own event
    loop: Ray Serve, hypercorn. `options` are those of `EngineOptions`."""
    from infinicore.llm.llm import LLM
    from infinicore.llm.server.app import Server
    from infinicore.llm.server.worker import Worker

    worker = Worker(lambda: LLM(model, **options), max_waiting)
    worker.start()
    return Server(worker, name or _name(model), api_key).application()


def _name(model: Any) -> str:
    return Path(str(model)).name.removesuffix(".gguf")


def _is_local(host: str) -> bool:
    """Whether an address is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def serve(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    """The command `infini serve`; returns the exit status. `settings` are those of the engine."""
    if options.max_waiting < 0:
        raise ValueError(f"--max-waiting is {options.max_waiting}: expected 0 or more")
    if not 0 <= options.port < 1 << 16:
        raise ValueError(f"--port is {options.port}: expected 0 (any that is free) to 65535")
    from infinicore.llm.llm import LLM
    from infinicore.llm.server.app import Server, host_name
    from infinicore.llm.server.run import is_first, run
    from infinicore.llm.server.worker import Worker

    def load() -> LLM:
        return LLM(options.model, progress=True, **settings)

    if options.tp * options.pp > 1 and not is_first():
        llm = load()  # signals still end this rank: rank 0 may have failed earlier
        # A launcher sends its signal to every rank, but rank 0 still needs the others.
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        llm.follow()
        return 0
    key = options.api_key or os.environ.get("INFINI_API_KEY") or None
    is_local = _is_local(options.host)
    if key is None and not is_local:
        print(
            f"infini serve: {options.host} can be reached from other machines, and there is no"
            " --api-key: anyone can use this server",
            file=sys.stderr,
        )
    hosts = None
    if options.allowed_host or (is_local and key is None):
        hosts = {*LOCAL, *map(host_name, [options.host, *options.allowed_host])}
    worker = Worker(load, options.max_waiting)
    server = Server(worker, options.name or _name(options.model), key, hosts)
    return run(server, options.host, options.port)
