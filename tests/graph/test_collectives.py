"""Collectives in recorded graphs: nothing runs while recording; every replay runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import ccl
from infinicore.nn import functional as F  # noqa: N812
from kit.place import KIND, ON_HOST
from kit.ranks import communicators, each_rank

RANKS = 3


@pytest.fixture
def comms():
    made = communicators(RANKS)
    yield made
    for comm in made:
        comm.abort()
    if infinicore.is_graph_recording():
        infinicore._core.cancel_graph_recording()


def draw(rank: int, step: int) -> Any:
    return np.random.default_rng([rank, step]).standard_normal((RANKS, 4)).astype(np.float32)


def replays(comms: list[ccl.Communicator], body: Callable[..., Any], expect: Callable[..., Any]):
    """Records body(comm, x) on all ranks, and compares replays with expect(rank, all inputs)."""

    def run(comm: ccl.Communicator) -> None:
        rank = comm.rank
        x = infinicore.from_numpy(draw(rank, 99))
        with infinicore.record() as made:
            y = body(comm, x * 2)
            y = None if y is None else y + 1
        (segment,) = made.graph._native.segments
        if KIND in ("cpu", "nvidia"):  # on other devices a vendor's library may not support capture
            assert segment[2:] == (not ON_HOST, "")
        for step in range(4):
            x.copy_(infinicore.from_numpy(draw(rank, step)))
            made.graph.run()
            wanted = expect(rank, [2 * draw(r, step) for r in range(RANKS)])
            if wanted is not None:
                assert np.allclose(y.numpy(force=True), wanted + 1, atol=1e-5), (rank, step)
        comm.check()

    each_rank(comms, run)


# ---- Replays ------------------------------------------------------------------------------------


def message(comm: ccl.Communicator, x: Any) -> Any:
    """Around the ring."""
    got = infinicore.empty(tuple(x.shape))
    with ccl.group():
        comm.send(x, to=(comm.rank + 1) % RANKS)
        comm.recv(got, source=(comm.rank - 1) % RANKS)
    return got


CASES = {
    "all_reduce": (lambda c, x: c.all_reduce(x), lambda r, xs: sum(xs)),
    "all_reduce max": (lambda c, x: c.all_reduce(x, "max"), lambda r, xs: np.max(xs, axis=0)),
    "all_reduce out": (
        lambda c, x: c.all_reduce(x, out=infinicore.empty(tuple(x.shape))) + x,
        lambda r, xs: sum(xs) + xs[r],
    ),
    "reduce": (lambda c, x: c.reduce(x, 1), lambda r, xs: sum(xs) if r == 1 else None),
    "broadcast": (lambda c, x: c.broadcast(x, 2), lambda r, xs: xs[2]),
    "all_gather": (lambda c, x: c.all_gather(x), lambda r, xs: np.concatenate(xs)),
    "reduce_scatter": (lambda c, x: c.reduce_scatter(x), lambda r, xs: sum(xs)[r : r + 1]),
    "gather": (
        lambda c, x: c.gather(x, 1),
        lambda r, xs: np.concatenate(xs) if r == 1 else None,
    ),
    "scatter": (
        lambda c, x: c.scatter(x, infinicore.empty((1, 4)), 1),
        lambda r, xs: xs[1][r : r + 1],
    ),
    "all_to_all": (lambda c, x: c.all_to_all(x), lambda r, xs: np.stack([x[r] for x in xs])),
    "messages": (message, lambda r, xs: xs[(r - 1) % RANKS]),
}


@pytest.mark.parametrize("case", CASES)
def test_every_collective_is_replayed(comms, case):
    replays(comms, *CASES[case])


def test_one_graph_may_serve_all_ranks(comms):
    xs = [infinicore.from_numpy(draw(c.rank, 0), device=c.device) for c in comms]
    with infinicore.record() as made:
        ys = [x * 2 for x in xs]
        with ccl.group():
            for comm, y in zip(comms, ys, strict=True):
                comm.all_reduce(y)
        ys = [F.silu(y) for y in ys]
    names = [node.name for node in made.graph.nodes]
    assert names.count("all_reduce+all_reduce+all_reduce") == 1 and "all_reduce" in repr(made.graph)
    for step in range(3):
        for rank, x in enumerate(xs):
            x.copy_(infinicore.from_numpy(draw(rank, step)))
        made.graph.run()
        total = sum(2 * draw(rank, step) for rank in range(RANKS))
        for y in ys:
            assert np.allclose(
                y.numpy(force=True), total / (1 + np.exp(-total)), rtol=1e-5, atol=1e-5
            )


def test_ranks_of_a_group_may_share_a_stream(comms):
    xs = [infinicore.from_numpy(draw(c.rank, 0), device=c.device) for c in comms]
    with ccl.group():
        for comm, x in zip(comms, xs, strict=True):
            comm.all_reduce(x)
            comm.all_reduce(x, "max")
    for x in xs:
        assert np.allclose(
            x.numpy(force=True), sum(draw(rank, 0) for rank in range(RANKS)), atol=1e-5
        )


def test_recording_runs_nothing_and_plans_memory(comms):
    def body(comm: ccl.Communicator) -> tuple[int, list[float]]:
        rank = comm.rank
        x = infinicore.full((RANKS,), rank + 1.0)
        with infinicore.record() as made:
            y = x
            for _ in range(6):
                y = comm.all_reduce((y * 0.5).softmax(-1))
        before = x.tolist()
        made.graph.run()
        assert y.shape == (RANKS,)
        return made.graph.arena_bytes, before

    for rank, (arena, before) in enumerate(each_rank(comms, body)):
        assert arena <= 4 * 256  # six results, which share memory
        assert before == [rank + 1.0] * RANKS


def test_recorded_functions_have_collectives_too(comms):
    def body(comm: ccl.Communicator) -> list[Any]:
        rank = comm.rank

        @infinicore.graph
        def step(x):
            return comm.all_reduce(x + 1) * 2

        return [
            step(infinicore.from_numpy(draw(rank, i))).numpy(force=True).copy() for i in range(3)
        ]

    for got in each_rank(comms, body):
        for i, each in enumerate(got):
            wanted = 2 * sum(draw(rank, i) + 1 for rank in range(RANKS))
            assert np.allclose(each, wanted, atol=1e-4)


# ---- Not supported ------------------------------------------------------------------------------


def run_twice(graph: infinicore.Graph) -> None:
    for _ in range(2):
        graph.run()
        infinicore.sync_stream()


def test_failures_are_told_by_the_replay_that_finds_them(comms):
    one = comms[0]
    one.set_timeout(0.2)
    x = infinicore.ones(4)
    with infinicore.record() as made:
        one.all_reduce(x)
    words = "rank 1 did not come" if ON_HOST else "could not connect|did not come"
    with pytest.raises(RuntimeError, match=words):
        run_twice(made.graph)
    with pytest.raises(ccl.CclError, match=words):
        one.check()


def test_a_closed_communicator_is_told(comms):
    x = infinicore.ones(4)
    with infinicore.record() as made:
        comms[0].all_reduce(x)
    comms[0].abort()
    others = communicators(1)  # does not get the old one's name
    with pytest.raises(RuntimeError, match=r"all_reduce: .*no live communicator"):
        made.graph.run()
    others[0].close()
    with pytest.raises(ValueError, match="closed"), infinicore.record():
        comms[0].all_reduce(x)


def test_mistakes_are_told_at_their_line(comms):
    one, x = comms[0], infinicore.ones(4, 4)
    for wrong, words in (
        (lambda: one.all_reduce(x.T[1:]), "contiguous"),
        (lambda: one.all_reduce(x > 0), "truth values"),
        (lambda: one.broadcast(x, 7), "root is 7: expected 0 to 2"),
        (lambda: one.all_gather(x, out=infinicore.empty(3)), "elements: expected 48"),
        (lambda: one.barrier(), "can't wait"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=words), infinicore.record():
            wrong()
    assert not infinicore.is_graph_recording()


def fail_behind(comm: ccl.Communicator, x: Any) -> None:
    comm.all_reduce(x)
    raise ValueError("to be expected")


def stop_behind(comm: ccl.Communicator, x: Any) -> None:
    comm.all_reduce(x)
    infinicore.stop_graph_recording()


def test_a_group_that_fails_leaves_nothing(comms):
    xs = [infinicore.ones(4) for _ in comms]
    with infinicore.record() as made:
        y = xs[0] + 1
        with pytest.raises(ValueError, match="to be expected"), ccl.group():
            fail_behind(comms[0], xs[0])
    assert [node.name for node in made.graph.recorded] == ["add"]
    made.graph.run()
    assert y.tolist() == [2.0] * 4


def test_a_recording_ends_behind_its_groups(comms):
    infinicore.start_graph_recording()
    with pytest.raises(RuntimeError, match="ended inside the group"), ccl.group():
        stop_behind(comms[0], infinicore.ones(4))


def test_a_traced_function_has_no_ranks(comms):
    @infinicore.function
    def total(input: infinicore.Operand):
        return comms[0].all_reduce(input + 1)

    with pytest.raises(RuntimeError, match="traced"):
        total(infinicore.ones(3))


def test_graphs_with_collectives_are_not_saved(comms, tmp_path):
    x = infinicore.ones(4)
    with infinicore.record() as made:
        comms[0].all_reduce(x)
    with pytest.raises(ValueError, match="all_reduce"):
        made.graph.save(tmp_path / "graph")
