"""Attention to caches on simulated Ascend: lengths, bounds and tables are in memory of the device,
but the library requires them on the host. Results are compared with the CPU's."""

from __future__ import annotations

import pytest

from kit import process
from kit.binding import root
from kit.requirements import need

from .accelerator import build
from .test_accelerators import run

PAGED = """
import numpy as np, infinicore as ic
random = np.random.default_rng({seed})
blocks, heads, group, rows, size, width = 9, 2, 3, {rows}, 32, 3
def make(*shape): return random.standard_normal(shape).astype("float16")
def compare(call, *arrays):
    results = []
    for kind in ("cpu", "ascend"):
        rt.set_kind(kind)
        tensors = [a if a is None else ic.from_numpy(a).to(kind) for a in arrays]
        results.append(np.array(call(*tensors).to("cpu"), "float64"))
    far = np.abs(results[0] - results[1]).max()
    if not far < 4e-3: print("differs by", far, [None if a is None else a.shape for a in arrays])
"""


@pytest.fixture
def libraries():
    need("c++")
    return build.folder("ascend", root())


@pytest.mark.parametrize("rows", [16, 48])
def test_paged_attention(libraries, rows):
    """One query for each sequence, and any number: short, long and no sequences, blocks that do not
    exist, queries of no sequence, decreasing bounds, strided queries."""
    said = run(
        "ascend",
        libraries,
        PAGED.format(seed=rows, rows=rows)
        + """
for case in range(8):
    sequences = int(random.integers(1, 6))
    tables = random.integers(0, blocks, (sequences, width))
    tables = tables.astype(random.choice(["int32", "int64"]))
    if case % 3:
        tables[random.random(tables.shape) < 0.25] = random.choice([-1, blocks, 1000])
    lengths = random.integers(-1, width * rows + 3, sequences).astype(tables.dtype)
    k, v = make(blocks, heads, rows, size), make(blocks, heads, rows, size)
    q = make(sequences, heads * group, size)
    compare(lambda *t: ic.paged_attention(*t, scale=0.2), q, k, v, tables, lengths)
    compare(lambda *t: ic.paged_attention_varlen(*t, scale=0.2), q, k, v, tables, lengths, None)
    tokens = int(random.integers(1, 60))
    bounds = random.integers(0, tokens + 1, sequences + 1)
    if case % 4: bounds = np.sort(bounds)
    bounds = bounds.astype("int32")
    q = make(tokens, heads * group, size)
    lengths = lengths.astype("int32")
    compare(lambda *t: ic.paged_attention_varlen(*t, scale=0.2), q, k, v, tables, lengths, bounds)
    compare(
        lambda q, *t: ic.paged_attention_varlen(q[:, :, :size], *t, scale=0.2),
        make(tokens, heads * group, size + 3), k, v, tables, lengths, bounds)
print(calls("aclnnIncreFlashAttentionV4") > 0, calls("aclnnFusedInferAttentionScoreV3") > 0)
""",
    )
    assert said == ["True True"]


def test_lengths_are_read_when_it_runs(libraries):
    said = run(
        "ascend",
        libraries,
        PAGED.format(seed=1, rows=16)
        + """
k, v, q = (ic.from_numpy(make(*shape)).to("ascend")
           for shape in ((blocks, heads, 16, size), (blocks, heads, 16, size), (1, 2, size)))
table = ic.from_numpy(np.array([[2, 5, 7]], "int32")).to("ascend")
lengths = ic.from_numpy(np.array([3], "int32")).to("ascend")
def once(): return np.array(ic.paged_attention(q, k, v, table, lengths, scale=0.2).to("cpu"))
first = once()
lengths.copy_(ic.from_numpy(np.array([40], "int32")))
second = once()
print(bool(np.abs(first - second).max() > 1e-3))
cpu = [t.to("cpu") for t in (q, k, v, table, lengths)]
print(bool(np.abs(second - np.array(ic.paged_attention(*cpu, scale=0.2))).max() < 4e-3))
""",
    )
    assert said == ["True", "True"]


