"""Several ranks generate the same tokens as one process, with tensor (tp) or pipeline parallelism
(pp)."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.llm import Engine, EngineOptions, open_model, parallel
from infinicore.llm.config import read_config
from infinicore.llm.files import Checkpoint, Stored
from infinicore.llm.models import model_type
from infinicore.llm.sampling import Chosen
from infinicore.llm.stages import Stage
from infinicore.llm.weights import Weights
from tests.llm import ranks_tokens, tiny

FOUR = ("llama_tied", "mixtral", "gemma3", "deepseek_v2")
#: Blocks for two or three of the five requests: some are preempted.
LITTLE = {"cache_tokens": 160, "block_size": 8, "max_step_tokens": 13}
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    shapes = {name: each["shapes"] for name, each in tiny.expected().items()}
    return {name: tiny.write(place / name, name, each) for name, each in shapes.items()}


def on_ranks(
    tp: int, pp: int, folders: list[Path], ranks: int | None = None, **options: Any
) -> Any:
    number = str(ranks or tp * pp)
    command = [sys.executable, "-m", "infinicore", "launch", "-n", number, "--no-prefix"]
    program = [Path(__file__).parent / "ranks_tokens.py", tp, pp, json.dumps(options), *folders]
    environment = {"INFINI_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    made = subprocess.run(
        [*command, *map(str, program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


@pytest.mark.parametrize(
    ("tp", "pp", "names", "options"),
    [
        pytest.param(2, 1, tiny.MODELS, {}, id="tp2"),
        pytest.param(1, 2, tiny.MODELS, {}, id="pp2"),
        pytest.param(1, 2, FOUR, {"graphs": False}, id="pp2-eager"),
        pytest.param(1, 2, FOUR, LITTLE, id="pp2-little-memory"),
        pytest.param(2, 2, FOUR, {}, id="tp2-pp2"),
        pytest.param(2, 1, FOUR, {"follows_blindly": True}, id="tp2-follows"),
        pytest.param(2, 1, FOUR, {"follows_blindly": True, "graphs": False}, id="tp2-eager"),
    ],
)
def test_ranks_give_the_tokens_of_one_process(
    tp: int, pp: int, names: Iterable[str], options: Any, folders: dict[str, Path]
) -> None:
    made = on_ranks(tp, pp, [folders[name] for name in names], **options)
    for name, each in zip(names, made, strict=True):
        known = {name: value for name, value in options.items() if name != "follows_blindly"}
        settings = EngineOptions(**{**ranks_tokens.SETTINGS, **known})
        alone = ranks_tokens.results(Engine(open_model(folders[name]), settings))
        assert each["greedy"] == tiny.expected()[name]["tokens"], name
        assert each["drawn"] == alone["drawn"], name
        assert each["recorded"] == alone["recorded"], name
        assert each["preemptions"] == alone["preemptions"], name
        assert (each["preemptions"] > 0) == (options is LITTLE), name
        layers = tiny.config(name)["num_hidden_layers"]
        assert each["layers"] == -(-layers // pp), name
        np.testing.assert_allclose(each["hidden"], alone["hidden"], atol=1e-4, err_msg=name)
        if tp == 1:  # the same operators; at the end of a stage a norm is not fused with its sum
            found, wanted = ([*flat(made["logprobs"])] for made in (each, alone))
            np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=name)


def flat(each: Any) -> Iterable[float]:
    """The elements of nested lists."""
    if isinstance(each, (list, tuple)):
        for inner in each:
            yield from flat(inner)
    else:
        yield each


def test_stages_load_their_own_weights(folders: dict[str, Path]) -> None:
    taken = []
    for number in range(2):
        checkpoint = Watched(open_model(folders["gemma3"]))
        config = read_config(checkpoint.config, checkpoint.source)
        stage = Stage(number, 2, 1)
        weights = Weights(checkpoint, infinicore.device("cpu"), infinicore.float32, stage=stage)
        model = model_type("gemma3_text", "")(weights, config, 64)
        assert weights.untaken() == []
        assert len(model.layers) == len(model.cache_shapes(1)) == 4 - number
        taken.append(checkpoint.read)
    layers = [{name.split(".")[2] for name in each if ".layers." in name} for each in taken]
    assert layers == [{"0", "1", "2", "3"}, {"4", "5", "6"}]
    assert "model.norm.weight" in taken[1] - taken[0]
    assert taken[0] & taken[1] <= {"model.embed_tokens.weight"}


class Watched:
    """A checkpoint that records which weights' data were read."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint, self.read = checkpoint, set[str]()
        self.config, self.source, self.names = (
            checkpoint.config,
            checkpoint.source,
            checkpoint.names,
        )

    def get(self, name: str) -> Any:
        found = self._checkpoint.get(name)
        return None if found is None else _Reported(self, found)


