"""The back end for CUDA-like devices on the simulated CUDA, with the CPU in one process."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import build, process
from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated
from spec import api, cuda13_differences

sys.path.append(str(process.TESTS / "spec"))
import cuda_wheels
import header_facts

RUNTIME = process.TESTS / "runtime"
FOLDER = process.PROJECT / "backends" / "cuda"


@pytest.fixture(scope="session")
def settings() -> dict[str, str | None]:
    """The environment of a process in which the nvidia device is the simulated one."""
    need("c++")
    return {"INFINI_NVIDIA_LIBRARIES": str(simulated.folder(root())), "INFINI_DEVICE": None}


@pytest.fixture
def both(settings: dict[str, str | None]) -> Callable[..., list[str]]:
    """The output of a program that uses both device types."""

    def run(code: str, **changes: str) -> list[str]:
        return process.python(code, **{**settings, **changes}).splitlines()

    return run


def test_names_of_vendors_stand_in_their_tables():
    for path in [*FOLDER.rglob("*.cc"), *FOLDER.rglob("*.h"), *FOLDER.rglob("*.cuh")]:
        if path.parent.name != "vendors":
            code = re.sub(r"//.*|/\*.*?\*/", "", path.read_text(encoding="utf-8"))
            names = r"(?i)nvidia|libcu|nvrtc|cublas|cudnn|cusolver|cufft|nccl"
            assert not re.search(names, code), path


def test_device_code_knows_no_simulation():
    """Inline assembly is in the files that the simulation replaces, and nowhere else."""
    device = FOLDER / "device"
    found = {
        path.relative_to(device).as_posix()
        for path in device.rglob("*.cuh")
        if re.search(r"\basm\b", re.sub(r"//.*", "", path.read_text(encoding="utf-8")))
    }
    assert found == {"ptx.cuh", "mma.cuh", "hopper.cuh", "wgmma.cuh"}
    for path in [*device.rglob("*.cuh"), *device.rglob("*.h")]:
        assert "INFINI_SIMULATED" not in path.read_text(encoding="utf-8"), path


# ---- Being there, or not -------------------------------------------------------------------------


REASON = """
print(*[(i.device_count, i.reason.decode()) for i in rt.backends() if i.name == b"nvidia"])
print(rt.kind())
"""


def test_no_library_is_a_reason(both, tmp_path: Path):
    said = both(REASON, INFINI_NVIDIA_LIBRARIES=str(tmp_path))
    assert said[0].startswith("(0, 'the NVIDIA driver (libcuda.so.1) is not in INFINI_NVIDIA_LIB")
    assert said[1] == "cpu"


def test_a_library_that_is_none(both, settings, tmp_path: Path):
    for path in Path(settings["INFINI_NVIDIA_LIBRARIES"]).glob("libcuda.so*"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "libcudart.so.12").write_text("no library")
    said = both(REASON, INFINI_NVIDIA_LIBRARIES=str(tmp_path))
    assert "the CUDA runtime" in said[0]
    assert "cannot be opened" in said[0]


def test_it_tells_its_libraries(both):
    said = both('print([i.version.decode() for i in rt.backends() if i.name == b"nvidia"][0])')
    assert "runtime 12.9 (" in said[0]
    assert "driver for 12.9" in said[0]
    assert "compiler 12." in said[0]


# ---- Devices -------------------------------------------------------------------------------------


def test_threads_and_their_devices(both):
    said = both(
        """
