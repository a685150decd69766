"""Ascend, Cambricon and Kunlun: their back ends, on simulated libraries of the vendors.

Each vendor's functions have their real names, types and enumerators; what is behind them is one
simulated accelerator. Nothing here says anything about real hardware.
"""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.vendors import build as vendors

from .accelerator import build

VENDORS = ["ascend", "cambricon", "kunlun"]
# Functions that a test makes fail: allocation, copy in a stream; and the code for "out of memory".
FAULTS = {
    "ascend": ("aclrtMalloc", 207001, "aclrtMemcpyAsync", 500003),
    "cambricon": ("cnrtMalloc", 100100, "cnrtMemcpyAsync_V3", 100006),
    "kunlun": ("xpu_malloc", -705, "xpu_memcpy_async", -707),
}
PRODUCT = {
    "ascend": "aclnnMatmul",
    "cambricon": "cnnlBatchMatMulEx",
    "kunlun": "cublasGemmStridedBatchedEx",
}


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    need("c++")
    return str(request.param)


def variable(vendor: str) -> str:
    return f"INFINI_{vendor.upper()}_LIBRARIES"


@pytest.fixture
def libraries(vendor: str) -> Path:
    return build.folder(vendor, root())


def run(vendor: str, folder: Path, code: str, **changes: str | None) -> list[str]:
    """The output of a program that uses the simulated libraries, without reported misuse."""
    runtime = folder / next(iter(build.LIBRARIES[vendor]))
    prelude = f"""
simulated = ctypes.CDLL({str(runtime)!r}) if os.path.exists({str(runtime)!r}) else None
def fail(function, code, after=0):
    simulated.simulated_fail(function.encode(), code, after)
def calls(function):
    return simulated.simulated_calls(function.encode())
rt.set_kind({vendor!r})
"""
    ending = "\nif simulated: print('misuses', simulated.simulated_violations())\n"
    environment = {variable(vendor): str(folder), "INFINI_DEVICE": vendor, **changes}
    said = process.python(prelude + code + ending, **environment).splitlines()
    assert said[-1] == "misuses 0", said
    return said[:-1]


def test_its_names_are_the_facts(vendor, libraries):
    """Every function in a table is one of the facts, and exists in the simulated libraries."""
    text = "".join(
        path.read_text() for path in sorted((process.PROJECT / "backends" / vendor).glob("*.cc"))
    )
    rows = re.findall(r"\{Word::k\w+,\s+\"([\w|]+)\"", text)
    named = {name for row in rows for name in row.split("|")}
    known = {
        symbol
        for part in build.facts(vendor)
        for fact in part["functions"].values()
        for symbol in re.findall(r"\w+(?=\()", fact["signature"])
        + re.findall(r"\w+", fact.get("symbol", "") + " " + fact.get("notes", ""))
    }
    assert len(named) > 20
    assert named <= known, named - known
    runtime = ctypes.CDLL(str(libraries / next(iter(build.LIBRARIES[vendor]))))
    present = [name for name in named if hasattr(runtime, name)]
    assert len(present) >= 18


def test_info_lists_it(vendor, libraries):
    done = process.run(
        [sys.executable, "-m", "infinicore", "info"],
        **{variable(vendor): str(libraries), "INFINI_DEVICE": None},
    )
    assert f"{vendor}:1" in done.stdout


def test_all_nine_kinds_in_one_process_are_called_simulated():
    """Simulated devices cannot be mistaken for hardware, not even by name."""
    need("c++")
    found = vendors.settings(*vendors.KINDS, root=root())
    found |= {variable(kind): str(build.folder(kind, root())) for kind in VENDORS}
    done = process.run(
        [sys.executable, "-m", "infinicore", "info", "--json"], **{**found, "INFINI_DEVICE": "cpu"}
    )
    names = {device["kind"]: device["name"] for device in json.loads(done.stdout)["devices"]}
    assert {*VENDORS, *vendors.KINDS} <= {*names}, done.stdout
    del names["cpu"]
    assert [name for name in names.values() if "simulated" not in name.lower()] == [], names


