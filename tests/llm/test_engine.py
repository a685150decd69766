"""The engine: caches, cancellation, limits, stops and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.llm import LLM, Engine, EngineOptions, SamplingParams, open_model
from infinicore.llm.request import Request
from tests.llm import small_llama
from tests.llm.tiny import expected, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_llama.make_folder(tmp_path_factory.mktemp("small") / "model")


@pytest.fixture(scope="module")
def llm(folder: Path) -> LLM:
    return LLM(folder, cache_tokens=1024, block_size=8, max_batch=8)


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "llm" in request.fixturenames:
        engine = request.getfixturevalue("llm").engine
        assert not engine.has_work and engine.pool.free == engine.pool.count


def make(folder: Path, **changes: Any) -> Engine:
    settings = {"cache_tokens": 256, "block_size": 8, "max_batch": 4, "graphs": False, **changes}
    return Engine(open_model(folder), EngineOptions(**settings))


def finish(engine: Engine) -> None:
    for _ in range(2000):
        if not engine.has_work:
            return
        engine.step()
    raise AssertionError("the engine does not come to an end")


def ids(count: int, seed: int = 1) -> list[int]:
    return np.random.RandomState(seed).randint(0, 250, count).tolist()


GREEDY = SamplingParams(max_tokens=12, ignore_eos=True)


def run(engine: Engine, prompt: list[int], params: SamplingParams = GREEDY) -> Request:
    request = engine.add(prompt, params)
    finish(engine)
    return request


# ---- the prefix cache -----------------------------------------------------------------------


def test_prefixes_are_found_and_change_no_token(folder: Path) -> None:
    with_cache, without = make(folder), make(folder, prefix_cache=False)
    prompt = ids(40)
    first = run(with_cache, prompt)
    assert first.cached == 0 and first.output == run(without, prompt).output
    again = run(with_cache, prompt)
    # All but the last token: four whole blocks, and seven of the eight tokens of a copied one.
    assert again.cached == 39 and again.output == first.output
    assert run(without, prompt).cached == 0
    longer = prompt + first.output + ids(9, 2)
    made = run(with_cache, longer)
    assert made.cached >= 48 and made.output == run(without, longer).output


def test_blocks_are_shared_while_both_run(folder: Path) -> None:
    engine = make(folder)
    prompt = ids(33)
    first = engine.add(prompt, GREEDY)
    engine.step()
    second = engine.add(prompt, GREEDY)
    engine.step()
    assert first.blocks[:4] == second.blocks[:4] and first.blocks[4] != second.blocks[4]
    finish(engine)
    assert first.output == second.output


def test_a_partly_equal_block_is_copied(folder: Path) -> None:
    engine, alone = make(folder), make(folder, prefix_cache=False)
    prompt = ids(32)
    run(engine, prompt)
    other = [*prompt[:21], (prompt[21] + 1) % 250, *ids(10, 3)]
    made = run(engine, other)
    assert made.cached == 21
    assert made.output == run(alone, other).output
    # The original was not written to.
    assert run(engine, prompt).output == run(alone, prompt).output


def test_long_requests_share_nothing_with_short_ones(tmp_path: Path) -> None:
    """LongRoPE rotates the same tokens differently."""
    name = "phi3_long"
    folder = write(tmp_path, name, expected()[name]["shapes"])
    prompt = ids(40)
    short = SamplingParams(max_tokens=4)
    long = SamplingParams(max_tokens=60)
    engine = make(folder)
    run(engine, prompt, short)
    made = run(engine, prompt, long)
    assert made.cached == 0
    assert made.output == run(make(folder), prompt, long).output
    # An engine for short requests has only short tables.
    little = make(folder, max_length=48)
    assert run(little, prompt, long).output == run(make(folder), prompt, SamplingParams(8)).output


# ---- room, order, cancellation --------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 2, 7, 16, 512])
def test_chunks_change_no_token(folder: Path, chunk: int) -> None:
    engine = make(folder, max_step_tokens=chunk, prefix_cache=False)
    wanted = [run(make(folder), ids(n, n)).output for n in (1, 19, 40)]
    requests = [engine.add(ids(n, n), GREEDY) for n in (1, 19, 40)]
    finish(engine)
    assert [each.output for each in requests] == wanted


def test_preempted_requests_give_the_same_tokens(folder: Path) -> None:
    prompts = [ids(20, n) for n in range(4)]
    wanted = [run(make(folder), each).output for each in prompts]
    engine = make(folder, cache_tokens=72)
    requests = [engine.add(each, GREEDY) for each in prompts]
    finish(engine)
    assert engine.scheduler.preemptions > 0
    assert [each.output for each in requests] == wanted
    # Tokens that a request computed itself do not count as shared.
    assert all(each.cached == 0 for each in requests)
    assert engine.pool.free == engine.pool.count == 9


@pytest.mark.parametrize("when", range(9))
def test_cancelled_at_any_time(folder: Path, when: int) -> None:
    engine = make(folder, cache_tokens=64, max_step_tokens=16)
    first, second = engine.add(ids(30, 1), GREEDY), engine.add(ids(30, 2), GREEDY)
    for _ in range(when):
        engine.step()
    engine.cancel(first)
    engine.cancel(first)
    assert first.finish_reason == "cancelled" and first.blocks == []
    finish(engine)
    engine.cancel(second)
    assert second.finish_reason == "length"
    assert second.output == run(make(folder), ids(30, 2)).output
    assert engine.pool.free == engine.pool.count


def test_a_request_fills_the_cache_exactly(folder: Path) -> None:
    engine = make(folder, cache_tokens=32)
    params = SamplingParams(max_tokens=100, ignore_eos=True)
    made = run(engine, ids(20), params)
    assert len(made) == 32 and made.finish_reason == "length"
    made = run(engine, ids(31, 2), params)
    assert len(made.output) == 1 and engine.pool.free == 4
    with pytest.raises(ValueError, match="prompt has 32 tokens: expected fewer than 32, the room"):
        engine.add(ids(32), params)
    # Two of them: one waits, or is preempted, until the other has ended.
    both = [engine.add(ids(20, n), params) for n in (3, 4)]
    finish(engine)
    assert [len(each) for each in both] == [32, 32]


def test_the_length_of_a_request_is_limited(folder: Path) -> None:
    engine = make(folder, max_length=24)
    made = run(engine, ids(20), SamplingParams(max_tokens=100, ignore_eos=True))
    assert len(made) == 24 and made.finish_reason == "length"
    with pytest.raises(ValueError, match=r"prompt has 24 tokens.*max_length"):
        engine.add(ids(24))


def test_bad_prompts(llm: LLM) -> None:
    for prompt, problem in (
        ([], "prompt is empty"),
        ([264], "the token 264: expected 0 to 263"),
        ([-1], "the token -1"),
        ([1 << 70], "the token 1180591620717411303424"),
    ):
        with pytest.raises(ValueError, match=problem):
            llm.engine.add(prompt)
    for bad in ([1.5], ["a"], [None]):
        with pytest.raises(TypeError):
            llm.engine.add(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prompt is empty"):
        llm.generate("")


def test_a_bad_prompt_leaves_no_other_behind(llm: LLM) -> None:
    with pytest.raises(ValueError, match="the token 999"):
        llm.generate([[1, 2], [999]])


@pytest.mark.parametrize(
    "changes",
    [
        {"max_batch": 0},
        {"max_step_tokens": 0},
        {"block_size": 0},
        {"block_size": -8},
        {"cache_tokens": 0},
        {"cache_tokens": -1},
        {"max_length": 0},
        {"max_length": 1.5},
        {"max_batch": True},
    ],
    ids=str,
)
def test_bad_options(changes: dict[str, Any]) -> None:
    (name,) = changes
    with pytest.raises(ValueError, match=f"EngineOptions: {name} is"):
        EngineOptions(**changes)


# ---- ends -----------------------------------------------------------------------------------


def test_ends(folder: Path, llm: LLM) -> None:
    (made,) = llm.generate([ids(9)], max_tokens=10, ignore_eos=True)
    token = made.tokens[4]
    first = made.tokens.index(token)
    (stopped,) = llm.generate([ids(9)], max_tokens=10, ignore_eos=True, stop_token_ids=[token])
    assert stopped.tokens == made.tokens[:first] and stopped.finish_reason == "stop"
    engine = make(folder)
    engine.config = type(engine.config)(**{**vars(engine.config), "eos": (token, 1)})
    assert run(engine, ids(9), SamplingParams(10)).output == made.tokens[:first]
    both = run(engine, ids(9), SamplingParams(10, ignore_eos=True))
    assert both.output == made.tokens and both.finish_reason == "length"


def test_stop_texts_across_tokens(llm: LLM) -> None:
    params = SamplingParams(max_tokens=24, ignore_eos=True)
    for seed in range(4):
        prompt = ids(9, seed)
        whole = llm.generate([prompt], params)[0].text
        for begin, size in ((0, 1), (3, 2), (5, 4), (2, 9)):
            stop = whole[begin : begin + size]
            for stops in ((stop,), ("\u00e9\u00e9\u00e9", stop), (stop, whole[begin + 1 :][:9])):
                (made,) = llm.generate([prompt], params, stop=stops)
                cut = min(place for each in stops if (place := whole.find(each)) >= 0)
                assert made.text == whole[:cut], (whole, stops)
                assert made.finish_reason == "stop"
                assert "".join(llm.stream(prompt, params, stop=stops)) == whole[:cut]


def test_what_may_become_a_stop_text_waits() -> None:
    from infinicore.llm.llm import TextPieces

    class Letters:
        def stream(self) -> Letters:
            return self

        def add(self, token: int) -> str:
            return chr(token)

        def rest(self) -> str:
            return ""

    class Made:
        def __init__(self) -> None:
            self.output: list[int] = []
            self.finish_reason: str | None = None

    def pieces(text: str, stops: list[str]) -> list[str]:
        made, out = Made(), TextPieces(Letters(), stops)
        shown: list[str] = []
        for i, letter in enumerate(text):
            made.output.append(ord(letter))
            made.finish_reason = "stop" if i == len(text) - 1 else None
            shown += out.new(made)  # type: ignore[arg-type]
        return shown

    assert pieces("xaabz", ["bz", "aabz"]) == ["x"]
    assert pieces("xaabz", ["aabz", "bz"]) == ["x"]
    assert pieces("xabay", ["abab"]) == ["x", "abay"]
    assert pieces("ab", ["abc"]) == ["ab"]
    assert pieces("abc", ["abc"]) == []


# ---- seeds, logprobs, embeddings ------------------------------------------------------------


def test_a_seed_gives_the_same_tokens_in_any_batch(folder: Path) -> None:
    params = SamplingParams(max_tokens=10, temperature=1.0, seed=7, ignore_eos=True)
    alone = run(make(folder), ids(9), params).output
    engine = make(folder, cache_tokens=80, max_step_tokens=16)
    others = SamplingParams(max_tokens=10, temperature=2.0, ignore_eos=True)
    requests = [engine.add(ids(n, n), params if n == 9 else others) for n in (14, 22, 9, 5)]
    requests[2].prompt[:] = ids(9)
    finish(engine)
    assert requests[2].output == alone
    assert engine.scheduler.preemptions > 0
    assert run(make(folder), ids(9), SamplingParams(10, 1.0, seed=8)).output != alone


def test_logprobs_of_the_model(llm: LLM) -> None:
    (made,) = llm.generate([ids(9)], max_tokens=6, logprobs=3, ignore_eos=True)
    assert made.logprobs is not None and len(made.logprobs) == 6
    for token, (own, top) in zip(made.tokens, made.logprobs, strict=True):
        assert top[0] == (token, own) and len(top) == 3
        assert own <= 0 and sum(np.exp(value) for _, value in top) <= 1 + 1e-6
    assert llm.generate([ids(9)], max_tokens=2)[0].logprobs is None


def test_generate_takes_texts_and_ids(llm: LLM) -> None:
    text = "Hello, world"
    encoded = llm.tokenizer.encode(text)
    one = llm.generate(text, max_tokens=5)
    assert len(one) == 1
    same = [
        llm.generate([text], max_tokens=5),
        llm.generate(encoded, max_tokens=5),
        llm.generate([encoded], max_tokens=5),
        llm.generate(np.array(encoded), max_tokens=5),
        llm.generate([np.array(encoded)], max_tokens=5),
        llm.generate(tuple(encoded), max_tokens=5),
    ]
    assert all(made[0].tokens == one[0].tokens for made in same)
    assert llm.generate([]) == []
    assert [len(each.tokens) for each in llm.generate([text, encoded], max_tokens=5)] == [5, 5]


def test_embeddings(llm: LLM) -> None:
    made = llm.embed([ids(3), ids(40, 2), "text"])
    assert made.shape == (3, 32) and made.dtype == infinicore.float32
    rows = made.cpu().numpy()
    np.testing.assert_allclose((rows * rows).sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(llm.embed(ids(40, 2)).cpu().numpy()[0], rows[1], rtol=1e-5)
    with pytest.raises(ValueError, match="prompt is empty"):
        llm.embed([[]])


def test_a_stream_that_is_left(llm: LLM) -> None:
    stream = llm.stream(ids(9), max_tokens=20, ignore_eos=True)
    next(stream)
    assert llm.engine.has_work
    stream.close()  # type: ignore[attr-defined]