where = lambda: rt.PointerGetAttributes(make.buffer(64).address).device
rt.set_kind("nvidia")
print(rt.GetDeviceCount(), rt.GetDevice(), where())
rt.SetDevice(1)
print(rt.GetDevice(), where(), in_thread(lambda: (rt.set_kind("nvidia"), rt.GetDevice(), where())))
rt.set_kind("cpu")
print(rt.GetDevice())
rt.set_kind("nvidia")
print(rt.GetDevice(), where())
print(rt.first.SetDevice(1, 0), rt.GetDevice(), where())
print(rt.code.SetDevice(2), rt.message(), rt.GetDevice())
""",
        INFINI_SIM_DEVICES="2",
    )
    assert said[0] == "2 0 0"
    assert said[1] == "1 1 ('INFINI_STATUS_SUCCESS', 0, 0)"
    assert said[2:5] == ["0", "1 1", "INFINI_STATUS_SUCCESS 0 0"]
    assert said[5].startswith("ErrorInvalidDevice infinirtSetDevice: argument 1 (device) is 2")


def test_another_library_chooses_devices_too(both):
    """Other code that uses the vendor's runtime on this thread does not affect infinirt, nor is it
    affected."""
    said = both(
        """
other = ctypes.CDLL(os.environ["INFINI_NVIDIA_LIBRARIES"] + "/libcudart.so.12")
def theirs():
    number = ctypes.c_int()
    other.cudaGetDevice(ctypes.byref(number))
    return number.value
where = lambda: rt.PointerGetAttributes(make.buffer(64).address).device
rt.set_kind("nvidia")
rt.SetDevice(0)
other.cudaSetDevice(1)
print(where(), rt.GetDevice(), theirs())
rt.SetDevice(0)
print(theirs())
other.cudaSetDevice(1)
for reset in (rt.DeviceReset, rt.ThreadExit):
    memory = ctypes.c_void_p()
    other.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64))
    reset()
    print(theirs(), other.cudaFree(memory))
""",
        INFINI_SIM_DEVICES="2",
    )
    assert said == ["0 0 1", "0", "1 0", "1 0"]


# ---- Copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cpu", "nvidia"])
def test_copies_in_every_direction(both, kind: str):
    said = both(
        f"""
memory = {{}}
for word in ("cpu", "nvidia"):
    rt.set_kind(word)
    memory[word, 0], memory[word, 1] = rt.Malloc(4096), rt.Malloc(4096)
rt.set_kind("{kind}")
stream = rt.StreamCreate()
host = (ctypes.c_ubyte * 4096)()
def in_stream(*arguments):
    rt.MemcpyAsync(*arguments, stream)
    rt.StreamSynchronize(stream)
for a in memory:
    for b in memory:
        if a == b: continue
        for run in (rt.Memcpy, in_stream):
            pattern = bytes([hash((a, b)) % 251]) * 4096
            rt.Memcpy(memory[a], pattern, 4096, rt.MemcpyDefault)
            run(memory[b], memory[a], 4096, rt.MemcpyDefault)
            rt.Memcpy2D(host, 64, memory[b], 64, 64, 64, rt.MemcpyDefault)
            print(bytes(host) == pattern)
"""
    )
    assert said == ["True"] * 24


def test_kinds_of_copies_on_a_thread_of_the_cpu(both):
    said = both(
        """
rt.set_kind("nvidia")
there = rt.Malloc(64)
rt.set_kind("cpu")
here = (ctypes.c_ubyte * 64)()
rt.Memcpy(there, bytes([7]) * 64, 64, rt.MemcpyHostToDevice)
rt.Memcpy(here, there, 64, rt.MemcpyDeviceToHost)
print(bytes(here) == bytes([7]) * 64)
print(rt.code.Memcpy(here, bytes(64), 64, rt.MemcpyDeviceToDevice))
print(rt.PointerGetAttributes(there).type == rt.MemoryTypeDevice)
"""
    )
    assert said == ["True", "ErrorInvalidValue", "True"]


# ---- Events --------------------------------------------------------------------------------------


@pytest.mark.parametrize("waiting", ["cpu", "nvidia"])
@pytest.mark.parametrize("again", [False, True], ids=["once", "recorded again"])
def test_a_stream_waits_for_an_event_of_another_kind(both, waiting: str, again: bool):
    recording = "nvidia" if waiting == "cpu" else "cpu"
    said = both(
        f"""
