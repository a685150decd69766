"""A small engine in C++, built against the installed package and written the way engines are."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import infinicore
from kit import process
from kit.binding import root
from kit.build import CXX, compile_
from kit.requirements import DEVICE, need

from . import reference, theirs

pybind11 = need("pybind11")

HERE = Path(__file__).parent
PROMPTS = [[5, 17, 3], [41, 2, 8, 90, 11, 7, 23, 1, 64, 12], [33]]
COUNTS = [9, 14, 5]
LENGTH = 32
BUILT = "INFINI_TEST_ENGINE"  # a variable: the compiled engine, for the inner run


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if BUILT in os.environ:
        return Path(os.environ[BUILT])
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    made = tmp_path_factory.mktemp("engine") / f"_miniature_engine{suffix}"
    foreign = [pybind11.get_include(), sysconfig.get_paths()["include"]]
    library = root() / "lib"
    names = ["infinicore_cpp_api", "infiniop", "infinirt", "infiniccl"]
    compile_(
        [
            *(CXX, "-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden"),
            *("-Wall", "-Wextra", "-Werror", f"-I{root() / 'include'}"),
            *(flag for each in foreign for flag in ("-isystem", each)),
            *(str(HERE / "binding.cc"), "-o", str(made), f"-L{library}", f"-Wl,-rpath,{library}"),
            *(f"-l{name}" for name in names),
        ]
    )
    return made


@pytest.fixture(scope="session")
def engine(built: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("_miniature_engine", built)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(
    engine: ModuleType, name: str, mode: str, ranks: int = 1, seed: int = 0
) -> tuple[Any, reference.Weights]:
    model = reference.MODELS[name]
    config = engine.Config()
    for field, value in model.fields().items():
        setattr(config, field, value)
    device = infinicore.device(DEVICE)._underlying
    made = engine.Engine(config, device, ranks, getattr(engine.Mode, mode), len(PROMPTS), LENGTH)
    weights = model.weights(seed)
    assert sorted(made.parameter_names) == sorted(weights)
    tensors = {key: infinicore.from_numpy(value) for key, value in weights.items()}
    made.load({key: tensor._underlying for key, tensor in tensors.items()})
    return made, weights


def check(made: Any, name: str, weights: reference.Weights) -> None:
    tokens, logits = made.generate(PROMPTS, COUNTS)
    model = reference.MODELS[name]
    rows = [row for step in logits for row in infinicore.Tensor(step).numpy()]
    assert all(np.isfinite(row).all() for row in rows)
    wanted = [
        reference.generate(model, weights, prompt, count)
        for prompt, count in zip(PROMPTS, COUNTS, strict=True)
    ]
    assert tokens == [chosen for chosen, _ in wanted]
    # The first rows are those of the prompts, in all modes.
    for row, (_, expected) in zip(rows, wanted, strict=False):
        np.testing.assert_allclose(row, expected[0], rtol=0, atol=2e-5 * np.abs(expected[0]).max())


@pytest.mark.parametrize("mode", ["Static", "Paged", "Graph"])
@pytest.mark.parametrize("name", list(reference.MODELS))
def test_tokens(engine: ModuleType, name: str, mode: str) -> None:
    made, weights = make(engine, name, mode)
    if mode == "Graph":
        made.record(len(PROMPTS))
        assert made.graph_count == len(PROMPTS)
    check(made, name, weights)
    check(made, name, weights)  # the caches still hold another run's keys


@pytest.mark.skipif("INFINI_CPU_DEVICES" in os.environ, reason="this is the inner run")
@pytest.mark.host
def test_two_devices(built: Path) -> None:
    said = process.suite(
        f"{Path(__file__)}::test_two_ranks", INFINI_CPU_DEVICES="2", **{BUILT: str(built)}
    )
    assert f"{3 * len(reference.MODELS)} passed" in said


@pytest.mark.parametrize("mode", ["Static", "Paged", "Graph"])
@pytest.mark.parametrize("name", list(reference.MODELS))
def test_two_ranks(engine: ModuleType, name: str, mode: str) -> None:
    if infinicore.get_device_count(DEVICE) < 2:
        pytest.skip("needs 2 devices; test_two_devices runs it with as many")
    made, weights = make(engine, name, mode, ranks=2)
    if mode == "Graph":
        made.record(len(PROMPTS))
    check(made, name, weights)


@pytest.mark.requires("transformers")
@pytest.mark.parametrize("name", list(reference.MODELS))
def test_like_transformers(engine: ModuleType, name: str) -> None:
    made, weights = make(engine, name, "Paged")
    tokens, _ = made.generate(PROMPTS, COUNTS)
    model = theirs.load(name, reference.MODELS[name], weights)
    asked = zip(PROMPTS, COUNTS, strict=True)
    assert tokens == [theirs.generate(model, prompt, count) for prompt, count in asked]


def test_unknown_parameter(engine: ModuleType) -> None:
    made, weights = make(engine, "llama", "Paged")
    stray = infinicore.from_numpy(weights["norm.weight"])._underlying
    with pytest.raises(RuntimeError, match=r"layers\.7\.norm\.weight"):
        made.load({"layers.7.norm.weight": stray})
    with pytest.raises(RuntimeError, match=r"lm_head\.weight"):
        made.load({"lm_head.weight": stray})
