"""`infini serve` as a process: its start, its key, its end."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from infinicore.cli import main
from infinicore.llm.server import _is_local

from .served import SECONDS, ServerProcess

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]

pytestmark = pytest.mark.requires("llm")


def test_a_signal_lets_requests_end_and_refuses_new_ones(folder: Path) -> None:
    server = ServerProcess(folder, "--cache-tokens", "8192", "--name", "tiny", INFINI_API_KEY=None)
    try:
        assert server.ask("/v1/models").json["data"][0]["id"] == "tiny"
        asked = {"messages": HELLO, "max_tokens": 1500, "ignore_eos": True, "stream": True}
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
        assert server.ask("/v1/models", Host="any.example", **key).status == 200
        connection, response = server.open(CHAT, asked, **key)
        response.readline()
        server.process.send_signal(signal.SIGINT)
        server.wait_for("shutting down")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(SECONDS) == 0, "".join(server.errors)
        connection.close()
    finally:
        server.close()


def test_names_of_the_server(folder: Path) -> None:
    """A page whose host name resolves to 127.0.0.1 (DNS rebinding) is rejected."""
    words = ("--cache-tokens", "256", "--allowed-host", "Models.example")
    server = ServerProcess(folder, *words, INFINI_API_KEY=None)
    asked = {"messages": HELLO, "max_tokens": 1}
    try:
        for name in ("localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST.", "models.example:1"):
            assert server.ask(CHAT, asked, Host=name).status == 200, name
        strange = ("127.0.0.1.evil.example", "localhost@evil.example", "a:b:c", ".", ":80", "[]")
        for name in ("evil.example", *strange):
            refused = server.ask(CHAT, asked, Host=name)
            assert refused.status == 403 and refused.error["code"] == "host_not_allowed", name
            assert f"Host is '{name}': expected one of 127.0.0.1, ::1" in refused.error["message"]
            assert server.ask("/", Host=name).status == 403
    finally:
        server.close()


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *((host, True) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost")),
        *((host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "")),
    ],
)
def test_which_addresses_others_reach(host: str, expected: bool) -> None:
    assert _is_local(host) is expected


def test_two_ranks(folder: Path) -> None:
    """A signal is sent to all ranks; none of them exits before the first has answered."""
    server = ServerProcess(folder, "--cache-tokens", "4096", "--tp", "2", INFINI_API_KEY=None)
    try:
        asked = {"messages": HELLO, "max_tokens": 100, "ignore_eos": True, "stream": True}
        assert server.ask("/v1/embeddings", {"input": "Hello"}).status == 200
        connection, response = server.open(CHAT, asked)
        response.readline()
        server.process.send_signal(signal.SIGTERM)
        rest = response.read().decode()
        connection.close()
        assert '"finish_reason":"length"' in rest and rest.endswith("data: [DONE]\n\n")
        assert server.process.wait(SECONDS) in (0, 128 + signal.SIGTERM), "".join(server.errors)
    finally:
        server.close()


def test_ranks_end_when_the_first_has_no_port(folder: Path) -> None:
    """The others wait for it then, and must react to signals."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(AssertionError, match=r"in use\n.*rank 0 exited with code 1"):
            ServerProcess(folder, "--pp", "2", "--port", port)


def test_bad_arguments(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(*arguments: str) -> str:
        assert main(["serve", *arguments]) == 1
        return capsys.readouterr().err

    assert "--port is 70000" in error(str(folder), "--port", "70000")
    assert "--max-waiting is -1" in error(str(folder), "--max-waiting", "-1")
    assert "no such file" in error("/nowhere", "--port", "0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in error(str(folder), "--port", str(taken.getsockname()[1]))
