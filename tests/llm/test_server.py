"""The server: its answers, complete and streamed."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from infinicore.llm import LLM

pytestmark = pytest.mark.requires("llm")

GREEDY = {"temperature": 0, "max_tokens": 24, "ignore_eos": True}


@pytest.fixture(scope="module")
def llm(folder: Path) -> LLM:
    return LLM(folder, cache_tokens=4096)


def text_of(answer: Any) -> str:
    assert answer.status == 200, answer.text
    choice = answer.json["choices"][0]
    return str(choice["message"]["content"] if "message" in choice else choice["text"])


def test_health_and_models(server: Any) -> None:
    assert server.ask("/health").json["status"] == "ok"
    listed = server.ask("/v1/models").json
    assert [each["id"] for each in listed["data"]] == ["small"]
    assert server.ask("/v1/models/small").json == listed["data"][0]
    assert server.ask("/v1/models/other").status == 404


def test_answers_are_those_of_the_engine(server: Any, llm: LLM) -> None:
    expected = llm.chat([{"role": "user", "content": "Hello"}], **GREEDY)
    answer = server.chat("Hello", **GREEDY)
    assert text_of(answer) == expected.text
    body = answer.json
    assert body["object"] == "chat.completion" and body["model"] == "small"
    assert body["choices"][0]["finish_reason"] == expected.finish_reason
    assert body["usage"]["prompt_tokens"] == expected.prompt_tokens
    assert body["usage"]["completion_tokens"] == len(expected.tokens)
    ids = llm.tokenizer.encode("Once")
    both = server.complete(["Once", ids], **GREEDY).json["choices"]
    expected = llm.generate(["Once"], **GREEDY)[0]
    assert [each["text"] for each in both] == [expected.text] * 2


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_stream_is_the_whole_answer_in_pieces(server: Any, path: str) -> None:
    asked: dict[str, Any] = {"temperature": 1, "seed": 3, "max_tokens": 40, "n": 2}
    asked["logprobs"] = True if "chat" in path else 1
    if "chat" in path:
        asked["messages"] = [{"role": "user", "content": "Hello"}]
    else:
        asked["prompt"] = "Hello"
    whole = server.ask(path, asked).json
    texts, ends, tokens = ["", ""], [None, None], [0, 0]
    events = list(server.events(path, {**asked, "stream_options": {"include_usage": True}}))
    assert {event["id"] for event in events} == {events[0]["id"]}
    assert all(event["usage"] is None for event in events[:-1])
    assert events[-1]["choices"] == []
    for event in events:
        for choice in event["choices"]:
            i = choice["index"]
            assert ends[i] is None, "nothing comes behind the end"
            texts[i] += choice.get("text") or choice.get("delta", {}).get("content", "")
            ends[i] = choice["finish_reason"]
            logprobs = choice["logprobs"] or {}
            tokens[i] += len(logprobs.get("content") or logprobs.get("tokens") or [])
    assert sum(tokens) == events[-1]["usage"]["completion_tokens"]
    for i, choice in enumerate(whole["choices"]):
        assert texts[i] == (choice["message"]["content"] if "chat" in path else choice["text"])
        assert ends[i] == choice["finish_reason"]
    same = ("prompt_tokens", "completion_tokens", "total_tokens")
    assert [events[-1]["usage"][k] for k in same] == [whole["usage"][k] for k in same]


def test_stop_texts_end_the_output_and_are_not_in_it(server: Any) -> None:
    text = text_of(server.chat("Hello", **GREEDY))
    stop = text[6:9]
    cut = text[: text.index(stop)]
    asked = {**GREEDY, "stop": ["nowhere", stop]}
    answer = server.chat("Hello", **asked)
    assert text_of(answer) == cut
    assert answer.json["choices"][0]["finish_reason"] == "stop"
    messages = [{"role": "user", "content": "Hello"}]
    events = server.events("/v1/chat/completions", {"messages": messages, **asked})
    pieces = [event["choices"][0]["delta"].get("content", "") for event in events]
    assert "".join(pieces) == cut


def test_seeds(server: Any) -> None:
    asked = {"max_tokens": 24, "n": 3, "ignore_eos": True}

    def texts(**more: Any) -> list[str]:
        choices = server.complete("Once", **asked, **more).json["choices"]
        return [choice["text"] for choice in choices]

    first = texts(seed=5)
    assert len(set(first)) == 3, "each output has random numbers of its own"
    assert texts(seed=5) == first
    assert texts(seed=6) != first
    assert texts() != texts(), "without a seed no two answers are equal"


def test_logprobs(server: Any) -> None:
    answer = server.chat("Hello", **GREEDY, logprobs=True, top_logprobs=3).json["choices"][0]
    content = answer["logprobs"]["content"]
    assert len(content) == GREEDY["max_tokens"]
    for entry in content:
        assert len(entry["top_logprobs"]) == 3
        assert entry["logprob"] == entry["top_logprobs"][0]["logprob"] <= 0
        assert bytes(entry["bytes"]).decode() == entry["token"]
    assert "".join(entry["token"] for entry in content) == answer["message"]["content"]
    older = server.complete("Hello", **GREEDY, logprobs=2).json["choices"][0]["logprobs"]
    assert {len(values) for values in older.values()} == {GREEDY["max_tokens"]}
    assert all(len(each) == 2 for each in older["top_logprobs"])
    assert server.chat("Hello", **GREEDY).json["choices"][0]["logprobs"] is None


def test_penalties_change_the_output(server: Any) -> None:
    plain = text_of(server.chat("Hello", **{**GREEDY, "max_tokens": 64}))
    for name, value in (("frequency_penalty", 2), ("presence_penalty", 2)):
        other = text_of(server.chat("Hello", **{**GREEDY, "max_tokens": 64, name: value}))
        assert len(set(other)) > len(set(plain))


@pytest.mark.requires("llguidance")
def test_json(server: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema}}
    answer = server.chat("Who?", temperature=1, seed=1, max_tokens=200, response_format=form)
    made = json.loads(text_of(answer))
    assert answer.json["choices"][0]["finish_reason"] == "stop"
    assert list(made) == ["name", "age"] and isinstance(made["age"], int)
    # A random model may not finish it; the output is the beginning of an object.
    answer = server.chat("Who?", max_tokens=32, response_format={"type": "json_object"})
    assert text_of(answer).startswith("{")
    form["json_schema"] = {"name": "bad", "schema": {"type": "nothing"}}
    refused = server.chat("Who?", response_format=form)
    assert refused.status == 400 and refused.error["param"] == "response_format"


def test_embeddings(server: Any, llm: LLM) -> None:
    answer = server.ask("/v1/embeddings", {"input": ["Hello", "Once"], "model": "small"}).json
    expected = llm.embed(["Hello", "Once"]).tolist()
    for i, entry in enumerate(answer["data"]):
        assert entry["embedding"] == pytest.approx(expected[i], abs=1e-5)
    assert answer["usage"]["prompt_tokens"] == 9


def test_64_clients(server: Any) -> None:
    """Half of them stream; each gets the same answer as alone."""
    asked = [
        {"temperature": 1, "seed": i, "max_tokens": 4 + 3 * i % 61, "ignore_eos": True}
        for i in range(64)
    ]
    path = "/v1/chat/completions"
    bodies = [
        {"messages": [{"role": "user", "content": "x" * (1 + 7 * i % 97)}], **each}
        for i, each in enumerate(asked)
    ]
    got: list[str] = [""] * 64

    def client(i: int) -> None:
        if i % 2:
            got[i] = text_of(server.ask(path, bodies[i]))
        else:
            events = server.events(path, bodies[i])
            pieces = [each["choices"][0]["delta"].get("content", "") for each in events]
            got[i] = "".join(pieces)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(0, 64, 9):
        assert got[i] == text_of(server.ask(path, bodies[i]))
    assert all(got)
    server.until('cache_blocks{state="used"}', 0)


@pytest.mark.requires("openai")
def test_the_official_client(server: Any) -> None:
    import openai

    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none")
    assert [model.id for model in client.models.list()] == ["small"]
    hello: Any = [{"role": "user", "content": "Hello"}]
    settings: Any = {"model": "small", "messages": hello, "temperature": 0, "max_tokens": 16}
    whole = client.chat.completions.create(**settings, logprobs=True, top_logprobs=2)
    text = whole.choices[0].message.content
    assert whole.usage is not None and whole.usage.completion_tokens == 16
    options = {"include_usage": True}
    stream = client.chat.completions.create(**settings, stream=True, stream_options=options)
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens
    made = client.completions.create(model="small", prompt="Once", max_tokens=4, n=2)
    assert [choice.index for choice in made.choices] == [0, 1]
    vectors = client.embeddings.create(model="small", input=["Hello", "Once"])  # in base64
    assert len(vectors.data) == 2 and len(vectors.data[0].embedding) == 32
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        client.chat.completions.create(**{**settings, "model": "gpt"})
    with pytest.raises(openai.BadRequestError, match="temperature is 9"):
        client.chat.completions.create(**{**settings, "temperature": 9})
