"""swiglu in NineToothed, as an implementation of infinicore's operator.

python examples/kernels/ninetoothed_kernels.py
TRITON_INTERPRET=1 python examples/kernels/ninetoothed_kernels.py    # on the CPU, slowly
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import ninetoothed
import ninetoothed.language as ntl
from ninetoothed import Tensor

import infinicore
from infinicore import library
from infinicore.nn import functional as F  # noqa: N812

BLOCK = 1024


def arrangement(a: Any, b: Any, c: Any) -> Any:
    return tuple(each.tile((BLOCK,)) for each in (a, b, c))


def application(a, b, c):  # type: ignore[no-untyped-def]  # NineToothed writes its own types here
    gate = ntl.cast(b, ntl.float32)
    c = ntl.cast(a, ntl.float32) * gate * ntl.sigmoid(gate)  # noqa: F841


@cache
def kernel() -> Any:
    return ninetoothed.make(arrangement, application, tuple(Tensor(1) for _ in range(3)))


def swiglu(a: Any, b: Any, *, out: Any) -> None:
    kernel()(*(each.view(each.numel()) for each in (a, b, out)))


def register(device: Any) -> library.Kernel:
    """Register it for its operator on a device."""
    kernel: library.Kernel = library.register(
        "swiglu",
        swiglu,
        device=device,
        language="ninetoothed",
        when=lambda a, b, out: all(each.is_contiguous() for each in (a, b, out)),
        dtypes=(infinicore.float16, infinicore.bfloat16, infinicore.float32),
    )
    return kernel


def main() -> None:
    is_there = infinicore.get_device_count("cuda") > 0
    device = "cuda" if is_there and not os.environ.get("TRITON_INTERPRET") else "cpu"
    infinicore.set_default_device(device)
    x = infinicore.randn(8, 1000)
    expected = F.swiglu(x, x)
    with register(device) as kernel:
        print(kernel)
        error = (F.swiglu(x, x) - expected).abs().max().item()
    print(f"greatest difference {error:.2e}")
    assert error < 1e-5


if __name__ == "__main__":
    main()
