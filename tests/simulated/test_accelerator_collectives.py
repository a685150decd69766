"""HCCL, CNCL and BKCL in the back ends of ascend, cambricon and kunlun, with simulated
libraries."""

from __future__ import annotations

import shutil
import sys

from kit import process
from kit.binding import root

from .accelerator import build
from .test_accelerators import libraries, run, variable, vendor

__all__ = ["libraries", "vendor"]  # fixtures

LIBRARY = {"ascend": "libhccl.so", "cambricon": "libcncl.so", "kunlun": "libbkcl.so"}
REDUCE = {"ascend": "HcclAllReduce", "cambricon": "cnclAllReduce", "kunlun": "bkcl_all_reduce"}


def test_suites(vendor, libraries, pytestconfig):
    """A sample; `--exhaustive` runs every collective, and faults, between three devices."""
    suites = [str(process.TESTS / "collectives" / f"test_{name}.py") for name in SUITES]
    chosen = [] if pytestconfig.getoption("--exhaustive") else ["-k", SAMPLE]
    said = process.suite(
        *suites,
        *chosen,
        *("--device", vendor),
        **{variable(vendor): str(libraries), "INFINI_DEVICE": None, "INFINI_SIM_DEVICES": "3"},
    )
    assert "failed" not in said
    assert int(said.split(" passed")[0].split()[-1]) >= 12, said


SUITES = ["one_process", "nccl_faults", "values"]
SAMPLE = "17-2 or 17-3 or differ or does_not or abort or threads or recorded or averages"

RANK = """
import sys
import numpy as np, infinicore as ic
from infinicore import ccl
with ccl.init() as comm:
    x = ic.from_numpy(np.arange(6, dtype="float32") + comm.rank).to(comm.device)
    comm.all_reduce(x)
    y = comm.all_gather(ic.from_numpy(np.array([comm.rank], "int64")).to(comm.device))
    z = comm.all_to_all(ic.from_numpy(np.arange(2, dtype="int32") + 10 * comm.rank).to(comm.device))
    half = comm.split(comm.rank, 0)
    print([t.to("cpu").tolist() for t in (x, y, z)], half.ranks, flush=True)
"""


def test_two_processes(vendor, libraries, tmp_path):
    """The vendor's id is longer than ours: rank 0 passes it on."""
    program = tmp_path / "rank.py"
    program.write_text(RANK)
    command = [sys.executable, "-m", "infinicore", "launch", "-n", "2"]
    done = process.run(
        [*command, str(program)], **{variable(vendor): str(libraries), "INFINI_DEVICE": vendor}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("[1.0, 3.0, 5.0, 7.0, 9.0, 11.0], [0, 1], [0, 10]] 1", "[0, 1], [1, 11]] 1"):
        assert part in done.stdout


def test_failures_carry_the_vendors_words(vendor, libraries):
    said = run(
        vendor,
        libraries,
        f"""
import infinicore as ic
from infinicore import ccl
comms = ccl.init_all(["{vendor}:0", "{vendor}:1"])
tensors = [ic.ones((4,), device=f"{vendor}:{{i}}") for i in range(2)]
fail({REDUCE[vendor]!r}, 7)
try:
    with ccl.group():
        for comm, tensor in zip(comms, tensors):
            comm.all_reduce(tensor)
    for i in range(2):
        rt.SetDevice(i)
        rt.DeviceSynchronize()
except Exception as error:
    print(error)
try:
    comms[1].all_reduce(tensors[1])
except Exception as error:
    print(error)
for comm in comms:
    try:
        comm.abort()
    except Exception:
        pass
""",
    )
    assert any(f"{REDUCE[vendor]} returned 7" in line for line in said), said


def test_without_the_library_it_is_named(vendor, libraries, tmp_path):
    for name in build.LIBRARIES[vendor]:
        if name != LIBRARY[vendor]:
            shutil.copy(libraries / name, tmp_path)
    said = run(vendor, tmp_path, refused(vendor))
    assert LIBRARY[vendor] in said[0] and variable(vendor) in said[0]


def refused(vendor: str) -> str:
    return f"""
from infinicore import ccl
try:
    ccl.init_all(["{vendor}:0", "{vendor}:1"])
except Exception as error:
    print(str(error).replace(chr(10), " "))
"""


def test_numbers_come_from_the_header_or_from_nowhere(tmp_path):
    """BKCL's enumerators are in no public source, so nothing is assumed without its header."""
    folder = build.folder("kunlun", root())
    for name in build.LIBRARIES["kunlun"]:
        shutil.copy(folder / name, tmp_path)
    said = run("kunlun", tmp_path, refused("kunlun"))
    assert "bkcl.h, which tells the numbers of types and reductions, is neither beside" in said[0]
    header = (folder / "bkcl.h").read_text().replace("BKCL_", "NOT_")
    (tmp_path / "bkcl.h").write_text(header)
    said = run("kunlun", tmp_path, refused("kunlun"))
    assert "has none of them" in said[0]


def test_info_names_the_library(vendor, libraries):
    done = process.run(
        [sys.executable, "-m", "infinicore", "doctor"],
        **{variable(vendor): str(libraries), "INFINI_DEVICE": vendor},
    )
    assert LIBRARY[vendor] in done.stdout, done.stdout


def test_an_id_that_nobody_made(vendor, libraries):
    said = run(
        vendor,
        libraries,
        """
from infinicore import ccl
try:
    ccl.Communicator(2, bytes(128), 0)
except Exception as error:
    print(error)
""",
    )
    assert "expected one from infinicclGetUniqueId" in said[0]
