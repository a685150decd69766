"""From a parsed request to its response, complete or as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from infinicore.llm.server.answers import Choice, Form, usage
from infinicore.llm.server.errors import ApiError
from infinicore.llm.server.parse import Generation
from infinicore.llm.server.prompts import check_length, encode, encode_chat
from infinicore.llm.server.ticket import Ticket

if TYPE_CHECKING:
    from infinicore.llm.server.app import Server

_QUIET_SECONDS = 15.0  # interval of keep-alive comments, for proxies with time-outs


async def generate(
    server: Server, request: Request, asked: Generation, form: type[Form]
) -> Response:
    server.check_model(asked.model)
    worker = server.worker
    worker.check_open()
    if asked.params.json_schema is not None:
        await _check_schema(server, asked.params.json_schema)
    if asked.messages:
        prompts = [await encode_chat(worker, asked.messages, asked.template)]
    else:
        prompts = [await encode(worker, prompt, "prompt") for prompt in asked.prompts]
    param = "messages" if asked.messages else "prompt"
    work = []
    for ids in prompts:
        room = check_length(worker, ids, asked.max_tokens, param)
        work += [(ids, asked.of_choice(i, room)) for i in range(asked.n)]
    tickets = worker.submit(work, asked.stream)
    choices = [
        Choice(i, ticket, worker.llm.tokenizer, asked.params) for i, ticket in enumerate(tickets)
    ]
    answer = form(server.name)
    if asked.stream:
        events = _events(server, asked, answer, choices)
        return EventStream(events, lambda: _forget(server, tickets))
    try:
        await _all_ended(request, tickets)
    finally:
        _forget(server, tickets)
    for ticket in tickets:
        if ticket.error is not None:
            raise ticket.error
    body = json.dumps(answer.whole(choices, usage(tickets, asked.n)), ensure_ascii=False)
    return Response(body.encode(), media_type="application/json")


async def _check_schema(server: Server, schema: Any) -> None:
    """Compiled off the event loop, and not in the engine's thread."""
    from infinicore.llm.grammar import check_schema

    try:
        await asyncio.to_thread(check_schema, schema, server.worker.llm.tokenizer)
    except ValueError as error:
        raise ApiError(400, str(error), "response_format", "invalid_schema") from None
    except ModuleNotFoundError as error:
        raise ApiError(400, str(error), "response_format", "unsupported_field") from None


def _forget(server: Server, tickets: Sequence[Ticket]) -> None:
    """The response was sent, or the client has gone."""
    server.worker.cancel(tickets)
    server.metrics.end(tickets, time.monotonic())


async def _all_ended(request: Request, tickets: Sequence[Ticket]) -> None:
    """Wait until all end; returns early if one fails, raises if the client disconnects."""

    async def ends() -> None:
        while not all(ticket.ended for ticket in tickets):
            if any(ticket.error is not None for ticket in tickets):
                return
            await tickets[0].changed.wait()
            tickets[0].changed.clear()

    async with _watched(request.receive) as gone:
        ended = asyncio.ensure_future(ends())
        try:
            await asyncio.wait({ended, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                raise ApiError(499, "the client has gone")
            ended.result()
        finally:
            ended.cancel()


@contextlib.asynccontextmanager
async def _watched(receive: Any) -> AsyncIterator[asyncio.Task[None]]:
    """A task that ends when the client closes the connection."""

    async def until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    task = asyncio.create_task(until_gone())
    try:
        yield task
    finally:
        task.cancel()


async def _events(
    server: Server, asked: Generation, answer: Form, choices: Sequence[Choice]
) -> AsyncIterator[bytes]:
    """The chunks of a stream."""
    before, behind = _frame(answer.chunk([], **({"usage": None} if asked.usage_at_end else {})))
    tickets = [choice.ticket for choice in choices]
    for choice in choices:
        for delta in answer.first(choice):
            yield before + _encode(delta) + behind
    left = list(choices)
    alive = Alive(tickets[0].changed)
    try:
        while left:
            if await alive.is_quiet():
                yield b": waiting\n\n"
            new = b""
            for choice in tuple(left):
                ticket = choice.ticket
                if ticket.error is not None:
                    yield new + _event(ticket.error.body()) + b"data: [DONE]\n\n"
                    return
                change = answer.delta(choice)
                if change is not None:
                    new += before + _encode(change) + behind
                if ticket.ended:
                    left.remove(choice)
            if new:
                yield new
    finally:
        alive.close()
    if asked.usage_at_end:
        yield _event(answer.chunk([], usage=usage(tickets, asked.n)))
    yield b"data: [DONE]\n\n"


class Alive:
    """Waits for an event that is set with every token. One timer serves many waits: a timer for
    each would cost more than the tokens."""

    def __init__(self, changed: asyncio.Event) -> None:
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._arm(_QUIET_SECONDS)

    def _arm(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self._expire)
        self._quiet = False

    def _expire(self) -> None:
        left = self._last + _QUIET_SECONDS - self._loop.time()
        if left > 0:
            self._arm(left)
        else:
            self._quiet = True
            self._changed.set()

    async def is_quiet(self) -> bool:
        """True: timed out."""
        await self._changed.wait()
        self._changed.clear()
        self._last = self._loop.time()
        if self._quiet:
            self._arm(_QUIET_SECONDS)
            return True
        return False

    def close(self) -> None:
        self._timer.cancel()


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _encode(body: dict[str, Any]) -> bytes:
    return _encoder.encode(body).encode()


def _event(body: dict[str, Any]) -> bytes:
    return b"data: " + _encode(body) + b"\n\n"


def _frame(chunk: dict[str, Any]) -> tuple[bytes, bytes]:
    """The constant part of every event of a stream: the bytes before and after its choice."""
    before, behind = _event(chunk).split(b'"choices":[]', 1)
    return before + b'"choices":[', b"]" + behind


class EventStream(Response):
    """Sends events until they end or the client disconnects; then always calls `close`."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], close: Any) -> None:
        # Without a body: the base class would set Content-Length.
        self.status_code, self.background, self._events = 200, None, events
        self._close = close
        # X-Accel-Buffering makes nginx forward each event immediately.
        self.init_headers({"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_all() -> None:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            async for data in self._events:
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        try:
            async with _watched(receive) as gone:
                sending = asyncio.create_task(send_all())
                try:
                    await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
                    if sending.done():
                        # A broken connection also means that the client has gone.
                        with contextlib.suppress(OSError):
                            sending.result()
                finally:
                    sending.cancel()
        finally:
            self._close()
