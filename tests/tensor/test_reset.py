"""A device that is reset: tensors go on, or it is said why they cannot."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import infinicore
from infinicore import rt

infinicore.set_default_device(infinicore.get_device())
x = infinicore.arange(1000)
rt.DeviceReset()
try:
    y = infinicore.ones((300, 300)) @ infinicore.ones((300, 300))
    print(int(x.sum()), y[0, 0].item())
except RuntimeError as error:
    print(error)
"""


def test_tensors_after_a_reset_of_their_device() -> None:
    # In a process of its own: it takes everything away that others may still use.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.strip()
    assert said == "499500 300.0" or "the device was reset before" in said
