"""NCCL in the CUDA back end: its constants, its library, and the suites on its simulation."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from cuda import nvrtc
from kit import build, process
from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated

FOLDER = process.PROJECT / "backends" / "cuda" / "collectives"
HERE = Path(__file__).parent
DEVICES = "4"


@pytest.fixture(scope="module")
def look_alike() -> Path:
    need("c++")
    return simulated.folder(root())


# ---- The suites ----------------------------------------------------------------------------------


def test_the_suites_pass_on_its_look_alike(look_alike: Path) -> None:
    said = process.suite(
        *(str(HERE / f"test_{name}.py") for name in ("one_process", "nccl_faults")),
        *("--device", "nvidia"),
        INFINI_NVIDIA_LIBRARIES=str(look_alike),
        INFINI_CACHE=str(look_alike / "cache-plain"),
        INFINI_SIM_DEVICES=DEVICES,
    )
    assert "failed" not in said
    assert int(said.split(" passed")[0].split()[-1]) > 80, said


BLOCKING = "CommInitRankConfig CommFinalize CommAbort CommGetAsyncError GetLastError GetVersion"


def test_a_library_that_can_only_block(look_alike: Path, tmp_path: Path) -> None:
    """Not all vendors' libraries have NCCL's newer functions: everything works except time-outs."""
    hidden = "; ".join(f"nccl{name}" for name in BLOCKING.split())
    (tmp_path / "exports.map").write_text(f"{{ global: nccl*; local: {hidden}; *; }};")
    for each in look_alike.iterdir():
        if not each.name.startswith("libnccl"):
            (tmp_path / each.name).symlink_to(each)
    objects = [str(look_alike / "work" / f"{name}.cc.o") for name in ("nccl", "nccl_run")]
    command = [build.CXX, "-shared", "-pthread", *objects, "-o", str(tmp_path / "libnccl.so.2")]
    build.compile_([*command, f"-Wl,--version-script={tmp_path / 'exports.map'}", "-ldl"])
    said = process.suite(
        *(str(HERE / "test_one_process.py"), "--device", "nvidia"),
        *("-k", "averages or split or messages or streams or (parts and 17-2)"),
        INFINI_NVIDIA_LIBRARIES=str(tmp_path),
        INFINI_CACHE=str(look_alike / "cache-plain"),
        INFINI_SIM_DEVICES=DEVICES,
    )
    assert "failed" not in said
    assert int(said.split(" passed")[0].split()[-1]) > 10, said


KERNELS = """
import infinicore
from infinicore import ccl
[comm] = ccl.init_all(["nvidia"])
for name in ("int8", "uint16", "float8_e4m3fn"):
    x = infinicore.empty((3,), dtype=getattr(infinicore, name), device="nvidia")
    comm.all_reduce(x, "avg")
comm.close()
"""


def test_the_compiler_takes_the_kernels(look_alike: Path, tmp_path: Path) -> None:
    """Reductions that the library does not support."""
    need("nvrtc")
    compiler = nvrtc.find()
    assert compiler
    settings = {"INFINI_NVIDIA_LIBRARIES": str(look_alike), "INFINI_DEVICE": None}
    settings["INFINI_CACHE"] = str(look_alike / "cache-plain")
    process.python(KERNELS, INFINI_CUDA_DUMP=str(tmp_path), **settings)
    sources = [path.read_text() for path in tmp_path.iterdir()]
    sources = [source for source in sources if "CombineRanksParams" in source]
    assert len(sources) == 3
    for source in sources:
        with nvrtc.Compiler(compiler) as worker:
            assert worker.compile(source).spilled == 0


# Resetting a device destroys its communicators: each call reports that, and uses none of them.
RESET = """
import infinicore
from infinicore import ccl

def said(call):
    try:
        call()
        return "done"
    except (RuntimeError, ccl.CclError) as error:
        return str(error)

comms = ccl.init_all(["nvidia:0", "nvidia:1"])
tensors = [infinicore.empty((8,), dtype=infinicore.int8, device=comm.device) for comm in comms]
def together():
    with ccl.group():
        for comm, x in zip(comms, tensors):
            comm.all_reduce(x, "avg")  # by a kernel of ours
together()
for comm in comms:
    infinicore.set_device(comm.device)
    infinicore.sync_device()
