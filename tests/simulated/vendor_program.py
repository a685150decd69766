"""The program that test_vendors.py runs on one device type: prints a line for each error, and at
the end "checked N"."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import infinicore
from infinicore import ccl, rt
from infinicore.nn import functional

KIND = sys.argv[1]
CHECKS: list[Callable[[], None]] = []


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(len(CHECKS)).standard_normal(shape).astype(dtype)


def on_device(array: Any, index: int = 0) -> Any:
    return infinicore.from_numpy(array).to(f"{KIND}:{index}")


def expect_close(got: Any, expected: Any, tolerance: float) -> None:
    difference = np.abs(got.to("cpu").numpy().astype(np.float64) - expected).max()
    assert difference <= tolerance, f"the largest difference is {difference}"


def by_cpu(function: Callable[..., Any], *arrays: Any, tolerance: float = 1e-5) -> None:
    expected = function(*map(infinicore.from_numpy, arrays)).numpy().astype(np.float64)
    expect_close(function(*map(on_device, arrays)), expected, tolerance)


@check
def devices() -> None:
    assert rt.kinds()[KIND] == 2, rt.kinds()
    names = [device.name for device in rt.devices() if device.kind == KIND]
    assert all(name.startswith("simulated ") for name in names), names


@check
def copies_streams_and_events() -> None:
    rt.set_kind(KIND)
    pattern = bytes(range(256)) * 64
    with rt.Stream() as first, rt.Stream() as second:
        memory, other = rt.Memory(len(pattern)), rt.Memory(len(pattern))
        memory.copy_from(pattern, stream=first)
        second.wait(first.record())
        other.copy_from(memory, stream=second)
        second.synchronize()
        assert other.to_bytes() == pattern
        calls: list[int] = []
        with rt.capture(first) as graph:
            other.fill(7, stream=first)
            first.launch(lambda: calls.append(1))
        assert not calls
        graph.launch(first)
        first.synchronize()
        assert other.to_bytes() == b"\7" * len(pattern)
        assert calls == [1]


@check
def elementwise() -> None:
    by_cpu(functional.gelu, numbers(33, 65))
    by_cpu(lambda x, y: x * y + 1, numbers(7, 1, 9), numbers(5, 9))


@check
def halves() -> None:
    by_cpu(functional.silu, numbers(300, dtype=np.float16), tolerance=2e-3)


@check
def rows() -> None:
    by_cpu(lambda x: functional.softmax(x, dim=-1), numbers(5, 300))
    by_cpu(lambda x, w: functional.rms_norm(x, [130], w, 1e-6), numbers(9, 130), numbers(130))


@check
def sums() -> None:
    by_cpu(lambda x: infinicore.sum(x, dim=0), numbers(70, 33), tolerance=1e-4)


@check
def products() -> None:
    by_cpu(infinicore.matmul, numbers(17, 40), numbers(40, 23), tolerance=1e-4)
    by_cpu(
        lambda a, b: infinicore.matmul(a, b.permute([0, 2, 1])), numbers(2, 5, 8), numbers(2, 6, 8)
    )


@check
def order() -> None:
    by_cpu(lambda x: infinicore.sort(x, dim=1)[0], numbers(4, 500))


@check
def attention() -> None:
    q, k = numbers(1, 2, 9, 32), numbers(1, 2, 20, 32)
    by_cpu(functional.scaled_dot_product_attention, q, k, k, tolerance=1e-4)


@check
def collective() -> None:
    given = [numbers(1000), numbers(1000) * 2]
    comms = ccl.init_all([f"{KIND}:0", f"{KIND}:1"])
    tensors = [on_device(array, index) for index, array in enumerate(given)]
    with ccl.group():
        for comm, tensor in zip(comms, tensors, strict=True):
            comm.all_reduce(tensor, out=tensor)
    for tensor in tensors:
        expect_close(tensor, given[0] + given[1], 1e-5)


@check
def recorded_collective() -> None:
    """Between the parts of a recorded graph, with the data of each replay."""
    comms = ccl.init_all([f"{KIND}:0", f"{KIND}:1"])
    tensors = [on_device(np.full(100, index, np.float32), index) for index in range(2)]
    with infinicore.record() as made:
        with ccl.group():
            summed = [comm.all_reduce(tensor) for comm, tensor in zip(comms, tensors, strict=True)]
        doubled = [each * 2 for each in summed]
    for start in (1.0, 5.0):
        for tensor in tensors:
            tensor.copy_(infinicore.from_numpy(np.full(100, start, np.float32)).to(tensor.device))
        made.graph.run()
        for each in doubled:
            expect_close(each, np.full(100, 4 * start), 1e-5)


def main() -> None:
    wanted = sys.argv[2:]
    chosen = [test for test in CHECKS if not wanted or test.__name__ in wanted]
    for test in chosen:
        try:
            test()
        except Exception as error:
            print(f"{test.__name__}: {type(error).__name__}: {error}")
    print("checked", len(chosen))


if __name__ == "__main__":
    main()
