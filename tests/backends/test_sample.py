"""An external back end, built against the installed headers alone, used together with the CPU."""

from __future__ import annotations

import shutil

import pytest

from kit import process

SUITES = str(process.TESTS / "runtime")


def with_sample(library, code: str, **changes: str | None) -> list[str]:
    changes = {"INFINI_BACKEND_PATH": str(library), "INFINI_DEVICE": None, **changes}
    return process.python(code, **changes).splitlines()


def test_both_kinds_in_one_process(sample):
    said = with_sample(
        sample(),
        """
infos = [info for info in rt.backends() if info.device_count]
print([(info.name.decode(), info.device_count, info.reason) for info in infos])
results = []
for kind in ("cpu", "sample", "cpu"):
    assert rt.set_kind(kind) == "INFINI_STATUS_SUCCESS"
    mine = Maker(rt)
    stream, memory = mine.free_stream(), mine.buffer(4096, 1)
    rt.MemsetAsync(memory.address, 9, 2048, stream)
    rt.StreamSynchronize(stream)
    results.append((rt.kind(), memory.read() == bytes([9] * 2048 + [1] * 2048)))
    mine.end()
print(results)
""",
    )
    assert said[0] == "[('cpu', 1, b''), ('sample', 2, b'')]"
    assert said[1] == "[('cpu', True), ('sample', True), ('cpu', True)]"


def test_it_is_the_default_where_it_is_present(sample):
    """The first accelerator present, else the CPU; INFINI_DEVICE chooses another."""
    code = "print(rt.GetDeviceProperties(0).name.decode(), '|', rt.kind())"
    assert with_sample(sample(), code) == ["simulated device 0 | sample"]
    assert with_sample(sample(), code, INFINI_DEVICE="cpu")[0].endswith("| cpu")
    assert with_sample(sample(), code, INFINI_DEVICE="sample") == ["simulated device 0 | sample"]


def test_the_kind_belongs_to_the_thread(sample):
    said = with_sample(
        sample(),
        """
rt.set_kind("cpu")
print(rt.kind(), in_thread(rt.kind))
in_thread(lambda: rt.set_kind("sample"))
print(rt.kind())
rt.set_kind("sample"); rt.SetDevice(1); rt.set_kind("cpu"); rt.set_kind("sample")
print(rt.GetDevice())  # each kind remembers its device
""",
    )
    assert said == ["cpu sample", "cpu", "1"]


def test_objects_of_another_kind_are_refused_by_name(sample):
    said = with_sample(
        sample(),
        """
rt.set_kind("sample")
stream, event, memory = rt.StreamCreate(), rt.EventCreate(), rt.Malloc(64)
rt.set_kind("cpu")
print(rt.code.StreamSynchronize(stream), rt.message())
print(rt.code.EventQuery(event), rt.message())
print(rt.code.EventRecord(event, rt.StreamCreate()))
print(rt.code.MemsetAsync(memory, 1, 64, rt.StreamCreate()), rt.message())
""",
    )
    assert said[0].startswith("ErrorInvalidResourceHandle infinirtStreamSynchronize: argument 1")
    assert "kind sample" in said[0]
    assert said[1].startswith("ErrorInvalidResourceHandle infinirtEventQuery: argument 1")
    assert said[2] == "ErrorInvalidResourceHandle"
    assert said[3].startswith("ErrorNotSupported infinirtMemsetAsync: ")


def test_synchronous_copies_cross_kinds(sample):
    """Memory of any device type is recognised by its address, whatever the thread's current
    type."""
    said = with_sample(
        sample(),
        """
rt.set_kind("sample")
there = make.buffer(64, 3)
rt.set_kind("cpu")
here = make.buffer(64, 0)
rt.Memcpy(here.address, there.address, 64, rt.MemcpyDefault)
rt.Memset(there.address, 4, 32)
print(here.read() == bytes([3]) * 64, there.read() == bytes([4] * 32 + [3] * 32))
print(rt.PointerGetAttributes(there.address).type == rt.MemoryTypeDevice)
""",
    )
    assert said == ["True True", "True"]


def test_functions_of_its_own_are_called(sample):
    said = with_sample(
        sample(),
        """
rt.set_kind("sample")
name = ctypes.c_char_p()
entry = rt.library.infinirtFuncGetName
entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
print(entry(ctypes.byref(name), None), name.value.decode(), rt.DeviceGetLimit(0))
rt.set_kind("cpu")
print(rt.GetErrorName(entry(ctypes.byref(name), None)).decode(), rt.DeviceGetLimit(0) == 4711)
""",
    )
    assert said == ["0 a simulated kernel 4711", "infinirtErrorNotSupported False"]


def test_what_it_lacks_is_told(sample):
    said = with_sample(
        sample(),
        """
rt.set_kind("sample")
memory = rt.Malloc(64)
for call in (lambda: rt.MallocManaged(64, 1), lambda: rt.IpcGetMemHandle(memory)):
    try:
        call()
    except Failure as error:
        print(error.name, error.message)
""",
    )
    assert [line.split()[0] for line in said] == ["ErrorNotSupported"] * 2


def test_the_first_generation_numbers_it_behind_its_own_kinds(sample):
    said = with_sample(
        sample(),
        """
kind = [info.device_type for info in rt.backends() if info.name == b"sample"][0]
print(kind > 11, rt.first.SetDevice(kind, 1), rt.first.GetDevice()[1:] == (kind, 1))
status, memory = rt.first.Malloc(64)
print(status, rt.first.Memset(memory, 3, 64), rt.first.Free(memory))
""",
    )
    assert said == ["True INFINI_STATUS_SUCCESS True", " ".join(["INFINI_STATUS_SUCCESS"] * 3)]


def test_loaded_later(sample):
    said = with_sample(
        "",
        f"""
print(rt.set_kind("sample"))
print(rt.load_backend({str(sample())!r}), rt.set_kind("sample"), rt.load_backend({str(sample())!r}))
print(sum(info.device_count > 0 for info in rt.backends()))
""",
    )
    assert said == ["INFINI_STATUS_DEVICE_NOT_FOUND", " ".join(["INFINI_STATUS_SUCCESS"] * 3), "2"]


def test_a_folder_of_back_ends(sample, tmp_path):
    shutil.copy(sample(), tmp_path)
    said = with_sample(f"/no/such/place:{tmp_path}", "print(rt.kind())")
    assert said == ["sample"]


def test_the_suites_pass_on_it(sample):
    """The core's graphs, captures, pools, pitched copies and checks, on another type of device."""
    options = ["--device", "sample", "--backend", str(sample())]
    said = process.suite(SUITES, *options, INFINI_BACKEND_PATH=None, INFINI_TEST_PROGRAMS="100")
    assert "failed" not in said
    assert int(said.split(" passed")[0].split()[-1]) > 500, said


@pytest.mark.parametrize("variant", ["old", "larger"])
def test_older_and_newer_tables_work(sample, variant):
    said = with_sample(
        sample(variant),
        """
rt.set_kind("sample")
memory = make.buffer(64, 5)
print(memory.read() == bytes([5]) * 64)
print(rt.code.IpcGetMemHandle(memory.address), rt.code.IpcGetEventHandle(make.event(6)))
print(rt.DeviceGetLimit(0) == 4711)
""",
    )
    # The old table ends before `function` and before IPC; the garbage after it is not read.
    assert said == [
        "True",
        "ErrorNotSupported ErrorNotSupported",
        str(variant == "larger"),
    ]
