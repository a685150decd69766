"""Every model generates the same tokens as transformers, in every mode of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infinicore.llm import Engine, EngineOptions, SamplingParams, open_model
from tests.llm import tiny

MODES: dict[str, dict[str, Any]] = {
    "eager": {"graphs": False},
    "graph": {},
    # Chunks of 13 tokens, and blocks for two or three of the five requests: some are preempted.
    "little memory": {"cache_tokens": 160, "block_size": 8, "max_step_tokens": 13},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            shapes = tiny.expected()[name]["shapes"]
            made[name] = tiny.write(tmp_path_factory.mktemp(name), name, shapes)
        return made[name]

    return get


def engine(folder: Path, **changes: Any) -> Engine:
    settings = {"cache_tokens": 2048, "block_size": 16, "max_batch": 8, **changes}
    return Engine(open_model(folder), EngineOptions(**settings))


PARAMS = SamplingParams(max_tokens=tiny.TOKENS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", tiny.MODELS)
def test_tokens_of_a_ragged_batch(name: str, mode: str, folders: Any) -> None:
    made = engine(folders(name), **MODES[mode])
    requests = [made.add(prompt, PARAMS) for prompt in tiny.prompts()]
    while made.has_work:
        made.step()
    assert [each.output for each in requests] == tiny.expected()[name]["tokens"]
    assert made.pool.free == made.pool.count
    if mode == "little memory":
        assert made.scheduler.preemptions > 0


@pytest.mark.parametrize("name", tiny.MODELS)
def test_tokens_one_by_one(name: str, folders: Any) -> None:
    made = engine(folders(name))
    for prompt, tokens in zip(tiny.prompts(), tiny.expected()[name]["tokens"], strict=True):
        request = made.add(prompt, PARAMS)
        while made.has_work:
            made.step()
        assert request.output == tokens