rt.tags = {{"asynchronous"}}
rt.set_kind("{recording}")
first, event = rt.StreamCreateWithFlags(1), rt.EventCreate()
latch = Latch(rt, first).reached()
rt.EventRecord(event, first)
rt.set_kind("{waiting}")
second, order = rt.StreamCreateWithFlags(1), Order(rt)
rt.StreamWaitEvent(second, event, 0)
order.note(second, "after")
settle(rt)
print(order.seen, rt.code.StreamQuery(second))
later = None
if {again}:  # a later record is another matter
    rt.set_kind("{recording}")
    third = rt.StreamCreateWithFlags(1)
    later = Latch(rt, third).reached()
    rt.EventRecord(event, third)
    rt.set_kind("{waiting}")
latch.open()
rt.StreamSynchronize(second)
print(order.seen)
if later: later.open()
rt.set_kind("{recording}")
rt.EventDestroy(event)
rt.DeviceSynchronize()
"""
    )
    assert said == ["[] ErrorNotReady", "['after']"]


def test_a_capture_does_not_wait_for_another_kind(both):
    said = both(
        """
rt.set_kind("cpu")
event, stream = rt.EventCreate(), rt.StreamCreate()
rt.EventRecord(event, stream)
rt.set_kind("nvidia")
mine, stream = rt.EventCreate(), rt.StreamCreate()
rt.EventRecord(mine, stream)
rt.StreamBeginCapture(stream, rt.StreamCaptureModeRelaxed)
print(rt.code.StreamWaitEvent(stream, event, 0), rt.message())
rt.set_kind("cpu")
stream = rt.StreamCreate()
rt.StreamBeginCapture(stream, rt.StreamCaptureModeRelaxed)
print(rt.code.StreamWaitEvent(stream, mine, 0))
"""
    )
    assert said[0].startswith("ErrorStreamCaptureUnsupported infinirtStreamWaitEvent: a capture")
    assert said[1] == "ErrorStreamCaptureUnsupported"


# ---- Mistakes ------------------------------------------------------------------------------------


def test_handles_of_the_other_kind(both):
    said = both(
        """
rt.set_kind("cpu")
stream, event, graph, pool = rt.StreamCreate(), rt.EventCreate(), rt.GraphCreate(0), make.pool()
rt.set_kind("nvidia")
mine = rt.StreamCreate()
print(rt.code.StreamSynchronize(stream), rt.message())
print(rt.code.EventRecord(event, mine), rt.message())
print(rt.code.GraphInstantiate(graph), rt.message())
print(rt.code.MallocFromPoolAsync(64, pool, mine))
print(rt.code.StreamWaitEvent(stream, event, 0), rt.message())
event = rt.EventCreate()
rt.set_kind("cpu")
print(rt.code.StreamSynchronize(mine), rt.code.EventQuery(event))
print(rt.code.StreamWaitEvent(0, 4711, 0))
"""
    )
    refused = "ErrorInvalidResourceHandle"
    assert said[0] == (
        f"{refused} infinirtStreamSynchronize: argument 1 (stream) is a stream of kind cpu, but "
        "this thread uses kind nvidia"
    )
    assert said[1].startswith(f"{refused} infinirtEventRecord: argument 1 (event) is an event of")
    assert said[2].startswith(f"{refused} infinirtGraphInstantiate: argument 2 (graph)")
    assert said[3] == refused
    assert said[4].startswith(
        f"{refused} infinirtStreamWaitEvent: stream and event are of kind cpu"
    )
    assert said[5:] == [f"{refused} {refused}", refused]


def test_errors_of_the_vendor(both):
    said = both(
        """
