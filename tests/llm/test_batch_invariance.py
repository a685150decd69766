"""In batch-invariant mode a request has the same bits whatever else runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infinicore.llm import Engine, EngineOptions, SamplingParams, open_model
from tests.llm import tiny

PROMPT = tiny.prompts()[3]
PARAMS = SamplingParams(max_tokens=8, logprobs=5)
NAMES = ("llama", "gemma2", "qwen3_moe", "deepseek_v2")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    shapes = {name: tiny.expected()[name]["shapes"] for name in NAMES}
    return {name: tiny.write(tmp_path_factory.mktemp(name), name, shapes[name]) for name in NAMES}


def bits(folder: Path, others: int, dtype: str = "float32", **changes: Any) -> Any:
    """Tokens and log-probabilities of one request, batched with others."""
    settings = {"cache_tokens": 4096, "max_batch": 16, "dtype": dtype, **changes}
    engine = Engine(open_model(folder), EngineOptions(batch_invariant=True, **settings))
    for i in range(others):
        engine.add(tiny.prompts()[i % 5][: 3 + 5 * i], SamplingParams(max_tokens=3 + i))
    request = engine.add(PROMPT, PARAMS)
    while request.finish_reason is None:
        engine.step()
    return [[each.token, each.logprob, each.top] for each in request.chosen]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_batches_and_chunks(name: str, dtype: str, folders: dict[str, Path]) -> None:
    alone = bits(folders[name], 0, dtype)
    assert bits(folders[name], 1, dtype) == alone
    assert bits(folders[name], 7, dtype) == alone
    for chunk in (5, 16, 33):
        assert bits(folders[name], 2, dtype, max_step_tokens=chunk) == alone
    assert bits(folders[name], 3, dtype, graphs=False) == alone


def test_threads(folders: dict[str, Path]) -> None:
    program = (
        "import json, sys; from pathlib import Path\n"
        "from tests.llm.test_batch_invariance import bits\n"
        "print(json.dumps(bits(Path(sys.argv[1]), 2)))"
    )
    made = []
    for threads in ("1", "2", "3"):
        run = subprocess.run(
            [sys.executable, "-c", program, str(folders["llama"])],
            env={**_environment(), "INFINI_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        made.append(json.loads(run.stdout.splitlines()[-1]))
    assert made[0] == made[1] == made[2]


def _environment() -> dict[str, str]:
    import os

    root = str(Path(__file__).parents[2])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": root if not path else f"{root}{os.pathsep}{path}"}