def test_without_libraries_it_says_why(vendor, tmp_path):
    said = process.python(
        f"print([i.reason.decode() for i in rt.backends() if i.name == b{vendor!r}])",
        **{variable(vendor): str(tmp_path), "INFINI_DEVICE": "cpu"},
    )
    assert f"is not in {variable(vendor)}={tmp_path}" in said


def test_a_missing_function_is_named(vendor, libraries, tmp_path):
    """A library that lacks functions is not used, and they are listed."""
    name = next(iter(build.LIBRARIES[vendor]))
    source = tmp_path / "empty.cc"
    source.write_text("extern int nothing; int nothing;\n")
    command = [build.CXX, "-shared", "-fPIC", str(source), "-o", str(tmp_path / name)]
    assert process.run(command).returncode == 0
    said = process.python(
        f"print([i.reason.decode() for i in rt.backends() if i.name == b{vendor!r}])",
        **{variable(vendor): str(tmp_path), "INFINI_DEVICE": "cpu"},
    )
    assert f"{name} lacks " in said
    assert FAULTS[vendor][0] in said


def test_without_the_operator_library_products_are_refused(vendor, libraries, tmp_path):
    name = next(iter(build.LIBRARIES[vendor]))
    shutil.copy(libraries / name, tmp_path / name)
    said = run(
        vendor,
        tmp_path,
        f"""
import infinicore as ic
a = ic.ones((2, 2), device={vendor!r})
print((a + a).tolist())
try:
    ic.matmul(a, a)
except Exception as error:
    print(error)
""",
    )
    assert said[0] == "[[2.0, 2.0], [2.0, 2.0]]"
    assert "gemm" in said[1]
    assert variable(vendor) in said[1]


def test_streams_events_and_graphs(vendor, libraries):
    said = run(
        vendor,
        libraries,
        """
stream, other = rt.StreamCreate(), rt.StreamCreate()
memory = make.buffer(4096, 1)
rt.tags, rt.gate = {"asynchronous"}, None
latch = Latch(rt, stream)
rt.MemsetAsync(memory.address, 9, 4096, stream)
event = rt.EventCreate()
rt.EventRecord(event, stream)
rt.StreamWaitEvent(other, event, 0)
rt.MemsetAsync(memory.address, 5, 16, other)
print(rt.code.EventQuery(event), rt.code.StreamQuery(other))
latch.open()
rt.StreamSynchronize(other)
print(memory.read()[:17] == bytes([5] * 16 + [9]), rt.code.EventQuery(event))
""",
    )
    assert said == ["ErrorNotReady ErrorNotReady", "True Success"]


def test_what_the_plain_engine_does_without_a_program(vendor, libraries):
    """Copies with strides that no library supports; random numbers, the same as on the CPU."""
    said = run(
        vendor,
        libraries,
        f"""
import infinicore as ic
print(ic.flip(ic.arange(5, device={vendor!r}), (0,)).tolist())
def drawn(device):
    ic.manual_seed(7)
    shapes = dict(size=(3, 35), device=device)
    return [ic.rand(**shapes), ic.randn(**shapes), ic.randint(-5, 9, **shapes)]
for one, other in zip(drawn({vendor!r}), drawn("cpu")):
    print(bool(ic.allclose(one.cpu(), other, atol=1e-6)))
""",
    )
    assert said == ["[4, 3, 2, 1, 0]", "True", "True", "True"]


