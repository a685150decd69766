"""Ranks that add up their tensors."""

from __future__ import annotations

import threading
import time
from typing import Any

import infinicore
from infinicore import ccl, context, rt
from infinicore.cli.demo.rows import Row, Setting, use
from infinicore.cli.table import duration, size

CPU_RANKS = 4
ELEMENTS = 1 << 20
ROUNDS = 20
TIMEOUT_SECONDS = 60.0


def show(setting: Setting) -> list[Row]:
    devices = rt.kinds().get(setting.kind, 0)
    if setting.kind == "cpu":
        return [on_the_cpu(setting)]
    if devices < 2:
        return [on_the_cpu(setting, f"on the CPU: there is one {setting.kind} device")]
    places = [f"{setting.kind}:{index}" for index in range(devices)]
    setting.step(f"{devices} devices")
    try:
        comms = ccl.init_all(places)
    except ccl.CclError as error:  # no library for collectives, for instance
        return [on_the_cpu(setting, f"on the CPU: {error}")]
    return [on_devices(places, comms)]


def part_of(rank: int) -> Any:
    """Small whole numbers: every order of adding them gives the same sum."""
    return (infinicore.arange(ELEMENTS, dtype=infinicore.int32) % 7 + rank).to(infinicore.float32)


def is_sum(result: Any, ranks: int) -> bool:
    numbers = infinicore.arange(ELEMENTS, dtype=infinicore.int32) % 7
    expected = (numbers * ranks + ranks * (ranks - 1) // 2).to(infinicore.float32)
    return bool((result == expected).all().item())


def row(ranks: str, is_right: bool, seconds: float, note: str) -> Row:
    what = f"{ranks} add up {size(4 * ELEMENTS)} each"
    return Row(what, is_right, duration(seconds), None, note)


# ---- On the CPU: a thread for each rank ---------------------------------------------------------


def on_the_cpu(setting: Setting, note: str = "") -> Row:
    setting.step(f"{CPU_RANKS} ranks")
    with context.device("cpu"):  # an id is for devices of one type
        token = ccl.unique_id()
    right: list[bool] = []
    seconds: list[float] = []
    errors: list[BaseException] = []

    def serve(rank: int) -> None:
        try:
            use("cpu")
            with (
                rt.Stream(nonblocking=True) as stream,
                infinicore.stream(stream),
                ccl.Communicator(CPU_RANKS, token, rank, timeout=TIMEOUT_SECONDS) as comm,
            ):
                x = part_of(rank)
                out = infinicore.zeros(ELEMENTS)
                comm.barrier()
                begin = time.perf_counter()
                for _ in range(ROUNDS):
                    comm.all_reduce(x, out=out)
                context.sync_stream()
                seconds.append((time.perf_counter() - begin) / ROUNDS)
                right.append(is_sum(out, CPU_RANKS))
        except BaseException as error:  # raised below, in the caller's thread
            errors.append(error)

    threads = [threading.Thread(target=serve, args=(rank,)) for rank in range(CPU_RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return row(f"{CPU_RANKS} threads", all(right), max(seconds), note)


# ---- On several devices -------------------------------------------------------------------------


def on_devices(places: list[str], comms: list[ccl.Communicator]) -> Row:
    """One thread drives all ranks."""
    tensors, results = [], []
    for rank, place in enumerate(places):
        with context.device(place):
            tensors.append(part_of(rank))
            results.append(infinicore.zeros(ELEMENTS))

    def all_reduce() -> None:
        with ccl.group():
            for comm, x, out in zip(comms, tensors, results, strict=True):
                comm.all_reduce(x, out=out)

    def wait() -> None:
        for place in places:
            with context.device(place):
                context.sync_device()

    all_reduce()
    wait()
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        all_reduce()
    wait()
    seconds = (time.perf_counter() - begin) / ROUNDS
    right = []
    for place, result in zip(places, results, strict=True):
        with context.device(place):
            right.append(is_sum(result, len(places)))
    for comm in comms:
        comm.close()
    return row(f"{len(places)} devices", all(right), seconds, "")