rt.set_kind("nvidia")
rt.SetDevice(1)
rt.DeviceReset()
print(said(lambda: comms[1].all_reduce(tensors[1])))
print(said(comms[1].check))
print(said(comms[0].check))
print(said(together))
print(said(comms[1].abort), said(comms[0].close))
# A new one works, but for what needs code that is gone.
[comm] = ccl.init_all(["nvidia:1"])
memory = rt.Malloc(64)
from infinicore.ccl._library import call
I8, I32 = (getattr(infinicore, name)._underlying for name in ("int8", "int32"))
print(said(lambda: call("AllReduce", memory, memory, 8, I32, 0, comm._live(), None)))
print(said(lambda: call("AllReduce", memory, memory, 8, I8, 4, comm._live(), None)))
comm.close()
"""


def test_devices_that_are_reset(look_alike: Path) -> None:
    said = process.python(
        RESET,
        INFINI_NVIDIA_LIBRARIES=str(look_alike),
        INFINI_CACHE=str(look_alike / "cache-plain"),
        INFINI_SIM_DEVICES="2",
        INFINI_DEVICE=None,
    ).splitlines()
    gone = "the communicator of rank 1 is gone; the device was reset before (infinirtDeviceReset)"
    assert said[0].startswith("infinicclAllReduce: ")
    for line in said[:4]:
        assert gone in line
    assert said[4:6] == ["done done", "done"]
    assert "operators cannot run any more; the device was reset" in said[6]


# ---- The real one, where its wheel is ------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel() -> Path:
    need("nccl")
    folders = (Path(place) / "nvidia" / "nccl" for place in sys.path)
    return next(folder for folder in folders if folder.is_dir())


TYPES = {
    "ncclResult_t": "int",
    "ncclComm_t": "Handle",
    "ncclDataType_t": "Type",
    "ncclRedOp_t": "int",
    "ncclUniqueId": "UniqueId",
    "ncclConfig_t": "Config",
    "cudaStream_t": "void*",
}


def parameters(text: str) -> list[str]:
    """Types only, with normalised whitespace."""
    found = []
    for each in text.split(","):
        words = re.sub(r"\s*\*\s*", "* ", each).split()
        if len(words) > 1 and not words[-1].endswith("*") and words[-1] not in ("int", "Type"):
            words.pop()  # the name
        plain = " ".join(TYPES.get(word.rstrip("*"), word.rstrip("*")) for word in words)
        found.append(plain.removeprefix("const ") + "*" * each.count("*"))
    return ["" if each == "void" else each for each in found]


def test_functions_have_the_types_of_its_header(wheel: Path) -> None:
    header = (wheel / "include" / "nccl.h").read_text()
    ours = (FOLDER / "library.h").read_text()
    functions = re.findall(r"^    (?:int|const char \*)\s?\(\*(\w+)\)\((.*)\);", ours, re.MULTILINE)
    assert len(functions) == 20
    for name, given in functions:
        declared = re.search(rf"\bnccl{name}\(([^)]*)\);", header)
        assert declared, name
        theirs = parameters(declared.group(1))
        assert parameters(given) == [each.replace("void**", "void*") for each in theirs], name


def test_numbers_are_those_of_its_header(wheel: Path) -> None:
    header = (wheel / "include" / "nccl.h").read_text()
    ours = (FOLDER / "library.h").read_text()
    theirs = {name: int(number) for name, number in re.findall(r"nccl(\w+)\s*=\s*(\d+)\b", header)}
    block = ours[ours.index("enum class Type") : ours.index("struct Functions")]
    numbers = dict(re.findall(r"k(\w+) = (\d+)", block))
    operations = {"Sum": "Sum", "Product": "Prod", "Max": "Max", "Min": "Min", "Average": "Avg"}
    assert len(numbers) == 15
    for name, number in numbers.items():
        assert theirs[operations.get(name, name)] == int(number), name
    assert theirs["InProgress"] == 7
    assert re.search(r"#define NCCL_UNIQUE_ID_BYTES 128", header)
    assert "0xcafebeef" in header
    # The passed configuration is a prefix of theirs.
    members = re.search(r"typedef struct ncclConfig_v\d+ \{(.*?)\}", header, re.DOTALL)
    assert members
    plain = re.sub(r"/\*.*?\*/", "", members.group(1), flags=re.DOTALL)
    first = [" ".join(each.split()) for each in plain.split(";")][:4]
    assert first == ["size_t size", "unsigned int magic", "unsigned int version", "int blocking"]


REAL = """
import infinicore
from infinicore import ccl
from infinicore.ccl._library import describe
print(describe(infinicore.device("nvidia")._underlying[0]))
infinicore.set_device("nvidia")
made = ccl.unique_id()
print(len(made), made != ccl.unique_id())
for join in (lambda: ccl.Communicator(1, made, 0), lambda: ccl.init_all(["nvidia"])):
    try:
        join()
        print("joined")
    except ccl.CclError as error:
        print(error)
"""


def test_the_real_library_without_a_device(wheel: Path, look_alike: Path) -> None:
    """It is opened and makes ids; the absence of a GPU is reported, and nothing waits or
    crashes."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("needs a machine without a GPU")
    said = process.python(
        REAL,
        INFINI_NVIDIA_LIBRARIES=f"{wheel / 'lib'}:{look_alike}",
        INFINI_CCL_TIMEOUT="20",
        INFINI_DEVICE=None,
    ).splitlines()
    assert re.match(r"NCCL 2\.\d+\.\d+ \(.*libnccl\.so\.2\)", said[0])
    assert said[1] == "128 True"
    for line in said[2:]:
        assert "ncclCommInitRankConfig returned" in line, line


ABSENT = """
import infinicore
from infinicore import ccl
infinicore.set_device("nvidia")
try:
    ccl.unique_id()
except ccl.CclError as error:
    print(error)
"""


def test_without_the_library_it_is_named(look_alike: Path, tmp_path: Path) -> None:
    for each in look_alike.iterdir():
        if not each.name.startswith("libnccl"):
            (tmp_path / each.name).symlink_to(each)
    said = process.python(ABSENT, INFINI_NVIDIA_LIBRARIES=str(tmp_path), INFINI_DEVICE=None)
    assert "infinicclGetUniqueId: NCCL (libnccl.so.2) is not in INFINI_NVIDIA_LIBRARIES" in said
