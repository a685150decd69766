"""A server for requests: in a thread of the test, or as a separate process."""

from __future__ import annotations

import http.client
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kit.process import environment

SECONDS = 60.0  # every wait ends


class Answer:
    """Status, headers, and the body as JSON if it is."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json["error"]
        return found


class Client:
    """Plain HTTP, one connection for each request."""

    def __init__(self, port: int, key: str | None = None) -> None:
        self.port, self._key = port, key

    def open(self, path: str, body: Any = None, **headers: str) -> Any:
        """A connection with its response; the caller closes it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if self._key is not None:
            sent["Authorization"] = f"Bearer {self._key}"
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        connection.request(method, path, data, {**sent, **headers})
        return connection, connection.getresponse()

    def ask(self, path: str, body: Any = None, **headers: str) -> Answer:
        connection, response = self.open(path, body, **headers)
        try:
            return Answer(response)
        finally:
            connection.close()

    def chat(self, text: str, **fields: Any) -> Answer:
        messages = [{"role": "user", "content": text}]
        return self.ask("/v1/chat/completions", {"messages": messages, **fields})

    def complete(self, prompt: Any, **fields: Any) -> Answer:
        return self.ask("/v1/completions", {"prompt": prompt, **fields})

    def events(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of a stream, which must end well."""
        connection, response = self.open(path, {**body, "stream": True})
        try:
            assert response.status == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            last = ""
            for line in response:
                if text := line.decode().strip():
                    last = text
                    if text.startswith("data: {"):
                        yield json.loads(text[6:])
            assert last == "data: [DONE]"
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        for line in self.ask("/metrics").text.splitlines():
            if line.startswith(f"infini_{name} "):
                return float(line.split()[-1])
        return 0.0

    def until(self, name: str, value: float) -> None:
        """Wait for a metric to have a value."""
        end = time.monotonic() + SECONDS
        while (found := self.metric(name)) != value:
            assert time.monotonic() < end, f"{name} is {found}: expected {value}"
            time.sleep(0.01)


class Served(Client):
    """A server in a thread. Tests may inspect or break `worker.llm`."""

    def __init__(self, folder: Path, *, key: str | None = None, waiting: int = 256, **options: Any):
        import uvicorn

        from infinicore.llm import LLM
        from infinicore.llm.server.app import Server
        from infinicore.llm.server.run import bind
        from infinicore.llm.server.worker import Worker

        self.worker = Worker(lambda: LLM(folder, **options), waiting)
        self.worker.start()
        self._socket = bind("127.0.0.1", 0)
        self._socket.listen()
        super().__init__(self._socket.getsockname()[1], key)
        app = Server(self.worker, "small", key).application()
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(SECONDS)
        self.worker.stop()
        assert not self._thread.is_alive()

    def before_steps(self, action: Callable[[], None]) -> None:
        """Call something in the engine's thread before each step from now on."""
        engine: Any = self.worker.llm.engine
        step = engine.step

        def changed() -> Any:
            action()
            return step()

        engine.step = changed


class ServerProcess(Client):
    """`infini serve` as a process."""

    def __init__(self, folder: Path, *arguments: str, **changes: str | None) -> None:
        command = [sys.executable, "-m", "infinicore", "serve", str(folder), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=environment(**changes),
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self.errors: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        try:
            super().__init__(int(self.wait_for("serving ").rsplit(":", 1)[1]))
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)
            self._lines.put(line)
        self._lines.put("")

    def wait_for(self, text: str) -> str:
        """Waits for the first line on stderr with this text."""
        while line := self._lines.get(timeout=SECONDS):
            if text in line:
                return line.strip()
        raise AssertionError(f"the server ended: {''.join(self.errors)}")

    def close(self) -> int:
        """Kills it if it still runs; returns its exit status."""
        if self.process.poll() is None:
            self.process.kill()
        self._reader.join(SECONDS)
        status = self.process.wait(SECONDS)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status
