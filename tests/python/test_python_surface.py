"""The names that programs of earlier versions use, with their parameters. More parameters are
allowed."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import infinicore

SURFACE = json.loads(
    (Path(__file__).parents[1] / "expectations" / "python_surface.json").read_text("utf-8")
)
METHODS = [
    (owner, name, parameters)
    for owner, parts in SURFACE["classes"].items()
    for name, parameters in parts["methods"].items()
]
ATTRIBUTES = [
    (owner, name) for owner, parts in SURFACE["classes"].items() for name in parts["attributes"]
]
P = inspect.Parameter


def find(dotted: str) -> Any:
    value: Any = infinicore
    for part in dotted.split(".")[1:]:
        value = getattr(value, part)
    return value


def expected(parameters: str) -> list[inspect.Parameter]:
    """`a, b=1, *, out=None` as parameters."""
    node = ast.parse(f"lambda {parameters}: 0", mode="eval").body
    assert isinstance(node, ast.Lambda)
    known = {
        "RopeAlgo": infinicore.nn.functional.RopeAlgo,
        "ACT_SWIGLU": infinicore.nn.functional.ACT_SWIGLU,
        "int32": infinicore.int32,
        "infinicore": infinicore,
    }

    def default(value: ast.expr | None) -> Any:
        return P.empty if value is None else ast.unparse(value)

    plain = node.args.args
    presets = [None] * (len(plain) - len(node.args.defaults)) + list(node.args.defaults)
    rows = [(each.arg, P.POSITIONAL_OR_KEYWORD, p) for each, p in zip(plain, presets, strict=True)]
    if node.args.vararg:
        rows.append((node.args.vararg.arg, P.VAR_POSITIONAL, None))
    for each, preset in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        rows.append((each.arg, P.KEYWORD_ONLY, preset))
    made = []
    for name, kind, preset in rows:
        source = default(preset)
        value = source
        if source is not P.empty:
            value = None if "device" in source else eval(source, known)
        made.append(P(name, kind, default=value))
    return made


def same_default(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, set):  # a size given as {1, 1, 1}
        return ours in (1, (1, 1, 1), [1, 1, 1])
    return bool(ours == theirs) or (ours is None and theirs == 0.0)  # None stands for 0


def complaints(function: Any, parameters: str, skip: int = 0) -> list[str]:
    ours = list(inspect.signature(function).parameters.values())[skip:]
    by_name = {each.name: each for each in ours}
    places = [p.name for p in ours if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
    takes_any = any(each.kind is P.VAR_POSITIONAL for each in ours)
    takes_names = any(each.kind is P.VAR_KEYWORD for each in ours)
    found = []
    for place, each in enumerate(expected(parameters)):
        if each.kind is P.VAR_POSITIONAL:
            if not takes_any:
                found.append(f"does not take *{each.name}")
            continue
        mine = by_name.get(each.name)
        if mine is None or mine.kind is P.VAR_POSITIONAL:
            if not takes_names and not (mine is not None and takes_any):
                found.append(f"has no parameter {each.name}")
            continue
        by_place = each.kind is P.POSITIONAL_OR_KEYWORD and not takes_any
        if by_place and each.name not in places[place : place + 1]:
            found.append(f"{each.name} is not argument {place}: {places}")
        if each.default is P.empty:
            continue
        if mine.default is P.empty:
            found.append(f"{each.name} has no default")
        elif not same_default(mine.default, each.default):
            found.append(f"{each.name}={mine.default!r}, expected {each.default!r}")
    required = {each.name for each in expected(parameters) if each.default is P.empty}
    required |= {mine.name for mine in ours if mine.kind in (P.VAR_POSITIONAL, P.VAR_KEYWORD)}
    found += [
        f"{mine.name} is required"
        for mine in ours
        if mine.default is P.empty and mine.name not in required
    ]
    return found


@pytest.mark.parametrize("name", SURFACE["functions"])
def test_function(name: str) -> None:
    parameters = SURFACE["functions"][name]
    found = complaints(find(name), parameters)
    assert not found, f"{name}({parameters}): {'; '.join(found)}"


@pytest.mark.parametrize("name", SURFACE["keywords"])
def test_keywords(name: str) -> None:
    parameters = inspect.signature(find(name)).parameters
    takes_names = any(each.kind is P.VAR_KEYWORD for each in parameters.values())
    missing = [word for word in SURFACE["keywords"][name] if word not in parameters]
    assert takes_names or not missing, f"{name}{tuple(parameters)}: {missing}"


@pytest.mark.parametrize(("owner", "name", "parameters"), METHODS)
def test_method(owner: str, name: str, parameters: str) -> None:
    method = getattr(find(owner), name)
    if "**" in parameters or name.startswith("__"):
        assert callable(method)
        return
    try:
        inspect.signature(method)
    except ValueError:  # native, without a signature: other tests call it
        assert callable(method)
        return
    found = complaints(method, parameters, skip=1)
    assert not found, f"{owner}.{name}({parameters}): {'; '.join(found)}"


@pytest.mark.parametrize("owner", [name for name in SURFACE["classes"] if name != "Module"])
def test_constructor(owner: str) -> None:
    parameters = SURFACE["classes"][owner]["methods"].get("__init__")
    if parameters is None:
        return
    found = complaints(find(owner), parameters)
    assert not found, f"{owner}({parameters}): {'; '.join(found)}"


@pytest.mark.parametrize(("owner", "name"), ATTRIBUTES)
def test_attribute(owner: str, name: str) -> None:
    made = {
        "infinicore.Tensor": lambda: infinicore.ones(1),
        "infinicore.device": lambda: infinicore.device("cpu"),
        "infinicore.DeviceEvent": infinicore.DeviceEvent,
        "infinicore.nn.Linear": lambda: infinicore.nn.Linear(1, 1),
    }
    getattr(made[owner](), name)


@pytest.mark.parametrize("name", SURFACE["constants"])
def test_constant(name: str) -> None:
    assert find(name) == SURFACE["constants"][name]


def test_rotary_algorithms() -> None:
    algorithms = infinicore.nn.functional.RopeAlgo
    assert algorithms.GPT_J.value == 0
    assert algorithms.GPT_NEOX.value == 1


@pytest.mark.parametrize("name", SURFACE["dtypes"])
def test_dtype(name: str) -> None:
    made = find(f"infinicore.{name}")
    assert isinstance(made, infinicore.dtype)
    same = {other for other, kind in SURFACE["dtypes"].items() if kind == SURFACE["dtypes"][name]}
    assert {find(f"infinicore.{other}") for other in same} == {made}


@pytest.mark.parametrize("name", SURFACE["binding"])
def test_binding(name: str) -> None:
    """Some callers use private modules; those give the package's own objects."""
    assert callable(getattr(importlib.import_module("infinicore.lib._infinicore"), name))
