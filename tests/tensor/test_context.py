"""Devices, streams, events, memory; threads, and their cleanup."""

from __future__ import annotations

import gc
import resource
import threading
from typing import Any

import numpy as np
import pytest

import infinicore as ic
from infinicore.lib import _infinicore
from kit.requirements import need


def test_devices() -> None:
    assert ic.get_device() == ic.device("cpu") or ic.get_device().type != "cpu"
    assert ic.get_device_count("cpu") == 1 and ic.get_device_count("cuda") >= 0
    assert ic.context.get_device_count("nvidia") >= 0
    ic.set_device(ic.device("cpu"))
    ic.set_device("cpu")
    assert ic.context.get_device() is ic.device("cpu")
    for bad, error in (("nonsense", ValueError), (3, TypeError)):
        with pytest.raises(error, match="get_device_count"):
            ic.get_device_count(bad)
    with pytest.raises(RuntimeError):
        ic.set_device("cpu:5")
    ic.sync_stream()
    ic.sync_device()


@pytest.mark.parametrize(
    ("make", "first"), [(ic.device, "cpu"), (_infinicore.Device, _infinicore.Device.Type.CPU)]
)
def test_numbers_of_devices(make: Any, first: Any) -> None:
    assert make(first, np.int64(3)).index == 3
    assert make(first, 2**31 - 1).index == 2**31 - 1
    for index in (-1, 2**31, 2**70):
        with pytest.raises(ValueError, match=f"device: index is {index}: expected 0 or more"):
            make(first, index)
    for other in (1.5, "1", True):
        with pytest.raises(TypeError, match="expected an integer"):
            make(first, other)
    for number in (-1, 2**31):
        with pytest.raises(ValueError, match="is not a valid Device"):
            _infinicore.Device(number)


def test_streams() -> None:
    with ic.rt.Stream() as stream:
        x = ic.ones(1000)
        with ic.stream(stream):
            assert ic.get_stream() == stream.handle
            y = x.clone()
            y.fill_(3)
            assert y.tolist() == [3] * 1000  # waits for the stream
        assert ic.get_stream() != stream.handle
        y.record_stream(stream)
        event = ic.DeviceEvent()
        event.record(stream)
        event.wait()
        event.synchronize()
        del y
    with pytest.raises(TypeError, match="stream"), ic.stream("a"):
        pass


def test_events() -> None:
    begin, end = ic.DeviceEvent(enable_timing=True), ic.DeviceEvent(True, device=ic.get_device())
    assert not begin.is_recorded and begin.enable_timing and end.device == ic.get_device()
    begin.record()
    end.record()
    end.synchronize()
    assert end.query() and end.is_recorded and begin.elapsed_time(end) >= 0
    assert "enable_timing=True" in repr(end) and not end.blocking and not end.interprocess
    with pytest.raises(RuntimeError, match="enable_timing"):
        begin.elapsed_time(ic.DeviceEvent())
    with pytest.raises(TypeError):
        begin.elapsed_time(3)
    with pytest.raises(RuntimeError):
        begin.elapsed_time(ic.DeviceEvent(True))


def test_memory_stats() -> None:
    gc.collect()
    before = ic.memory_stats()
    x = ic.empty(1 << 20, dtype=ic.uint8)
    during = ic.memory_stats(ic.get_default_device())
    assert during["allocated"] >= before["allocated"] + (1 << 20)
    assert during["peak_allocated"] >= during["allocated"]
    del x
    assert ic.memory_stats()["allocated"] == before["allocated"]
    ic.reset_peak_memory_stats()
    assert ic.memory_stats()["peak_allocated"] < during["peak_allocated"]
    ic.trim_memory()
    ic.empty_cache()


def work(rounds: int) -> None:
    """A mix of operations."""
    base = ic.arange(64).reshape(8, 8).float()
    array = base.numpy(force=True)
    index, mask = ic.tensor([1, -1, 3]), ic.tensor(array > 20)
    for _ in range(rounds):
        x = base.clone()
        assert x[index][0, 0].item() == 8
        x[mask] = 0
        x[2:4] = x[4:6]
        x[[0, 1]] += 1
        y = ic.from_dlpack(x.T).to(ic.float16).contiguous()
        assert ic.as_tensor(np.asarray(y)).shape == [8, 8]
        assert len(x.tolist()) == 8
        ic.tensor([1.0, 2.0, 3.0]).reshape(3, 1).expand(3, 4).tolist()
        x += y
        x = x * 2 - 1


def test_threads() -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work(60)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed and not any(thread.is_alive() for thread in threads)


def test_nothing_is_left_behind() -> None:
    def measure() -> tuple[int, int]:
        gc.collect()
        return ic.memory_stats()["allocated"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    work(300)
    allocated, size = measure()
    work(5000)  # 100,000 operations
    after, size_after = measure()
    assert after == allocated
    assert size_after - size < 4096, "kilobytes"


@pytest.mark.host
def test_loans_are_ended() -> None:
    torch = need("torch")
    source, tensor = torch.ones(100), ic.ones(100)

    def exchange(rounds: int) -> None:
        for _ in range(rounds):
            ic.from_torch(source)
            torch.from_dlpack(tensor)
            tensor.numpy(force=True)
            memoryview(tensor).release()
            tensor.__dlpack__()

    exchange(200)
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    exchange(20000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size < 2048


def test_recording_state() -> None:
    assert not ic.is_graph_recording()
    ic.start_graph_recording("cpu")
    try:
        assert ic.is_graph_recording()
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(ic.is_graph_recording()))
        thread.start()
        thread.join()
        assert seen == [False]  # it is the thread's
    finally:
        ic.stop_graph_recording()
    assert not ic.is_graph_recording()
