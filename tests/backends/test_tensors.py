"""Tensors of a second device type, from Python. It has memory and streams, and no operators."""

from __future__ import annotations

from kit import process

PROGRAM = """
import pickle
import infinicore as ic

assert ic.get_device().type == "sample" and ic.get_device_count("sample") == 2
x = ic.arange(6).reshape(2, 3).float()
assert x.device == ic.device("cpu")
for where in ("sample", "sample:1"):
    y = x.to(where)
    assert y.device == ic.device(where) and str(y.device).startswith(where)
    assert y.tolist() == x.tolist() and y[1, 2].item() == 5 and float(y[0, 1]) == 1
    assert repr(y).endswith(f"device='{y.device}')")
    assert y.cpu().tolist() == x.tolist() and y.to("cpu", copy=True).device == x.device
    y[0] = ic.ones(3).to(where)
    assert y.tolist() == [[1, 1, 1], [3, 4, 5]] and y.view(ic.int32)[1].cpu().shape == [3]
    assert pickle.loads(pickle.dumps(y)).device == y.device
    assert y.__dlpack_device__() == (12, y.device.index)
    assert y.numpy(force=True).tolist() == y.tolist()
    other = ic.zeros(2, 3, device="sample:1")
    assert other.copy_(y).tolist() == y.tolist()
    assert y.to(dtype=ic.float32) is y
    for read in (y.numpy, lambda: memoryview(y)):
        try:
            read()
        except (TypeError, BufferError) as error:
            assert "cpu()" in str(error)
        else:
            raise AssertionError
    try:
        y[[0, 1]]
    except RuntimeError as error:
        assert "no operators" in str(error)
with ic.context.device("sample:1"):
    made = ic.empty(1000)
    assert made.device == ic.device("sample:1") == ic.get_device()
    assert ic.memory_stats()["allocated"] >= 4000
    event = ic.DeviceEvent()
    event.record()
    event.synchronize()
    ic.sync_device()
assert ic.get_device() == ic.device("sample:0") and ic.empty(1).device == ic.device("cpu")
try:
    ic.ones(2).to("sample:7")
except RuntimeError as error:
    assert "expected 0 to 1" in str(error), error
print("ok")
"""


def test_tensors_of_a_device(sample):
    said = process.python(PROGRAM, INFINI_BACKEND_PATH=str(sample()), INFINI_DEVICE=None)
    assert said.strip() == "ok"
