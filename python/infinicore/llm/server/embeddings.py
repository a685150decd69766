"""/v1/embeddings: prompts to vectors, one at a time between the engine's steps."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Any

from infinicore.llm.server import parse
from infinicore.llm.server.errors import ApiError, bad
from infinicore.llm.server.fields import Fields
from infinicore.llm.server.prompts import check_length, encode
from infinicore.llm.server.worker import Worker

if TYPE_CHECKING:
    from infinicore.llm.server.app import Server


async def embeddings(server: Server, body: Any) -> dict[str, Any]:
    fields = Fields(body)
    prompts = parse.inputs(fields, "input")
    form = fields.text("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise bad("encoding_format", form, "float or base64")
    size = fields.whole("dimensions", 1, 1 << 30)
    server.check_model(fields.text("model"))
    fields.end()
    worker = server.worker
    hidden = worker.llm.engine.config.hidden
    if size is not None and size != hidden:
        raise bad("dimensions", size, f"{hidden}, the size that this model has")
    ids = [await encode(worker, prompt, "input") for prompt in prompts]
    for each in ids:
        check_length(worker, each, 1, "input")
    data = []
    for i, each in enumerate(ids):
        try:
            vector = await worker.call(partial(_embed, worker, each))
        except MemoryError as error:
            raise ApiError(503, str(error), code="cache_full") from None
        data.append({"object": "embedding", "index": i, "embedding": _encoded(vector, form)})
    tokens = sum(map(len, ids))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": server.name, "usage": usage}


def _embed(worker: Worker, ids: list[int]) -> Any:
    return worker.llm.embed([ids])[0].tolist()


def _encoded(vector: list[float], form: str) -> Any:
    if form == "float":
        return vector
    import numpy as np

    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
