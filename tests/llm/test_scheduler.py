"""The scheduler and the block pool alone: random arrivals and cancellations, few blocks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinicore.llm.blocks import BlockPool
from infinicore.llm.request import Request
from infinicore.llm.sampling import Chooser, SamplingParams
from infinicore.llm.scheduler import Scheduler

ARRIVALS = st.lists(
    st.tuples(
        st.integers(0, 12),  # the step of its arrival
        st.lists(st.integers(0, 1), min_size=1, max_size=23),  # makes common prefixes
        st.integers(1, 12),  # tokens of the output
        st.one_of(st.none(), st.integers(0, 20)),  # the step of its cancellation
    ),
    min_size=1,
    max_size=8,
)


def request(prompt: list[int], tokens: int) -> Request:
    params = SamplingParams(max_tokens=tokens)
    return Request(list(prompt), params, Chooser(params))


class Cache:
    """The contents of a device's cache: by block and position, the tokens up to there."""

    def __init__(self, pool: BlockPool) -> None:
        self.pool = pool
        self.kept: dict[tuple[int, int], tuple[int, ...]] = {}

    def copy(self, source: int, target: int) -> None:
        for place in range(self.pool.size):
            if (source, place) in self.kept:
                self.kept[target, place] = self.kept[source, place]

    def write(self, each: Request, count: int) -> None:
        tokens = tuple(each.tokens(0, each.kept + count))
        for position in range(each.kept, each.kept + count):
            block, place = divmod(position, self.pool.size)
            self.kept[each.blocks[block], place] = tokens[: position + 1]

    def check(self, each: Request, count: int) -> None:
        """All keys that a request attends to are those of its own tokens."""
        tokens = tuple(each.tokens(0, each.kept + count))
        for position in range(each.kept + count):
            block, place = divmod(position, self.pool.size)
            assert self.kept[each.blocks[block], place] == tokens[: position + 1]


def check_blocks(pool: BlockPool, running: list[Request]) -> None:
    """Every block is free or has as many users as requests that hold it."""
    users = Counter(block for each in running for block in each.blocks)
    assert pool.free == pool.count - len(users)
    assert all(pool._users[block] == users[block] for block in range(pool.count))
    for each in running:
        assert len(set(each.blocks)) == len(each.blocks)
    known = {block for block in range(pool.count) if pool._key[block] is not None}
    assert known == set(pool._by_key.values())
    assert known == {block for blocks in pool._children.values() for block in blocks}


@settings(max_examples=150)
@given(
    arrivals=ARRIVALS,
    blocks=st.integers(2, 9),
    size=st.sampled_from([1, 2, 4]),
    most_tokens=st.integers(1, 16),
    most_requests=st.integers(1, 5),
    shares=st.booleans(),
)
def test_no_block_is_lost_and_everything_ends(
    arrivals: list[tuple[int, list[int], int, int | None]],
    blocks: int,
    size: int,
    most_tokens: int,
    most_requests: int,
    shares: bool,
) -> None:
    pool = BlockPool(blocks, size, shares)
    scheduler = Scheduler(pool, most_tokens, most_requests)
    cache = Cache(pool)
    room = blocks * size
    todo = [row for row in arrivals if len(row[1]) < room]
    made: list[tuple[Request, int | None]] = []
    for step in range(4000):
        for row in [row for row in todo if row[0] <= step]:
            todo.remove(row)
            made.append((request(row[1], row[2]), row[3]))
            scheduler.add(made[-1][0])
        for each, ends in made:
            if ends is not None and ends <= step and each.finish_reason is None:
                each.finish_reason = "cancelled"
                scheduler.remove(each)
        batch = scheduler.next()
        for source, target in scheduler.copies:
            cache.copy(source, target)
            pool.give_back(source)
        scheduler.copies.clear()
        check_blocks(pool, scheduler.running)
        assert sum(count for _, count in batch) <= most_tokens
        assert len(scheduler.running) <= most_requests
        for each, count in batch:
            cache.write(each, count)
        for each, count in batch:
            cache.check(each, count)
            is_last = each.kept + count == len(each)
            scheduler.computed(each, count)
            if is_last:
                each.output.append(step % 2)
                if len(each.output) == each.params.max_tokens or len(each) >= room:
                    each.finish_reason = "length"
                    scheduler.remove(each)
        if not todo and all(each.finish_reason for each, _ in made):
            break
        assert batch or todo or scheduler.waiting == scheduler.running == []
    assert not scheduler.running and not scheduler.waiting and not todo
    assert pool.free == pool.count


def test_a_copy_that_does_not_fit_is_left_out() -> None:
    """All blocks are needed, the one that could be copied among them."""
    pool = BlockPool(4, 2)
    scheduler = Scheduler(pool, 16, 4)
    first = request([1, 2, 3, 4, 5, 6, 7], 1)
    scheduler.add(first)
    (each,) = scheduler.next()
    scheduler.computed(*each)
    scheduler.remove(first)
    second = request([1, 9, 3, 4, 5, 6, 7], 1)
    scheduler.add(second)
    assert [tuple(row) for row in scheduler.next()] == [(second, 7)]
    assert scheduler.copies == [] and len(second.blocks) == 4


def test_a_request_that_waits_for_room_is_no_hit() -> None:
    pool = BlockPool(4, 2)
    scheduler = Scheduler(pool, 16, 4)
    first, second = request([1, 2, 3, 4, 5], 9), request([1, 2, 3, 4, 5, 6, 7, 8], 1)
    for each in (first, second):
        scheduler.add(each)
    for scheduled in scheduler.next():
        scheduler.computed(*scheduled)
    scheduler.running[0].output.append(6)
    for scheduled in scheduler.next():
        scheduler.computed(*scheduled)
    assert second in scheduler.waiting and pool.hits == 0
    scheduler.remove(first)
    scheduler.next()
    assert pool.hits == second.cached == 6


def test_unused_blocks_are_taken_in_the_order_of_their_last_use() -> None:
    pool = BlockPool(3, 1)
    a, b, c = pool.take(3)
    with pytest.raises(MemoryError, match="no room: 1 blocks wanted, 0 free"):
        pool.take()
    for token, block in enumerate((a, b, c)):
        pool.fill(block, b"", [token])
    for block in (b, a, c):
        pool.give_back(block)
    assert pool.match([1, 7])[0] == [b]  # known although no request held it
    pool.give_back(b)
    assert pool.take(3) == [a, c, b]
    assert pool.match([1, 7]) == ([], [])
