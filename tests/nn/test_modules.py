"""Modules: registration, state, hooks, moves and repr."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn
from kit.requirements import need


def numbers(tensor: Any) -> Any:
    return np.array(tensor.tolist())


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 3, bias=True)
        self.norm = nn.RMSNorm(3)
        self.scale = nn.Parameter(infinicore.ones(1))
        self.register_buffer("seen", infinicore.zeros(2))
        self.register_buffer("table", infinicore.zeros(2), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.norm(self.project(x)) * self.scale


def filled() -> Block:
    infinicore.manual_seed(0)
    block = Block()
    for parameter in block.parameters():
        parameter.copy_(infinicore.randn(tuple(parameter.shape)))
    return block


KEYS = ["scale", "seen", "project.weight", "project.bias", "norm.weight"]


# ---- Registration -------------------------------------------------------------------------------


def test_registered_by_assignment() -> None:
    block = Block()
    assert [name for name, _ in block.named_parameters()] == [
        "scale",
        "project.weight",
        "project.bias",
        "norm.weight",
    ]
    assert [name for name, _ in block.named_buffers()] == ["seen", "table"]
    assert [name for name, _ in block.named_children()] == ["project", "norm"]
    assert [name for name, _ in block.named_modules()] == ["", "project", "norm"]
    assert [name for name, _ in block.named_parameters(recurse=False)] == ["scale"]
    assert [name for name, _ in block.named_parameters(prefix="a")][1] == "a.project.weight"
    assert len(list(block.parameters())) == 4
    assert len(list(block.buffers())) == 2
    assert next(block.modules()) is block
    assert list(block.children()) == [block.project, block.norm]
    assert {"scale", "project", "seen"} <= set(dir(block))


def test_assigned_again() -> None:
    block = Block()
    block.seen = infinicore.ones(3)
    assert dict(block.named_buffers())["seen"].tolist() == [1.0] * 3
    block.project = nn.Identity()
    assert [name for name, _ in block.named_parameters()] == ["scale", "norm.weight"]
    block.scale = None
    assert block.scale is None
    del block.norm
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'norm'"):
        block.norm  # noqa: B018
    with pytest.raises(TypeError, match="is a parameter: expected a Parameter"):
        block.scale = infinicore.ones(1)


def test_shared_parameters_are_listed_once() -> None:
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    other.weight = one.weight
    pair = nn.ModuleList([one, other, one])
    assert [name for name, _ in pair.named_parameters()] == ["0.weight"]
    assert [name for name, _ in pair.named_modules()] == ["", "0", "1"]
    pair.to(infinicore.float16)
    assert pair[0].weight is pair[1].weight
    assert pair[1].weight.dtype is infinicore.float16


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m: m.register_parameter("a.b", None), KeyError, "without a dot"),
        (lambda m: m.register_buffer("", None), KeyError, "register_buffer: name is ''"),
        (lambda m: m.register_parameter("x", infinicore.ones(1)), TypeError, "no Parameter"),
        (lambda m: m.register_buffer("x", 3), TypeError, "register_buffer: 'x' is int: no Tensor"),
        (lambda m: m.add_module("x", 3), TypeError, "add_module: 'x' is int: no Module"),
        (lambda m: m.add_module("forward", nn.Identity()), KeyError, "another attribute 'forward'"),
        (lambda m: m.get_submodule("project.inner"), AttributeError, "Linear has no 'inner'"),
        (lambda m: m.requires_grad_(True), RuntimeError, "no gradients"),
        (lambda m: nn.Module()(1), NotImplementedError, "Module has no forward method"),
    ],
)
def test_refused(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call(Block())


def test_forgotten_init() -> None:
    class Wrong(nn.Module):
        def __init__(self) -> None:
            self.inner = nn.Identity()

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) before"):
        Wrong()


# ---- Parameters ---------------------------------------------------------------------------------


def test_parameter() -> None:
    data = infinicore.zeros(2)
    parameter = nn.Parameter(data)
    assert isinstance(parameter, infinicore.Tensor)
    data.copy_(infinicore.ones(2))
    assert parameter.tolist() == [1.0, 1.0]
    assert repr(parameter) == f"Parameter containing:\n{parameter.data!r}"
    assert type(parameter + 1) is infinicore.Tensor
    assert type(parameter.data) is infinicore.Tensor
    assert parameter.data.data_ptr() == parameter.data_ptr()
    with pytest.raises(ValueError, match="Parameter: data is list: expected a Tensor"):
        nn.Parameter([1.0])


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.first.weight.copy_(infinicore.eye(3))  # it is created without values
        self.register_buffer("scale", infinicore.ones(3))
        self.sizes = [1, 2]

    def forward(self, x: infinicore.Tensor) -> infinicore.Tensor:
        return self.second(self.first(x)) * self.scale


@pytest.mark.parametrize("make", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_modules(make: Any) -> None:
    module, x = Tied(), infinicore.ones(2, 3)
    made = make(module)
    assert made(x).tolist() == module(x).tolist()
    assert sorted(made.state_dict()) == sorted(module.state_dict())
    assert type(made.first.weight) is nn.Parameter
    assert made.first.weight is made.second.weight
    assert made.first.weight.data_ptr() != module.first.weight.data_ptr()
    made.scale.copy_(infinicore.zeros(3))
    made.sizes.append(3)
    assert made(x).tolist() == [[0.0] * 3] * 2
    assert module.scale.tolist() == [1.0] * 3 and module.sizes == [1, 2]
    made.first = nn.Linear(3, 3)  # it is registered as before
    assert sorted(made.state_dict()) == sorted(module.state_dict())


# ---- State --------------------------------------------------------------------------------------


def test_state() -> None:
    block = filled()
    state = block.state_dict()
    assert list(state) == KEYS
    assert state["project.weight"].data_ptr() == block.project.weight.data_ptr()
    assert type(state["scale"]) is infinicore.Tensor
    assert type(block.state_dict(keep_vars=True)["scale"]) is nn.Parameter
    assert next(iter(block.state_dict(prefix="m."))) == "m.scale"
    kept: dict[str, Any] = {"first": 1}
    assert block.state_dict(destination=kept) is kept
    assert list(kept) == ["first", *KEYS]


def test_loaded() -> None:
    source, target = filled(), Block()
    held = target.project.weight
    result = target.load_state_dict(source.state_dict())
    assert result.missing_keys == []
    assert result.unexpected_keys == []
    assert target.project.weight is held, "tensors are written, not replaced"
    x = infinicore.randn((2, 4))
    assert source(x).tolist() == target(x).tolist()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_loaded_from_other_libraries(library: str) -> None:
    source, target = filled(), Block()
    make = np.float64 if library == "numpy" else need("torch").tensor
    state = source.state_dict().items()
    target.load_state_dict({name: make(tensor.tolist()) for name, tensor in state})
    for name, tensor in target.state_dict().items():
        assert tensor.dtype is infinicore.float32
        assert np.allclose(numbers(tensor), numbers(source.state_dict()[name]))


def test_strict() -> None:
    block = filled()
    state = dict(block.state_dict())
    del state["scale"]
    state["more"] = infinicore.ones(1)
    with pytest.raises(RuntimeError, match=r"missing keys: \['scale'\]; unexpected keys: \['more'"):
        block.load_state_dict(state)
    result = block.load_state_dict(state, strict=False)
    assert result == (["scale"], ["more"])


def test_wrong_shapes_load_nothing() -> None:
    block = filled()
    before = {name: tensor.tolist() for name, tensor in block.state_dict().items()}
    state = {name: infinicore.zeros(tuple(t.shape)) for name, t in block.state_dict().items()}
    state["norm.weight"] = infinicore.zeros(7)
    with pytest.raises(RuntimeError, match=r"shapes differ: norm.weight: \(7,\) for \(3,\)"):
        block.load_state_dict(state, strict=False)
    assert {name: tensor.tolist() for name, tensor in block.state_dict().items()} == before


@pytest.mark.parametrize("bad", [3, [("scale", 1)]])
def test_no_state(bad: Any) -> None:
    with pytest.raises(TypeError, match="load_state_dict: state_dict is"):
        Block().load_state_dict(bad)


def test_a_state_of_no_tensors() -> None:
    state = {**Block().state_dict(), "scale": "heavy"}
    with pytest.raises(TypeError, match="load_state_dict: 'scale' is str"):
        Block().load_state_dict(state)


def test_extra_state() -> None:
    class Counter(nn.Module):
        count = 0

        def get_extra_state(self) -> Any:
            return self.count

        def set_extra_state(self, state: Any) -> None:
            self.count = state

    outer = nn.ModuleList([Counter()])
    outer[0].count = 5
    state = outer.state_dict()
    assert state == {"0._extra_state": 5}
    other = nn.ModuleList([Counter()])
    other.load_state_dict(state)
    assert other[0].count == 5


# ---- Hooks, moves, text -------------------------------------------------------------------------


def test_hooks() -> None:
    block, seen = nn.Identity(), []
    before = block.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    after = block.register_forward_hook(
        lambda module, args, result: seen.append(result) or result * 2
    )
    assert block(infinicore.ones(1)).tolist() == [4.0]
    assert seen[0].tolist() == [2.0]
    before.remove()
    assert block(infinicore.ones(1)).tolist() == [2.0]
    after.remove()
    after.remove()
    assert block(infinicore.ones(1)).tolist() == [1.0]
    with block.register_forward_hook(lambda module, args, result: result * 3):
        assert block(infinicore.ones(1)).tolist() == [3.0]
    assert block(infinicore.ones(1)).tolist() == [1.0]


def test_moved() -> None:
    block = filled()
    block.register_buffer("steps", infinicore.zeros(1, dtype=infinicore.int64))
    assert block.to(infinicore.float16) is block
    assert block.project.weight.dtype is infinicore.float16
    assert isinstance(block.project.weight, nn.Parameter)
    assert block.seen.dtype is infinicore.float16
    assert block.steps.dtype is infinicore.int64
    assert block.float().scale.dtype is infinicore.float32
    assert block.bfloat16().scale.dtype is infinicore.bfloat16
    assert block.to("cpu", infinicore.float32).scale.dtype is infinicore.float32
    assert block.to(dtype=infinicore.float64, device="cpu").scale.dtype is infinicore.float64
    with pytest.raises(TypeError, match=r"to: infinicore\.int32: expected a floating-point type"):
        block.to(infinicore.int32)


def test_modes() -> None:
    block = Block()
    assert not block.training
    assert block.train().project.training
    assert not block.eval().project.training
    names = []
    block.apply(lambda module: names.append(type(module).__name__))
    assert sorted(names) == ["Block", "Linear", "RMSNorm"]


def test_text() -> None:
    assert repr(Block()) == (
        "Block(\n"
        "  (project): Linear(in_features=4, out_features=3, bias=True)\n"
        "  (norm): RMSNorm((3,), eps=1e-06, elementwise_affine=True)\n"
        ")"
    )
    nested = nn.Sequential(nn.Sequential(nn.SiLU()), nn.Softmax(1))
    assert repr(nested) == (
        "Sequential(\n  (0): Sequential(\n    (0): SiLU()\n  )\n  (1): Softmax(dim=1)\n)"
    )


# ---- Containers ---------------------------------------------------------------------------------


def test_module_list() -> None:
    parts = [nn.Linear(2, 2) for _ in range(3)]
    layers = nn.ModuleList(parts[:2])
    layers.append(parts[2])
    assert len(layers) == 3
    assert list(layers) == parts
    assert layers[-1] is parts[2]
    assert list(layers[1:]) == parts[1:]
    assert parts[1] in layers
    extra = nn.Identity()
    layers.insert(1, extra)
    assert layers[1] is extra
    assert list(layers.state_dict()) == ["0.weight", "2.weight", "3.weight"]
    assert layers.pop(1) is extra
    del layers[0]
    assert list(layers) == parts[1:]
    layers[0] = extra
    assert layers[0] is extra
    layers += [parts[0]]
    assert list(layers + nn.ModuleList([extra])) == [extra, parts[2], parts[0], extra]
    assert len(layers.extend([nn.Identity()])) == 4
    with pytest.raises(IndexError, match="index 9 is out of range for 4 modules"):
        layers[9]


def test_sequential() -> None:
    first, last = nn.Linear(3, 4), nn.Linear(4, 2)
    for layer in (first, last):
        layer.weight.fill_(0.5)
    model = nn.Sequential(first, nn.ReLU(), last)
    x = infinicore.ones(1, 3)
    assert model(x).tolist() == [[3.0, 3.0]]
    named = nn.Sequential(OrderedDict([("one", first), ("two", last)]))
    assert named[1] is last
    assert list(named.state_dict()) == ["one.weight", "two.weight"]
    assert len(model[:2]) == 2


def test_dictionary_and_parameters() -> None:
    parts = nn.ModuleDict({"a": nn.Identity(), "b": nn.Linear(1, 1)})
    parts["c"] = nn.SiLU()
    assert list(parts) == ["a", "b", "c"]
    assert "b" in parts
    del parts["a"]
    assert list(parts.keys()) == ["b", "c"]
    assert len(list(parts.items())) == len(list(parts.values())) == 2
    listed = nn.ParameterList([nn.Parameter(infinicore.ones(1)) for _ in range(2)])
    listed.append(nn.Parameter(infinicore.zeros(1)))
    assert len(listed) == 3
    assert [p.tolist() for p in listed] == [[1.0], [1.0], [0.0]]
    assert list(listed.state_dict()) == ["0", "1", "2"]


def test_the_first_thing_of_a_program_may_be_a_module() -> None:
    program = "from infinicore import nn; assert nn.RoPE(4, 100.0, 2).sin_table.shape == (4, 1)"
    subprocess.run([sys.executable, "-c", program], check=True)
