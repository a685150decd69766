"""A process with little memory works, and one that ran out of it works again afterwards."""

from __future__ import annotations

import sys

import pytest

from kit import process

pytest.importorskip("infinicore")

# Operators that differ in what they need: none, a workspace, a thread pool, a vendor's library.
OPERATORS = """
import gc, os, sys, threading
import infinicore

def check_operators(n=64):
    x = infinicore.arange(n * n, dtype=infinicore.float32).reshape(n, n)
    assert (x + x)[1, 1].item() == 2 * (n + 1)
    ones = infinicore.ones((n, n))
    assert infinicore.matmul(ones, ones)[0, 0].item() == n
    assert abs(infinicore.softmax(x, -1).sum().item() - n) < 1e-3
    values, order = infinicore.sort(x.flatten(), descending=True)
    assert values[0].item() == n * n - 1 and order[0].item() == n * n - 1
    picture = infinicore.ones((1, 2, n, n))
    assert infinicore.conv2d(picture, infinicore.ones((3, 2, 3, 3)))[0, 0, 0, 0].item() == 18
    solved = infinicore.inverse(infinicore.eye(n) * 2)
    assert abs(solved[0, 0].item() - 0.5) < 1e-6
    assert infinicore.cumsum(ones, 0)[n - 1, 0].item() == n
"""


def run(code: str, limit: str = "None", **changes: str | None) -> str:
    """The output of a program with a limit (in bytes, from its start) of its address space."""
    before = f"import resource\nlimit = {limit}\n"
    before += "if limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
    # Thread stacks take address space, too: one thread per core may be too many.
    changes = {"INFINI_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4", **changes}
    done = process.run([sys.executable, "-c", before + OPERATORS + code], **changes)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


LIMIT = "1_500_000 * 1024"


def test_a_process_with_one_and_a_half_gigabytes_of_addresses():
    said = run(
        """
check_operators()
check_operators(512)
threads = [threading.Thread(target=check_operators) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
with infinicore.rt.Stream() as stream, infinicore.stream(stream):
    check_operators()
held = [infinicore.ones(1 << 20) for _ in range(64)]  # 256 MB are left for the program's own
print(sum(x[0].item() for x in held))
""",
        LIMIT,
    )
    assert said.split() == ["64.0"]


# Fills the rest with ever smaller tensors, until there is no memory for any.
FILL = """
def fill():
    held, size, message = [], 1 << 26, ""
    while size >= 1 << 12:
        try:
            held.append(infinicore.empty(size, dtype=infinicore.uint8))
        except MemoryError as error:
            message = str(error)
            size >>= 1
    return held, message
"""


def test_operators_work_after_memory_ran_out():
    said = run(
        FILL
        + """
check_operators()
for _ in range(3):
    held, message = fill()
    assert "no memory for" in message and "bytes" in message, message
    del held
    check_operators()
print("worked")
""",
        "800 << 20",
    )
    assert said.split() == ["worked"]


def test_operators_first_used_when_memory_is_out():
    """Objects that an operator creates at its first use are created when memory is available
    again."""
    said = run(
        FILL
        + """
held, message = fill()
refused = 0
for n in (16, 64, 200, 512):
    try:
        check_operators(n)
    except MemoryError as error:
        refused += 1
        print(error, file=sys.stderr)
del held
check_operators()
check_operators(512)
print("worked", refused > 0)
""",
        "800 << 20",
    )
    assert said.split() == ["worked", "True"]


def test_descriptors_and_workspaces_without_memory():
    said = run(
        FILL
        + """
from infinicore import op
x = infinicore.ones((600, 600))
def use():
    return infinicore.topk(x, 500)[0].sum().item()
use()
held, _ = fill()
count = 0
try:
    for count in range(1, 4000):
        # Each shape is described, planned and kept anew.
        y = infinicore.empty(count, dtype=infinicore.float32)
        (y + y).sum()
except MemoryError as error:
    print("refused")
del held
assert use() == 600 * 500
check_operators()
print("worked")
""",
        "800 << 20",
    )
    assert said.split()[-1] == "worked"


# Rank 1 waits in a collective until rank 0, which allocates and frees, joins.
RANKS = """
from infinicore import ccl, context, rt
tensors = [infinicore.ones(8) for rank in range(2)]
{before}
token, launched, errors = ccl.unique_id(), threading.Event(), []

def serve(rank):
    try:
        context.set_device("cpu")
        with (
            rt.Stream(nonblocking=True) as stream,
            infinicore.stream(stream),
            ccl.Communicator(2, token, rank, timeout=30) as comm,
        ):
            if rank == 0:
                launched.wait()
{meanwhile}
            comm.all_reduce(tensors[rank], out=tensors[rank])
            launched.set()
            assert tensors[rank].tolist() == [2.0] * 8
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=serve, args=(rank,)) for rank in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(errors or "worked")
"""


def test_freeing_after_a_shortage_does_not_wait_for_other_ranks():
    """Memory freed after a shortage is returned to the system, but not while another rank waits."""
    said = run(
        RANKS.format(
            before="""
held = infinicore.ones(1 << 22)  # more than the allocator would keep for itself
try:
    infinicore.empty(1 << 50)
except MemoryError:
    pass
""",
            meanwhile="""
                for _ in range(64):
                    infinicore.ones(1 << 20)
""",
        )
    )
    assert said.split() == ["worked"]


def test_allocating_beside_many_streams_does_not_wait_for_other_ranks():
    """Memory of many destroyed streams is freed, but not while another rank waits."""
    said = run(
        RANKS.format(
            before="""
def use(stream):
    with infinicore.stream(stream):
        infinicore.ones(8)

streams = [rt.Stream(nonblocking=True) for _ in range(64)]  # one more is too many (kMostStores)
for stream in streams:
    thread = threading.Thread(target=use, args=(stream,))
    thread.start()
    thread.join()
""",
            meanwhile="""
                for size in range(3, 16):
                    infinicore.ones(1 << size)
""",
        )
    )
    assert said.split() == ["worked"]