other = ctypes.CDLL(os.environ["INFINI_NVIDIA_LIBRARIES"] + "/libcudart.so.12")
rt.set_kind("nvidia")
print(rt.code.Free(4711), rt.message())
print(other.cudaGetLastError(), rt.code.PeekAtLastError())
rt.set_kind("cpu")
print(rt.code.GetLastError(), rt.code.GetLastError())
rt.set_kind("nvidia")
print(rt.code.Malloc(1 << 60), rt.code.GetLastError(), other.cudaGetLastError())
"""
    )
    assert "infinirtFree: cudaFree returned cudaErrorInvalidValue: " in said[0]
    assert said[1] == "0 ErrorInvalidValue"
    assert said[2] == "ErrorInvalidValue Success"
    assert said[3] == "ErrorMemoryAllocation ErrorMemoryAllocation 0"


# ---- The suites ----------------------------------------------------------------------------------

SUITES = [
    "device",
    "streams",
    "events",
    "copies",
    "memory",
    "capture",
    "graphs",
    "first_generation",
]


def test_the_suites_pass_on_it(settings):
    said = process.suite(
        *(str(RUNTIME / f"test_{name}.py") for name in SUITES),
        "--device",
        "nvidia",
        **{**settings, "INFINI_BACKEND_PATH": os.environ.get("INFINI_BACKEND_PATH")},
    )
    assert "failed" not in said
    assert int(said.split(" passed")[0].split()[-1]) > 300, said


# ---- Toolkit 13 ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toolkit13(settings, pytestconfig, tmp_path_factory) -> str:
    """Folders with the simulated libraries, runtime and driver in the form of 13."""
    folder = tmp_path_factory.mktemp("toolkit13")
    kept = getattr(pytestconfig, "cache", None)
    cache = kept.mkdir("cuda-headers") if kept else tmp_path_factory.mktemp("cuda-headers")
    include = cuda_wheels.include("nvidia-cuda-runtime", cuda13_differences.VERSION, cache)
    (folder / "crt").mkdir()
    (folder / "crt" / "host_defines.h").write_text(header_facts.SHIM)
    (folder / "device_properties.inc").write_text(device_properties())
    (folder / "driver.cc").write_text(DRIVER)
    older = settings["INFINI_NVIDIA_LIBRARIES"]
    runtime = Path(__file__).with_name("toolkit13.cc")
    for source, name, behind in (
        (runtime, "libcudart.so.13", "libcudart.so.12"),
        (folder / "driver.cc", "libcuda.so.1", "libcuda.so.1"),
    ):
        command = [build.CXX, "-std=c++20", "-shared", "-fPIC", "-w", f"-I{folder}", f"-I{include}"]
        command += [f'-DOLDER="{older}/{behind}"', str(source), "-o", str(folder / name), "-ldl"]
        # Symbols that are not defined here are found in the underlying library.
        command += [f"-Wl,-soname,{name}-newer", "-Wl,--no-as-needed", f"{older}/{behind}"]
        build.compile_([*command, f"-Wl,-rpath,{older}"])
    return f"{folder}:{older}"


DRIVER = """
extern "C" int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
"""


def device_properties() -> str:
    """The struct of 12.9, and how its members come into NVIDIA's own of 13."""
    struct = next(struct for struct in api.structs if struct.name == "infinirtDeviceProp")
    members, moves = [], []
    for field in struct.fields:
        dims = "".join(f"[{n}]" for n in field.dims)
        members.append(f"{field.type.replace('infinirt', 'cuda')} {field.name}{dims};")
        if f"- {field.type} {field.name}{dims}" not in cuda13_differences.STRUCTS:
            moves.append(
                f"memcpy((void *)&to.{field.name}, &from.{field.name}, sizeof to.{field.name});"
            )
    return f"""struct Properties12 {{ {" ".join(members)} }};
    static_assert(sizeof(Properties12) == {struct.size});
    static void translate(cudaDeviceProp &to, const Properties12 &from) {{
        memset(&to, 0, sizeof to); {" ".join(moves)}
    }}
    """


def test_the_suites_pass_on_toolkit_13(settings, toolkit13):
    said = process.suite(
        *(str(RUNTIME / f"test_{name}.py") for name in ("device", "copies", "memory", "capture")),
        *(str(RUNTIME / f"test_{name}.py") for name in ("graphs", "graph_edits")),
        str(RUNTIME.parent / "python" / "test_threads.py"),
        "--device",
        "nvidia",
        **{**settings, "INFINI_NVIDIA_LIBRARIES": toolkit13},
    )
    assert "failed" not in said
    assert int(said.split(" passed")[0].split()[-1]) > 250, said
