"""Names of a graph's inputs and outputs."""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import Any

import pytest

import infinicore


def test_names_are_unique() -> None:
    """A given name takes precedence over a generated one."""

    @infinicore.graph
    def step(x: Any) -> Any:
        return {"output1": x + 1, "output0": x * 2, "other": x - 3}

    x = infinicore.ones(2)
    step(x)
    with infinicore.record() as made:
        kept = [x + 1, x * 2, x - 3]
    native = made.graph._native
    native.name_outputs({"output1": kept[0]})
    names = [name for name, _ in native.outputs]
    assert len(set(names)) == 3, names
    assert dict(native.outputs)["output1"].shape == kept[0].shape
    assert names[0] == "output1"
    graph = infinicore.Graph(native)
    assert len(graph.outputs.keys()) == len(graph.outputs) == 3


def test_names_that_repeat_in_a_file(tmp_path: Path) -> None:
    x = infinicore.ones(2)
    with infinicore.record() as made:
        kept = [x + 1, x * 2]
    made.graph.save(tmp_path / "graph")
    data = (tmp_path / "graph").read_bytes()
    name = struct.pack("<Q", 7) + b"output1"
    assert data.count(name) == 1
    (tmp_path / "graph").write_bytes(data.replace(name, struct.pack("<Q", 7) + b"output0"))
    with pytest.raises(ValueError, match="output 1, name"):
        infinicore.Graph.load(tmp_path / "graph")
    assert len(kept) == 2


def test_names_that_change_while_a_graph_is_saved(tmp_path: Path) -> None:
    """Every file has complete names; without a lock the strings would be torn, or freed while
    written."""
    x = infinicore.ones(2)
    with infinicore.record() as made:
        y = x + 1
    names = ["short", "a name that is too long to be held inside a string " * 4]
    stop = threading.Event()

    def rename() -> None:
        while not stop.is_set():
            for name in names:
                made.graph._native.name_inputs({name: x})

    made.graph._native.name_inputs({names[0]: x})
    thread = threading.Thread(target=rename)
    thread.start()
    try:
        for i in range(200):
            made.graph.save(tmp_path / f"{i}")
    finally:
        stop.set()
        thread.join()
    found = {infinicore.Graph.load(tmp_path / f"{i}").inputs.keys()[0] for i in range(200)}
    assert found <= set(names)
    assert y.shape == (2,)
