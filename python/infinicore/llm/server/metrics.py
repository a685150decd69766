"""The /metrics page, in Prometheus' text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from infinicore.llm.server.ticket import Ticket
from infinicore.llm.server.worker import Worker

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The server's counters; the engine's are read on request."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.outputs: Counter[str] = Counter()
        self.first_seconds = self.seconds = 0.0
        self.firsts = self.ended = 0

    def request(self, path: str, status: int) -> None:
        self.requests[path, status] += 1

    def end(self, tickets: Sequence[Ticket], now: float) -> None:
        """Outputs have ended, or their client has disconnected."""
        for ticket in tickets:
            self.outputs[ticket.finish_reason or ("error" if ticket.error else "cancelled")] += 1
            self.seconds += now - ticket.begun
            self.ended += 1
            if ticket.first_token is not None:
                self.first_seconds += ticket.first_token - ticket.begun
                self.firsts += 1

    def text(self, worker: Worker) -> str:
        engine = worker.llm.engine
        pool = engine.pool
        lines: list[str] = []

        def add(name: str, kind: str, meaning: str, *values: tuple[str, float]) -> None:
            lines.append(f"# HELP infini_{name} {meaning}")
            lines.append(f"# TYPE infini_{name} {kind}")
            lines.extend(f"infini_{name}{labels} {value!r}" for labels, value in values)

        def count(name: str, meaning: str, value: int) -> None:
            add(name, "counter", meaning, ("", value))

        by_path = [
            (f'{{path="{path}",status="{status}"}}', n)
            for (path, status), n in sorted(self.requests.items())
        ]
        by_reason = [(f'{{reason="{r}"}}', n) for r, n in sorted(self.outputs.items())]
        add("http_requests_total", "counter", "HTTP requests by path and status.", *by_path)
        add("outputs_total", "counter", "Outputs by the reason of their end.", *by_reason)
        add("running", "gauge", "Requests in the batch.", ("", worker.running))
        add("waiting", "gauge", "Requests that wait for a place.", ("", worker.waiting))
        count("prompt_tokens_total", "Tokens of prompts computed.", engine.prompt_tokens)
        count("generated_tokens_total", "Tokens generated.", engine.generated)
        count("prefix_hit_tokens_total", "Tokens found in the prefix cache.", pool.hits)
        count("steps_total", "Steps of the engine.", engine.steps)
        count("preemptions_total", "Requests set back.", engine.scheduler.preemptions)
        blocks = (('{state="free"}', pool.free), ('{state="used"}', pool.count - pool.free))
        add("cache_blocks", "gauge", "Blocks of the key/value cache.", *blocks)
        add("engine_up", "gauge", "0 if the engine has stopped.", ("", int(not worker.failure)))
        for name, meaning, total, n in (
            ("first_token_seconds", "Seconds to the first token.", self.first_seconds, self.firsts),
            ("output_seconds", "Seconds to the end of an output.", self.seconds, self.ended),
        ):
            add(name, "summary", meaning, ("_sum", total), ("_count", n))
        return "\n".join(lines) + "\n"
