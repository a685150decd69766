"""The engine in a thread of its own.

Coroutines send it commands through a queue; updates of requests go back to the event loop once per
step. Only this thread accesses the engine."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from infinicore.llm.llm import LLM
from infinicore.llm.request import Request
from infinicore.llm.sampling import Chosen, SamplingParams
from infinicore.llm.server.errors import ApiError
from infinicore.llm.server.ticket import Ticket, Update


class Worker:
    """Runs an engine. `make` loads the model, in the worker thread."""

    def __init__(self, make: Callable[[], LLM], most_waiting: int = 256) -> None:
        self._make, self.most_waiting = make, most_waiting
        self._llm: LLM | None = None
        self._commands: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._ending = False
        self._loading_error: BaseException | None = None
        #: Why the engine has stopped; empty while it works.
        self.failure = ""
        #: Whether new requests are refused because the server is stopping.
        self.draining = False
        #: The number of accepted requests that have not ended; modified only by the event loop.
        self.open: set[Ticket] = set()
        self._tickets: dict[int, tuple[Request, Ticket, int]] = {}
        self._calls: set[asyncio.Future[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="infini-engine", daemon=True)

    def start(self) -> None:
        """Load the model; raises what that raised."""
        self._thread.start()
        self._ready.wait()
        if self._loading_error is not None:
            raise self._loading_error

    @property
    def llm(self) -> LLM:
        assert self._llm is not None, "Worker: start was not called"
        return self._llm

    @property
    def longest(self) -> int:
        """Tokens of a prompt and its output."""
        pool = self.llm.engine.pool
        return min(self.llm.engine.max_length, pool.count * pool.size)

    @property
    def running(self) -> int:
        return len(self.llm.engine.scheduler.running)

    @property
    def waiting(self) -> int:
        return max(len(self.open) - self.running, 0)

    # ---- called in the event loop ------------------------------------------------------------

    def check_open(self, count: int = 0) -> None:
        """Raises if `count` more requests cannot be taken now."""
        if self.failure:
            raise ApiError(500, f"the engine has stopped: {self.failure}", code="engine_failed")
        if self.draining:
            raise ApiError(503, "the server is shutting down", code="shutting_down")
        most = self.llm.engine.options.max_batch
        if count > most + self.most_waiting:
            raise ApiError(
                400,
                f"the request asks for {count} outputs: expected at most"
                f" {most + self.most_waiting}",
                "n",
                "invalid_value",
            )
        # Requests that fit into the batch start with the next step, even if no waiting is allowed.
        if len(self.open) + count > most and self.waiting + count > self.most_waiting:
            raise ApiError(
                429, f"{self.waiting} requests are waiting: try again later", code="queue_full"
            )

    def submit(
        self, prompts: Sequence[tuple[list[int], SamplingParams]], each_token: bool
    ) -> list[Ticket]:
        """Queue prompts; all tickets share one event, set after each step (or at their ends)."""
        self.check_open(len(prompts))
        self._loop = asyncio.get_running_loop()
        changed = asyncio.Event()
        tickets = [Ticket(len(ids), changed, each_token) for ids, _ in prompts]
        self.open.update(tickets)
        work = list(zip(tickets, prompts, strict=True))

        def add() -> None:
            updates = []
            for ticket, (ids, params) in work:
                try:
                    request = self.llm.engine.add(ids, params)
                except Exception as error:
                    updates.append(Update(ticket, error=_as_api_error(error)))
                else:
                    self._tickets[request.number] = (request, ticket, 0)
            self._publish(updates)

        self._order(add)
        return tickets

    def cancel(self, tickets: Iterable[Ticket]) -> None:
        """Cancel requests that have not ended; their blocks are freed before the next step."""
        left = {ticket for ticket in tickets if not ticket.ended}
        if not left:
            return
        self.open -= left

        def forget() -> None:
            gone = [n for n, (_, ticket, _) in self._tickets.items() if ticket in left]
            for number in gone:
                self.llm.engine.cancel(self._tickets.pop(number)[0])

        self._order(forget)

    async def call(self, work: Callable[[], Any]) -> Any:
        """Run a function between two steps, and return its result."""
        self.check_open()
        loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: Exception | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        def run() -> None:
            result, error = None, None
            try:
                result = work()
            except Exception as raised:
                error = raised
            loop.call_soon_threadsafe(settle, result, error)

        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        self._order(run)
        return await future

    def _order(self, command: Callable[[], None]) -> None:
        with self._changed:
            self._commands.append(command)
            self._changed.notify()

    def stop(self, seconds: float = 30.0) -> None:
        """End the thread after the current step."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join(seconds)

    # ---- the engine's thread -----------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._llm = self._make()
            # Loaded now, not at the first request.
            _ = self._llm.tokenizer
        except BaseException as error:
            self._loading_error = error
            self._ready.set()
            return
        self._ready.set()
        try:
            while self._turn():
                pass
        except BaseException as error:
            self._fail(error)
        else:
            # Ranks that share the model end with this one.
            self._llm.close()

    def _turn(self) -> bool:
        """Processes commands, then runs a step; sleeps while there is nothing to do. False: the
        end."""
        engine = self.llm.engine
        with self._changed:
            while not (self._commands or self._ending or engine.has_work):
                self._changed.wait()
            if self._ending:
                return False
            commands = list(self._commands)
            self._commands.clear()
        for command in commands:
            command()
        if engine.has_work:
            new = [request for request in engine.step() if request.number in self._tickets]
            self._publish([self._update(request) for request in new])
        return True

    def _update(self, request: Request) -> Update:
        _, ticket, sent = self._tickets[request.number]
        # Copied, because the engine may remove the newest token again.
        new: list[Chosen] = request.chosen[sent:]
        if request.finish_reason is None:
            self._tickets[request.number] = (request, ticket, sent + len(new))
            return Update(ticket, new)
        del self._tickets[request.number]
        error = getattr(request.chooser.grammar, "error", "")
        failed = ApiError(500, f"the grammar cannot go on: {error}") if error else None
        return Update(ticket, new, request.finish_reason, request.cached, failed)

    def _publish(self, updates: list[Update]) -> None:
        if updates and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, updates)

    def _fail(self, error: BaseException) -> None:
        """Ends all requests with an error, including later ones."""
        traceback.print_exception(error, file=sys.stderr)
        self.failure = f"{type(error).__name__}: {error}"
        for request, _, _ in self._tickets.values():
            # Only updates block counts, since the device may be lost.
            try:
                self.llm.engine.cancel(request)
            except Exception:
                traceback.print_exc(file=sys.stderr)
        self._tickets.clear()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._fail_open)

    # ---- in the event loop again -------------------------------------------------------------

    def _deliver(self, updates: list[Update]) -> None:
        for update in updates:
            update.ticket.take(update)
            if update.ticket.ended:
                self.open.discard(update.ticket)

    def _fail_open(self) -> None:
        error = ApiError(500, f"the engine has stopped: {self.failure}", code="engine_failed")
        self._deliver([Update(ticket, error=error) for ticket in self.open])
        for future in list(self._calls):
            if not future.done():
                future.set_exception(error)


def _as_api_error(error: Exception) -> ApiError:
    if isinstance(error, (ValueError, TypeError)):
        return ApiError(400, str(error))
    return ApiError(500, f"{type(error).__name__}: {error}")
