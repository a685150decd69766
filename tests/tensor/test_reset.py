"""A device reset: tensors remain usable, or errors say why they are not."""

from __future__ import annotations

import sys
from typing import Any

from kit import process

BEFORE = """
import infinicore
from infinicore import op, rt
infinicore.set_default_device(infinicore.get_device())
"""

TENSORS = """
x = infinicore.arange(1000)
rt.DeviceReset()
try:
    y = infinicore.ones((300, 300)) @ infinicore.ones((300, 300))
    print(int(x.sum()), y[0, 0].item())
except RuntimeError as error:
    print(error)
"""

# Nothing is lost without allocations, even for a thread that has used the device before.
FIRST = """
from concurrent.futures import ThreadPoolExecutor
def work():
    numbers = op.view(rt.Memory(4000), (1000,), "F32")
    op.ones(numbers, out=numbers)
    op.add(numbers, numbers, out=numbers)
    total = rt.Memory(4)
    op.sum(numbers, dim=(0,), out=op.view(total, (), "F32"))
    return memoryview(total.to_bytes()).cast("f")[0]
with ThreadPoolExecutor(1) as other:
    other.submit(rt.DeviceSynchronize).result()
    rt.DeviceReset()
    print(other.submit(work).result(), work())
"""

# The workspace that operators keep from call to call is not given to another client meanwhile.
WORKSPACE = """
import numpy
x = numpy.random.default_rng(0).standard_normal((64, 5003)).astype("float32")
values, places = numpy.empty_like(x), numpy.empty(x.shape, "int64")
def sort():
    op.sort(x, out=(values, places), dim=-1, descending=0, stable=0)
sort()
rt.DeviceReset()
size = 64 * 5003 * 4
memory = rt.Memory(size)
memory.fill(7)
sort()
print(memory.to_bytes() == bytes([7]) * size, bool((values == numpy.sort(x)).all()))
"""


def said_by(program: str) -> str:
    # In a separate process, because it destroys everything that other tests may still use.
    done = process.run([sys.executable, "-c", BEFORE + program])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_tensors_after_a_reset_of_their_device(rt: Any) -> None:
    said = said_by(TENSORS)
    if "core-words" in rt.tags:  # the core does the reset, and keeps tensors
        assert said == "499500 300.0"
    else:
        assert "the device was reset before" in said


def test_a_reset_before_the_first_operator() -> None:
    assert said_by(FIRST) == "2000.0 2000.0"


def test_workspace_after_a_reset() -> None:
    assert said_by("rt.set_kind('cpu')\n" + WORKSPACE) == "True True"
