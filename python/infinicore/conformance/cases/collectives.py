"""Level 6: collectives between the devices of the type, in one process."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from infinicore.conformance.cases import Unavailable, case, expect_equal

DTYPES = ("float32", "float16", "bfloat16", "int32", "int64")


def _ranks() -> list[str]:
    """Devices of the type; on the CPU ranks may share one."""
    from infinicore import rt

    kind = os.environ["INFINI_DEVICE"]
    count = sum(device.kind == kind for device in rt.devices())
    if kind == "cpu":
        return ["cpu"] * (4 if (os.cpu_count() or 1) >= 4 else 2)
    if count < 2:
        raise Unavailable(f"needs two devices of the kind {kind}, found {count}")
    return [f"{kind}:{index}" for index in range(min(count, 8))]


@cache
def _communicators() -> list[Any]:
    """One set for all cases of the process: creating them is slow."""
    from infinicore import ccl

    return ccl.init_all(_ranks())


def _on_all(run: Callable[[Any, Any], Any], values: Callable[[int], Any], dtype: str) -> list[Any]:
    """The results of `run(comm, tensor)` on every rank, as lists."""
    import infinicore
    from infinicore import ccl

    devices, comms = _ranks(), _communicators()
    tensors = [
        infinicore.tensor(values(rank), dtype=getattr(infinicore, dtype), device=device)
        for rank, device in enumerate(devices)
    ]
    with ccl.group():
        made = [run(comm, tensor) for comm, tensor in zip(comms, tensors, strict=True)]
    return [each.tolist() for each in made]


def _values(rank: int) -> list[int]:
    return [rank + 1 + i % 5 for i in range(1001)]


def _all_reduce(op: str, comm: Any, x: Any) -> Any:
    return comm.all_reduce(x, op)


def _broadcast(root: int, comm: Any, x: Any) -> Any:
    return comm.broadcast(x, root)


@case(6, "collectives/all-reduce")
def all_reduce(make: Any) -> None:
    """Sum, maximum and minimum, in every type, the same on every rank."""
    folds: dict[str, Any] = {"sum": sum, "max": max, "min": min}
    count = len(_ranks())
    for dtype in DTYPES:
        for op, fold in folds.items():
            expected = [fold(_values(rank)[i] for rank in range(count)) for i in range(1001)]
            for rank, got in enumerate(_on_all(partial(_all_reduce, op), _values, dtype)):
                expect_equal(got, expected, f"{op} of {dtype} on rank {rank}")


@case(6, "collectives/broadcast")
def broadcast(make: Any) -> None:
    """The root's values reach every rank, for every root."""
    for root in range(len(_ranks())):
        for got in _on_all(partial(_broadcast, root), _values, "float32"):
            expect_equal(got, _values(root), f"root {root}")


@case(6, "collectives/all-gather")
def all_gather(make: Any) -> None:
    """Every rank has all values, in the order of the ranks."""
    expected = [_values(rank) for rank in range(len(_ranks()))]
    for got in _on_all(lambda comm, x: comm.all_gather(x), _values, "float32"):
        flat = got if isinstance(got[0], list) else None
        if flat is None:
            expect_equal(got, [x for each in expected for x in each], "the gathered values")
        else:
            expect_equal(flat, expected, "the gathered values")


@case(6, "collectives/reduce-scatter")
def reduce_scatter(make: Any) -> None:
    """Each rank has its part of the sum."""
    count = len(_ranks())

    def values(rank: int) -> list[int]:
        return [rank + i % 7 for i in range(count * 100)]

    summed = [sum(values(rank)[i] for rank in range(count)) for i in range(count * 100)]
    results = _on_all(lambda comm, x: comm.reduce_scatter(x), values, "float32")
    for rank, got in enumerate(results):
        expect_equal(got, summed[rank * 100 : rank * 100 + 100], f"rank {rank}")


@case(6, "collectives/all-to-all")
def all_to_all(make: Any) -> None:
    """Part j of rank i becomes part i of rank j."""
    count = len(_ranks())

    def values(rank: int) -> list[int]:
        return [100 * rank + part for part in range(count) for _ in range(50)]

    results = _on_all(lambda comm, x: comm.all_to_all(x), values, "float32")
    for rank, got in enumerate(results):
        expected = [100 * source + rank for source in range(count) for _ in range(50)]
        expect_equal(got, expected, f"rank {rank}")


@case(6, "collectives/send-and-receive")
def send_and_receive(make: Any) -> None:
    """Around a ring."""
    import infinicore
    from infinicore import ccl

    devices, comms = _ranks(), _communicators()
    count = len(devices)
    sent = [infinicore.ones(64, device=d) * rank for rank, d in enumerate(devices)]
    got = [infinicore.zeros(64, device=device) for device in devices]
    with ccl.group():
        for rank, comm in enumerate(comms):
            comm.send(sent[rank], (rank + 1) % count)
            comm.recv(got[rank], (rank - 1) % count)
    for rank, tensor in enumerate(got):
        expect_equal(tensor.tolist(), [(rank - 1) % count] * 64, f"rank {rank}")
