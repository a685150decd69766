"""The event loop's view of a request."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from infinicore.llm.sampling import Chosen
from infinicore.llm.server.errors import ApiError


@dataclass
class Update:
    """The changes of a request after a step."""

    ticket: Ticket
    chosen: list[Chosen] = field(default_factory=list)
    finish_reason: str | None = None
    cached: int = 0
    error: ApiError | None = None


@dataclass(eq=False)
class Ticket:
    """The tokens of a request so far. `changed` is set when there are new ones, or only at the end
    if the request is not streamed."""

    prompt_tokens: int
    changed: asyncio.Event
    each_token: bool
    output: list[int] = field(default_factory=list)
    chosen: list[Chosen] = field(default_factory=list)
    finish_reason: str | None = None
    cached: int = 0
    error: ApiError | None = None
    begun: float = field(default_factory=time.monotonic)
    first_token: float | None = None

    @property
    def ended(self) -> bool:
        return self.finish_reason is not None or self.error is not None

    def take(self, update: Update) -> None:
        if self.ended:
            return
        if update.chosen:
            self.first_token = self.first_token or time.monotonic()
            self.chosen += update.chosen
            self.output += [each.token for each in update.chosen]
        self.finish_reason, self.error = update.finish_reason, update.error
        self.cached = update.cached or self.cached
        if self.each_token or self.ended:
            self.changed.set()
