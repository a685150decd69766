"""`infinicore.profile()`: what ran, on which device and for how long."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import infinicore
from infinicore import rt
from infinicore.nn import functional as F  # noqa: N812
from kit.place import ON_HOST


def names(profile: Any) -> list[str]:
    return [event.name for event in profile.events]


def test_operators_are_counted() -> None:
    x = infinicore.ones(8, 4)
    before = time.perf_counter_ns()
    with infinicore.profile() as p:
        for _ in range(3):
            infinicore.add(x, x)
        F.gelu(x)
    after = time.perf_counter_ns()
    rows = {row.name: row for row in p.rows}
    assert rows["add"].calls == 3
    assert rows["gelu"].calls == 1
    assert rows["gelu"].bytes == 2 * 8 * 4 * 4
    assert rows["add"].device == x.device
    assert sum(row.share for row in p.rows) == pytest.approx(1)
    assert rows["add"].mean == pytest.approx(rows["add"].total / 3)
    for event in p.events:
        assert before <= event.launched <= event.returned <= after
        assert event.launched <= event.begin <= event.end
        assert (event.stream == 0) == ON_HOST


def test_nothing_is_logged_outside() -> None:
    x = infinicore.ones(4)
    with infinicore.profile() as p:
        infinicore.add(x, x)
    infinicore.add(x, x)
    assert names(p) == ["add"]
    with p:  # again
        infinicore.mul(x, x)
    assert names(p) == ["mul"]


def test_nested_profiles() -> None:
    x = infinicore.ones(4)
    with infinicore.profile() as outer:
        infinicore.add(x, x)
        with infinicore.profile() as inner:
            infinicore.mul(x, x)
        infinicore.sub(x, x)
    assert names(outer) == ["add", "mul", "sub"]
    assert inner.events == [outer.events[1]]


def test_profiles_that_overlap() -> None:
    x, first, second = infinicore.ones(4), infinicore.profile(), infinicore.profile()
    first.__enter__()
    infinicore.add(x, x)
    second.__enter__()
    infinicore.mul(x, x)
    first.__exit__(None, None, None)
    infinicore.sub(x, x)
    second.__exit__(None, None, None)
    assert names(first) == ["add", "mul"]
    assert names(second) == ["mul", "sub"]


def test_an_exception_leaves_it_off() -> None:
    x, p = infinicore.ones(4), infinicore.profile()

    def fail() -> None:
        with p:
            infinicore.add(x, x)
            infinicore.linalg.inv(infinicore.zeros(2, 2))

    with pytest.raises(RuntimeError):
        fail()
    assert "add" in names(p)
    count = len(p.events)
    infinicore.add(x, x)
    assert len(p.events) == count
    with pytest.raises(RuntimeError, match="profile: this profile is on already"), p, p:
        pass


def test_threads() -> None:
    x = infinicore.ones(4)
    go = threading.Barrier(3)

    def work() -> None:
        go.wait()
        infinicore.set_device(x.device)
        for _ in range(50):
            infinicore.add(x, x)

    threads = [threading.Thread(target=work) for _ in range(2)]
    with infinicore.profile() as p:
        for thread in threads:
            thread.start()
        go.wait()
        for thread in threads:
            thread.join()
    assert names(p) == ["add"] * 100
    assert {event.thread for event in p.events} == {thread.native_id for thread in threads}


def test_a_stream() -> None:
    x, stream = infinicore.ones(64), rt.Stream()
    with infinicore.profile() as p, infinicore.stream(stream):
        infinicore.add(x, x)
    assert [event.stream for event in p.events] == [stream.handle]
    assert p.events[0].end > p.events[0].begin >= p.events[0].launched


@pytest.mark.requires("accelerator")
def test_devices_beside_the_current_one() -> None:
    x, host = infinicore.ones(4), infinicore.ones(4, device="cpu")
    infinicore.set_device("cpu")
    try:
        with infinicore.profile() as p:
            infinicore.add(x, x)
            infinicore.add(host, host)
    finally:
        infinicore.set_device(x.device)
    assert [event.device for event in p.events] == [x.device, host.device]
    assert {row.name for row in p.rows} == {"add"}
    assert len(p.rows) == 2


def test_a_graph_is_one_entry() -> None:
    x = infinicore.ones(16, 16)
    with infinicore.profile() as p:
        with infinicore.record() as made:
            y = (x @ x).softmax(-1) @ x
        assert made.graph is not None
        made.graph.run()
        made.graph.run()
    assert names(p) == ["graph replay"] * 2
    assert y.sum().item() == pytest.approx(256 * 1.0)


def test_a_capture_is_not_timed() -> None:
    x, stream = infinicore.ones(16), rt.Stream()
    y = infinicore.empty(16)
    with infinicore.stream(stream):
        infinicore.add(x, x, out=y)
        stream.synchronize()
        with infinicore.profile() as p:
            with rt.capture(stream) as graph:
                infinicore.add(x, x, out=y)
            graph.launch(stream)
            stream.synchronize()
    assert p.events == []
    assert y.sum().item() == 32


def test_copies() -> None:
    x = infinicore.ones(4)
    with infinicore.profile() as p:
        x.clone()
        infinicore.zeros(4)
    assert names(p) == ["copy", "zeros"]
    if not ON_HOST:
        with infinicore.profile() as p:
            x.cpu()
        assert names(p) == ["copy between devices"]


def test_the_table() -> None:
    x = infinicore.ones(4)
    with infinicore.profile() as p:
        assert "still on" in str(p)
        infinicore.add(x, x)
    head, row, last = str(p).splitlines()
    assert head.split()[:3] == ["operator", "device", "calls"]
    assert row.split()[:3] == ["add", str(x.device), "1"]
    assert "100.0%" in row
    assert last.split()[:2] == ["all", "1"]
    with infinicore.profile() as nothing:
        pass
    assert len(str(nothing).splitlines()) == 2


def test_the_trace(tmp_path: Path) -> None:
    x, path = infinicore.ones(4), tmp_path / "trace.json"
    with infinicore.profile() as p, infinicore.stream(rt.Stream()):
        infinicore.add(x, x)
    p.save(path)
    events = json.loads(path.read_text())["traceEvents"]
    work = [event for event in events if event["ph"] == "X"]
    assert [event["name"] for event in work] == ["launch add", "add"]
    assert work[0]["ts"] == 0
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in work)
    assert work[0]["pid"] == 0 != work[1]["pid"]
    labels = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"main thread", str(x.device)} <= labels