def test_flash_attention_with_lengths(libraries):
    said = run(
        "ascend",
        libraries,
        PAGED.format(seed=3, rows=16)
        + """
for case in range(16):
    batch, queries, keys = (int(random.integers(1, n)) for n in (4, 20, 40))
    q = make(batch, heads * group, queries, size)
    k, v = make(batch, heads, keys, size), make(batch, heads, keys, size)
    lengths = None if case % 4 == 0 else random.integers(-1, keys + 2, batch).astype("int32")
    compare(lambda q, k, v, n: ic.op.flash_attention(q, k, v, n, scale=0.2, is_causal=case % 2),
            q, k, v, lengths)
""",
    )
    assert said == []


def test_caches(libraries):
    """Slots that do not exist are skipped, of tokens with the same slot the last one wins, in
    caches of any layout."""
    said = run(
        "ascend",
        libraries,
        PAGED.format(seed=4, rows=16)
        + """
for case in range(8):
    tokens = int(random.integers(1, 50))
    slots = random.integers(-3, blocks * rows + 3, tokens)
    if case % 2: slots[: tokens // 2] = np.arange(tokens // 2) + 5
    k, v = make(tokens, heads, size), make(tokens, heads, 24)
    shape = (blocks, rows, heads) if case % 3 else (blocks, heads, rows)
    caches = [make(*shape, size), make(*shape, 24)]
    def write(*t):
        views = [c.permute([0, 2, 1, 3]) if case % 3 else c for c in t[:2]]
        ic.paged_caching(*views, *t[2:])
        return ic.cat([t[0].flatten(), t[1].flatten()])
    compare(write, *caches, k, v, slots)
print(calls("aclnnInplaceCopy") > 0)
""",
    )
    assert said == ["True"]


def test_what_paged_attention_refuses(libraries):
    said = run(
        "ascend",
        libraries,
        PAGED.format(seed=5, rows=16)
        + """
def refused(rows=16, size=32, dtype="float16", **more):
    t = [ic.from_numpy(a).to("ascend") for a in (
        make(1, 2, size).astype(dtype), make(3, 2, rows, size).astype(dtype),
        make(3, 2, rows, size).astype(dtype), np.array([[1]], "int32"), np.array([2], "int32"))]
    try:
        ic.paged_attention_varlen(*t, None, scale=1.0, **more)
    except Exception as error:
        print(str(error).replace(chr(10), " ").split("takes ")[1].split(";")[0])
refused(rows=8)
refused(size=24)
refused(dtype="float32")
refused(window=4)
refused(softcap=2.0)
""",
    )
    assert [line.split(" (")[0] for line in said] == [
        "blocks whose size is a multiple of 16, 512 at most",
        "heads whose size is a multiple of 16, 512 at most",
        "F16 or BF16",
        "no sliding window",
        "no soft cap",
    ]


def test_a_language_model(libraries, tmp_path):
    """The engine runs with all operators that it calls, and gives the same tokens as on the CPU."""
    need("llm")
    said = run(
        "ascend",
        libraries,
        f"""
import sys
sys.path.insert(0, {str(process.PROJECT / "tests")!r})
from pathlib import Path
import infinicore
from infinicore.llm import LLM, SamplingParams
from llm.small_llama import make_folder
rt.set_kind("cpu")
folder = make_folder(Path({str(tmp_path)!r}), hidden=64)
prompts = [[1, 2, 3] * 7, [5, 9], list(range(40))]
made = []
for device in ("cpu", "ascend"):
    llm = LLM(folder, device=device, dtype=infinicore.float16, cache_tokens=512, block_size=16)
    done = llm.generate(prompts, SamplingParams(temperature=0, max_tokens=6))
    made.append([each.tokens for each in done])
print(made[0] == made[1])
print(calls("aclnnFusedInferAttentionScoreV3") > 0, calls("aclnnIncreFlashAttentionV4") > 0)
""",
    )
    assert said == ["True", "True True"]


def test_attention_without_keys(libraries):
    """Queries that attend to no key give zeros, whatever the result's memory contained before."""
    said = run(
        "ascend",
        libraries,
        PAGED.format(seed=4, rows=16)
        + """
q = ic.ones((2, 6, 3, size), dtype=ic.float16, device="ascend")
k = ic.empty((2, heads, 0, size), dtype=ic.float16, device="ascend")
for causal in (0, 1):
    out = ic.ones((2, 6, 3, size), dtype=ic.float16, device="ascend")
    ic.op.flash_attention(q, k, k, None, scale=0.2, is_causal=causal, out=out)
    print(not np.array(out.to("cpu")).any())
""",
    )
    assert said == ["True", "True"]