class _Reported:
    def __init__(self, owner: Watched, found: Stored) -> None:
        self._owner, self._found = owner, found

    def __getattr__(self, name: str) -> Any:
        if name == "data":
            self._owner.read.add(self._found.name)
        return getattr(self._found, name)


def test_more_stages_than_layers() -> None:
    with pytest.raises(ValueError, match="pp is 3: expected at most 2, the model's layers"):
        Stage(0, 3).layers(2)


def test_ranks_of_another_number(folders: dict[str, Path]) -> None:
    with pytest.raises(AssertionError, match="tp is 1 and pp is 3, but 2 ranks were started"):
        on_ranks(1, 3, [folders["llama"]], ranks=2)


@pytest.mark.parametrize(("device", "asked"), [("cpu", None), ("cpu:0", "cpu:0"), (None, None)])
def test_each_rank_has_its_own_device(
    device: str | None, asked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device type without an index: ccl.init uses the device with the rank's index."""
    given = []

    def init(device: Any) -> Any:
        given.append(device)
        return SimpleNamespace(ranks=2)

    monkeypatch.setattr(parallel.ccl, "init", init)
    parallel._join(EngineOptions(device=device, tp=2))
    assert given == [asked]


def test_a_rank_that_has_gone() -> None:
    """Steps report it; requests can still be cancelled here, and the other ranks are told to
    end."""
    engine = object.__new__(parallel.ParallelEngine)
    (mine, gone), (other, theirs) = multiprocessing.Pipe(), multiprocessing.Pipe()
    gone.close()
    done: list[Any] = []
    engine.rank, engine._channels = 0, {1: mine, 2: other}
    engine.comm = SimpleNamespace(close=lambda: done.append("comm"))
    engine.scheduler = SimpleNamespace(remove=done.append)  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="rank 1 has gone"):
        engine.step()
    request = SimpleNamespace(finish_reason=None, number=7)
    engine.cancel(request)  # type: ignore[arg-type]
    assert request.finish_reason == "cancelled"
    engine.close()
    assert json.loads(theirs.recv_bytes()) == ["end"]
    assert done == [request, "comm"]


@pytest.mark.parametrize("width", [1, 2], ids=["pp2", "tp2"])
def test_a_grammar_that_cannot_go_on_ends_on_all_ranks(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the leader queries it for the allowed tokens, and may get an error about a limit."""
    channels = dict(enumerate(multiprocessing.Pipe()))
    requests, chosen = [], []
    leader = 2 - width
    for rank in (leader, 1 - leader):
        engine = object.__new__(parallel.ParallelEngine)
        engine.rank, engine.stage = rank, Stage(rank // width, 2 // width, width)
        engine._channels = {1 - rank: channels[rank]}
        grammar = SimpleNamespace(error="too many items" if rank == leader else "")
        requests.append(SimpleNamespace(chooser=SimpleNamespace(grammar=grammar)))
        own = [Chosen(5 + rank - leader, -1.0, [(5, -1.0), (6, -2.0)])]
        monkeypatch.setattr(Engine, "_choose", lambda *_, own=own: own)
        launched = SimpleNamespace(last=requests[-1:], later=None)
        chosen.append(engine._choose(launched))  # type: ignore[arg-type]
    assert chosen[0] == chosen[1] and chosen[0][0].token == 5
    assert requests[1].chooser.grammar.error == "too many items"
