"""The server: rejected requests, and no leaks when clients or the engine fail."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .served import SECONDS, Served

pytestmark = pytest.mark.requires("llm")

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
LONG = {"messages": HELLO, "max_tokens": 3000, "ignore_eos": True, "temperature": 0}

BAD_FIELDS: list[tuple[str, Any]] = [
    ("messages", []),
    ("messages", "Hello"),
    ("messages[0]", ["Hello"]),
    ("messages[0].role", [{"role": "king", "content": "Hello"}]),
    ("messages[0].content", [{"role": "user", "content": 5}]),
    ("messages[0].content[0]", [{"role": "user", "content": [{"type": "image_url"}]}]),
    ("max_tokens", 0),
    ("max_tokens", "many"),
    ("max_completion_tokens", -1),
    ("temperature", -0.1),
    ("temperature", 2.1),
    ("temperature", "hot"),
    ("temperature", True),
    ("top_p", 0),
    ("top_p", 1.1),
    ("top_k", -1),
    ("min_p", 2),
    ("presence_penalty", 2.5),
    ("frequency_penalty", -2.5),
    ("repetition_penalty", 0),
    ("n", 0),
    ("n", 1.5),
    ("n", 1000),
    ("seed", "seed"),
    ("seed", 1 << 70),
    ("stop", ""),
    ("stop", ["a"] * 17),
    ("stop", [1]),
    ("stop_token_ids", [-1]),
    ("logprobs", 3),
    ("top_logprobs", 21),
    ("top_logprobs", 2),  # without logprobs
    ("stream", "yes"),
    ("stream_options", {}),  # without stream
    ("response_format", "json"),
    ("response_format.type", {"type": "xml"}),
    ("response_format.json_schema", {"type": "json_schema"}),
    ("model", 5),
    ("tools", [{"type": "function"}]),
    ("logit_bias", {"5": 1}),
    ("max_token", 5),  # unknown
    ("chat_template_kwargs", 5),
    ("chat_template_kwargs", {"messages": []}),
]


@pytest.fixture
def other(folder: Path) -> Iterator[Any]:
    """Makes servers that end with the test."""
    made: list[Served] = []

    def make(**options: Any) -> Served:
        made.append(Served(folder, cache_tokens=1 << 13, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize(("name", "value"), BAD_FIELDS)
def test_bad_fields_are_named(server: Any, name: str, value: Any) -> None:
    field = name.partition("[")[0].partition(".")[0]
    answer = server.ask(CHAT, {"messages": HELLO, "max_tokens": 1, field: value})
    assert answer.status == 400, answer.text
    assert answer.error["param"] == name
    assert answer.error["type"] == "invalid_request_error" and answer.error["message"]


@pytest.mark.parametrize("prompt", [[], "", [[]], [-1], [1 << 40], [264], {"a": 1}, [1, "a"], 5])
def test_bad_prompts(server: Any, prompt: Any) -> None:
    for path, name in (("/v1/completions", "prompt"), ("/v1/embeddings", "input")):
        answer = server.ask(path, {name: prompt})
        assert (answer.status, answer.error["param"]) == (400, name), answer.text


def test_fields_that_mean_nothing_here_are_accepted(server: Any) -> None:
    fields = {"user": "me", "store": False, "metadata": {}, "tools": [], "logit_bias": {}}
    answer = server.ask(CHAT, {"messages": HELLO, "max_tokens": 1, **fields, "top_p": None})
    assert answer.status == 200, answer.text


def test_bad_requests(server: Any) -> None:
    assert server.ask("/nowhere").status == 404
    assert server.ask(CHAT).status == 405
    assert server.ask(CHAT, b"{").error["code"] == "invalid_json"
    assert server.ask(CHAT, b"[]").status == 400
    assert server.ask(CHAT, b'{"temperature": NaN}').status == 400
    assert server.ask(CHAT, b"[" * 100_000).status == 400
    assert server.ask(CHAT, b"{}").error["param"] == "messages"
    assert server.ask(CHAT, b"\xff").status == 400
    assert server.ask(CHAT, {}, **{"Content-Type": "text/plain"}).status == 415
    assert server.ask(CHAT, {"messages": HELLO, "model": "gpt"}).status == 404
    assert server.ask("/v1/embeddings", {"input": "a", "dimensions": 7}).status == 400
    # A server may also close the connection before everything was sent.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        assert server.ask(CHAT, b" " * (9 << 20)).status == 413


def test_half_a_surrogate_pair(server: Any) -> None:
    assert server.complete("\ud800").error["param"] == "prompt"
    assert server.chat("\ud800").error["param"] == "messages"
    assert server.chat("Hello", **{"\ud800": 1}).error["code"] == "unknown_field"
    assert server.chat("Hello", stop="\ud800", max_tokens=2).status == 200
    assert server.chat("Hello", model="\ud800").status == 404


def test_prompts_that_are_too_long(server: Any) -> None:
    for fields in ({}, {"max_tokens": 1}):
        answer = server.chat("x" * 5000, **fields)
        assert answer.status == 400
        assert answer.error["code"] == "context_length_exceeded"
        assert "4096" in answer.error["message"]
    assert server.chat("x", max_tokens=4096).error["code"] == "context_length_exceeded"
    assert server.ask("/v1/embeddings", {"input": "x" * 5000}).status == 400


def test_the_key(other: Any) -> None:
    server = other(key="s\u00e9cret")  # sent as UTF-8
    server._key = "s\u00e9cret".encode().decode("latin-1")
    assert server.ask("/v1/models").status == 200
    for header in (
        "Bearer wrong",
        "Bearer",
        "secret",
        "Basic secret",
        "Bearer s\u00e9cret",
        "Bearer secret",
    ):
        for path in ("/v1/models", "/metrics"):
            answer = server.ask(path, Authorization=header)
            assert answer.status == 401 and answer.error["code"] == "invalid_api_key"
        assert server.ask(CHAT, {"messages": HELLO}, Authorization=header).status == 401
    assert server.ask("/health", Authorization="").status == 200
    assert server.ask("/", Authorization="").status == 200


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_frees_its_blocks(other: Any, stream: bool) -> None:
    server = other()
    begun = threading.Event()
    server.before_steps(begun.set)
    if stream:
        connection, response = server.open(CHAT, {**LONG, "stream": True})
        for _ in range(20):
            response.readline()
        response.close()
    else:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        headers = {"Content-Type": "application/json"}
        connection.request("POST", CHAT, json.dumps(LONG), headers)
        assert begun.wait(SECONDS)
    connection.close()
    server.until('outputs_total{reason="cancelled"}', 1)
    server.until('cache_blocks{state="used"}', 0)
    server.until("running", 0)
    assert server.chat("Hello", max_tokens=2).status == 200


def test_a_full_queue(other: Any) -> None:
    """One runs, one waits, the third is rejected."""
    server = other(waiting=1, max_batch=1)
    go, steps = threading.Event(), []

    def hold() -> None:
        steps.append(None)
        if len(steps) == 2:  # the first request runs now
            go.wait(SECONDS)

    server.before_steps(hold)
    answers: list[int] = []

    def ask() -> None:
        answers.append(server.chat("Hello", max_tokens=8, ignore_eos=True).status)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    server.until("running", 1)
    threads[1].start()
    server.until("waiting", 1)
    refused = server.chat("Hello", max_tokens=8)
    assert refused.status == 429 and refused.headers["retry-after"]
    assert server.chat("Hello", n=3).status == 400, "so many can never wait"
    go.set()
    for thread in threads:
        thread.join()
    assert answers == [200, 200]
    assert server.chat("Hello", max_tokens=8).status == 200


def test_an_engine_that_fails_fails_the_requests(other: Any) -> None:
    server = other()
    begun, breaks = threading.Event(), threading.Event()

    def fail() -> None:
        begun.set()
        if breaks.is_set():
            raise RuntimeError("the device is lost")

    server.before_steps(fail)
    statuses: list[int] = []
    waiting = threading.Thread(target=lambda: statuses.append(server.ask(CHAT, LONG).status))
    waiting.start()
    connection, response = server.open(CHAT, {**LONG, "stream": True})
    response.readline()
    server.until("running", 2)
    breaks.set()
    rest = response.read().decode()
    connection.close()
    waiting.join()
    assert statuses == [500] and "the device is lost" in rest and rest.endswith("[DONE]\n\n")
    health = server.ask("/health")
    assert health.status == 503 and "the device is lost" in health.json["error"]
    assert server.chat("Hello").status == 500
    assert server.ask("/v1/embeddings", {"input": "Hello"}).status == 500
    assert server.metric("engine_up") == 0


def test_requests_that_the_engine_refuses_harm_no_others(other: Any) -> None:
    server = other()
    engine = server.worker.llm.engine
    add = engine.add

    def refuse(ids: Any, params: Any) -> Any:
        if params.seed == 13:
            raise ValueError("Engine.add: bad luck")
        return add(ids, params)

    engine.add = refuse
    answer = server.chat("Hello", seed=13)
    assert answer.status == 400 and "bad luck" in answer.error["message"]
    assert server.chat("Hello", max_tokens=2).status == 200


def test_a_silent_stream_says_that_it_is_alive(other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinicore.llm.server.generate._QUIET_SECONDS", 0.05)
    server = other()
    go = threading.Event()
    server.before_steps(lambda: go.wait(SECONDS) and None)
    connection, response = server.open(CHAT, {"messages": HELLO, "max_tokens": 3, "stream": True})
    while not response.readline().startswith(b": "):
        pass
    go.set()
    assert response.read().decode().endswith("data: [DONE]\n\n")
    connection.close()