def test_a_small_network(vendor, libraries):
    """Products by the vendor's library, the rest by the plain engine, with results as on the
    CPU."""
    said = run(
        vendor,
        libraries,
        f"""
import numpy as np, infinicore as ic
ic.manual_seed(1) if hasattr(ic, "manual_seed") else None
random = np.random.default_rng(3)
arrays = [random.standard_normal(s).astype("float32") for s in ((5, 16), (16,), (16, 32), (32, 8))]
def network(x, norm, up, down):
    h = ic.nn.functional.rms_norm(x, [16], norm, 1e-5)
    return ic.nn.functional.softmax(ic.matmul(ic.nn.functional.silu(ic.matmul(h, up)), down), -1)
results = []
for kind in ("cpu", {vendor!r}):
    results.append(np.array(network(*(ic.from_numpy(a).to(kind) for a in arrays)).to("cpu")))
print(np.abs(results[0] - results[1]).max() < 1e-5, results[0].shape)
print(calls({PRODUCT[vendor]!r}) == 2)
""",
    )
    assert said == ["True (5, 8)", "True"]


def test_failures_carry_the_vendors_words(vendor, libraries):
    malloc, memory, copy, code = FAULTS[vendor]
    said = run(
        vendor,
        libraries,
        f"""
fail({malloc!r}, {memory})
print(rt.code.Malloc(1 << 20))
address, host = rt.Malloc(64), rt.MallocHost(64)
stream = rt.StreamCreate()
fail({copy!r}, {code})
codes = [rt.code.MemcpyAsync(address, host, 64, rt.MemcpyHostToDevice, stream)]
codes.append(rt.code.StreamSynchronize(stream))
print(codes, rt.message())
print(rt.code.MemcpyAsync(address, host, 64, rt.MemcpyHostToDevice, stream),
      rt.code.StreamSynchronize(stream))
""",
    )
    assert said[0] == "ErrorMemoryAllocation"
    assert f"{copy} returned {code}" in said[1]
    assert said[2] == "Success Success"


def test_peers(vendor, libraries):
    said = run(
        vendor,
        libraries,
        """
first = make.buffer(256, 7)
rt.SetDevice(1)
second = make.buffer(256, 1)
rt.MemcpyPeer(second.address, 1, first.address, 0, 256)
print(second.read() == bytes([7] * 256))
""",
    )
    assert said == ["True"]


SUITES = ["runtime/test_events.py", "runtime/test_legacy_stream.py"]


def test_suites(vendor, libraries, pytestconfig):
    """A sample of the suites; `--exhaustive` runs all of tests/runtime."""
    tests = process.TESTS
    chosen = [str(tests / name) for name in SUITES if (tests / name).exists()]
    if pytestconfig.getoption("--exhaustive"):
        chosen = [str(tests / "runtime"), str(tests / "graph")]
    said = process.suite(
        *chosen, "--device", vendor, **{variable(vendor): str(libraries), "INFINI_DEVICE": None}
    )
    assert "failed" not in said


OPERATORS = "gemm or gelu or rms_norm or softmax or rope or embedding or attention or topk"


def test_operators(vendor, libraries):
    said = process.suite(
        str(process.TESTS / "operators" / "test_operators.py"),
        *("--device", vendor, "-k", f"contiguous-usual and (F16 or F32) and ({OPERATORS})"),
        **{variable(vendor): str(libraries), "INFINI_DEVICE": None},
    )
    assert "failed" not in said


def test_all_in_one_process():
    need("c++")
    folders = {variable(vendor): str(build.folder(vendor, root())) for vendor in VENDORS}
    said = process.python(
        """
for kind in ("ascend", "cambricon", "kunlun", "cpu"):
    rt.set_kind(kind)
    memory = make.buffer(64, 3)
    print(rt.kind(), rt.GetDeviceCount(), memory.read() == bytes([3] * 64))
""",
        INFINI_DEVICE=None,
        **folders,
    )
    assert said.splitlines()[:3] == [f"{vendor} 2 True" for vendor in VENDORS]


def test_doctor_lists_what_is_not_certain(vendor, libraries):
    done = process.run(
        [sys.executable, "-m", "infinicore", "doctor"],
        **{variable(vendor): str(libraries), "INFINI_DEVICE": "cpu"},
    )
    assert "names that no header confirms" in done.stdout
    assert "(medium" in done.stdout
