"""`infini serve` as a process: its start, its key, its end."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from kit.process import run

from .served import SECONDS, ServerProcess

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]

pytestmark = pytest.mark.requires("llm")


def test_a_signal_lets_requests_end_and_refuses_new_ones(folder: Path) -> None:
    server = ServerProcess(folder, "--cache-tokens", "8192", "--name", "tiny", INFINI_API_KEY=None)
    try:
        assert server.ask("/v1/models").json["data"][0]["id"] == "tiny"
        asked = {"messages": HELLO, "max_tokens": 3000, "ignore_eos": True, "stream": True}
        connection, response = server.open(CHAT, asked)
        response.readline()
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("shutting down")
        refused = server.ask(CHAT, {"messages": HELLO})
        assert refused.status == 503 and refused.headers["retry-after"]
        assert server.ask("/health").status == 503
        rest = response.read().decode()
        connection.close()
        assert '"finish_reason":"length"' in rest and rest.endswith("data: [DONE]\n\n")
        assert server.process.wait(SECONDS) == 0, "".join(server.errors)
    finally:
        server.close()


def test_a_second_signal_does_not_wait(folder: Path) -> None:
    server = ServerProcess(folder, "--cache-tokens", "8192", INFINI_API_KEY="secret")
    try:
        assert server.ask("/v1/models").status == 401
        key = {"Authorization": "Bearer secret"}
        asked = {"messages": HELLO, "max_tokens": 3900, "ignore_eos": True, "stream": True}
        connection, response = server.open(CHAT, asked, **key)
        response.readline()
        server.process.send_signal(signal.SIGINT)
        server.wait_for("shutting down")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(SECONDS) == 0, "".join(server.errors)
        connection.close()
    finally:
        server.close()


def test_bad_arguments(folder: Path) -> None:
    def error(*arguments: str) -> str:
        done = run([sys.executable, "-m", "infinicore", "serve", *arguments])
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "--port is 70000" in error(str(folder), "--port", "70000")
    assert "--max-waiting is -1" in error(str(folder), "--max-waiting", "-1")
    assert "no such file" in error("/nowhere", "--port", "0")
