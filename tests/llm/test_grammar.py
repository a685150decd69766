"""Output by a JSON schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infinicore.llm import LLM, open_model
from infinicore.llm.grammar import Grammar

pytestmark = pytest.mark.requires("llm", "llguidance")

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 6},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return open_model(folder).tokenizer()


@pytest.mark.parametrize("seed", range(5))
def test_random_logits_give_json_of_the_schema(tokenizer: Any, seed: int) -> None:
    draw, grammar, output = np.random.default_rng(seed), Grammar(PERSON, tokenizer), []
    while not grammar.is_complete:
        logits = draw.standard_normal(264).astype(np.float32)
        grammar.mask(logits)
        output.append(int(logits.argmax()))
        assert np.isfinite(logits[output[-1]])
        grammar.accept(output[-1])
        assert not grammar.error and len(output) < 200
    made = json.loads(tokenizer.decode(output))
    assert 0 <= made["age"] <= 120 and len(made["name"]) <= 6 and set(made["tags"]) <= {"a", "b"}
    logits = np.zeros(300, np.float32)  # some models have a larger vocabulary than the tokenizer
    grammar.mask(logits)
    assert np.flatnonzero(np.isfinite(logits)).tolist() == [257], "only the end may follow"


def test_a_token_that_is_not_allowed_ends_the_request(tokenizer: Any) -> None:
    grammar = Grammar(PERSON, tokenizer)
    grammar.accept(tokenizer.encode("x")[0])
    assert grammar.error and grammar.is_complete
    grammar.accept(5)  # nothing more happens


@pytest.mark.parametrize(
    "schema",
    [{"type": "nothing"}, "{", 5, {"$ref": "#/nowhere"}, {"type": "string", "pattern": "(("}],
)
def test_bad_schemas_are_refused(tokenizer: Any, schema: Any) -> None:
    with pytest.raises(ValueError, match="Grammar: schema is refused"):
        Grammar(schema, tokenizer)


def test_the_engine_ends_with_the_json(folder: Path) -> None:
    llm = LLM(folder, cache_tokens=2048)
    llm.tokenizer.eos = None  # the model need not generate an end token
    prompts = ["One", "Two", "Three"]
    settings: Any = {"max_tokens": 200, "temperature": 1.0, "seed": 2}
    for made in llm.generate(prompts, json_schema=PERSON, **settings):
        assert made.finish_reason == "stop"
        assert set(json.loads(made.text)) == set(PERSON["required"])
