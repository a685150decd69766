"""`infini serve`: a language model by OpenAI's API."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from infinicore.llm.server.run import run


def serve(options: argparse.Namespace) -> int:
    """The command `infini serve`; returns the exit status."""
    from infinicore.cli.llm import engine_options
    from infinicore.llm.llm import LLM
    from infinicore.llm.server.worker import Worker

    if options.max_waiting < 0:
        raise ValueError(f"--max-waiting is {options.max_waiting}: expected 0 or more")
    if not 0 <= options.port < 1 << 16:
        raise ValueError(f"--port is {options.port}: expected 0 (any that is free) to 65535")
    if options.tp != 1:
        raise ValueError(f"--tp is {options.tp}: expected 1")
    key = options.api_key or os.environ.get("INFINI_API_KEY") or None
    settings = engine_options(options)
    name = options.name or Path(str(options.model)).name.removesuffix(".gguf")
    if key is None and options.host not in ("127.0.0.1", "::1", "localhost"):
        print(
            f"infini serve: {options.host} can be reached from other machines, and there is no"
            " --api-key: everybody may use this server",
            file=sys.stderr,
        )
    worker = Worker(lambda: LLM(options.model, progress=True, **settings), options.max_waiting)
    return run(worker, name, key, options.host, options.port)
