"""The functions by name: arguments, results, and completeness."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

from infinicore import _rt, _rt_enums, rt
from spec import api
from spec.generate.python_face import Face, Types, faces

FACES = {face.name: face for group in faces(api).values() for face in group}
UNSUPPORTED = [face for face in FACES.values() if face.function.unsupported]


def test_every_function_is_there() -> None:
    missing = [name for name in FACES if not callable(getattr(rt, name, None))]
    assert not missing
    assert all(getattr(rt, name).__doc__ for name in FACES)


def test_every_enumerator_and_flag_is_there_with_its_value() -> None:
    for enum in api.enums:
        for item in enum.values:
            assert getattr(rt, item.name.removeprefix("infinirt")) == item.value
    for macro in api.macros:
        if macro.value is not None:
            assert getattr(rt, macro.name.removeprefix("infinirt")) == macro.value


def test_the_stubs_list_what_is_there() -> None:
    for module in (_rt, _rt_enums):
        stub = Path(module.__file__ or "").parent / f"{module.__name__.split('.')[-1]}.pyi"
        tree = ast.parse(stub.read_text())
        listed = next(
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        )
        assert sorted(listed) == sorted(module.__all__)
        defined = {
            node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        }
        hidden = {name for name in dir(module) if name.startswith("_") and not name.endswith("__")}
        assert {name for name in hidden if hasattr(_rt, name)} <= defined | set(vars(_rt_enums))


def test_star_import_brings_everything() -> None:
    names: dict[str, object] = {}
    exec("from infinicore.rt import *", names)
    assert {"Stream", "Memcpy", "MemcpyKind", "MemcpyHostToDevice", "MemsetParams"} <= set(names)


def some_value(annotation: str) -> object:
    """A value that the binding accepts as an argument of this type."""
    if annotation.startswith("Iterable"):
        return []
    if annotation == "str":
        return "x"
    if annotation in ("int", "_Handle", "_Address"):
        return 0
    return getattr(rt, annotation)()


@pytest.mark.parametrize("face", UNSUPPORTED, ids=lambda face: face.name)
def test_what_is_unsupported_says_why(face: Face) -> None:
    arguments = [some_value(a.annotation) for a in face.arguments]
    with pytest.raises(rt.InfiniRTError) as caught:
        getattr(rt, face.name)(*arguments)
    assert caught.value.code == rt.ErrorNotSupported
    assert caught.value.function == face.function.c_name
    assert face.function.unsupported in caught.value.message


# ---- Results ------------------------------------------------------------------------------------


def test_out_parameters_are_returned() -> None:
    assert rt.RuntimeGetVersion() == 12090
    free, total = rt.MemGetInfo()
    assert 0 < free <= total
    address, pitch = rt.MallocPitch(100, 3)
    assert pitch >= 100
    rt.Free(address)
    assert rt.GetDeviceProperties(0).name
    assert isinstance(rt.DeviceGetPCIBusId(0), str)
    assert rt.StreamQuery(0) is True
    assert rt.GetErrorName(1) == "infinirtErrorInvalidValue"
    assert rt.GetLastError() is rt.Error.Success


def test_enums_come_back_as_members_and_numbers_are_taken() -> None:
    stream = rt.StreamCreate()
    assert rt.StreamIsCapturing(stream) is rt.StreamCaptureStatus.StreamCaptureStatusNone
    rt.StreamBeginCapture(stream, 2)
    status, number, graph, nodes = rt.StreamGetCaptureInfo(stream)
    assert status is rt.StreamCaptureStatusActive
    assert number > 0
    assert nodes == []
    assert rt.StreamEndCapture(stream) == graph
    rt.GraphDestroy(graph)
    rt.StreamDestroy(stream)
    before = rt.ThreadExchangeStreamCaptureMode(rt.StreamCaptureModeRelaxed)
    assert before is rt.StreamCaptureMode.StreamCaptureModeGlobal
    assert rt.ThreadExchangeStreamCaptureMode(before) is rt.StreamCaptureModeRelaxed


def test_lists_are_taken_and_given() -> None:
    graph = rt.GraphCreate()
    a, b = rt.GraphAddEmptyNode(graph, []), rt.GraphAddEmptyNode(graph, ())
    c = rt.GraphAddEmptyNode(graph, (node for node in (a, b)))
    assert rt.GraphGetNodes(graph) == [a, b, c]
    assert sorted(rt.GraphGetRootNodes(graph)) == sorted([a, b])
    starts, ends = rt.GraphGetEdges(graph)
    assert sorted(zip(starts, ends, strict=True)) == sorted([(a, c), (b, c)])
    assert rt.GraphNodeGetDependencies(c) == [a, b]
    starts, ends, data = rt.GraphGetEdges_v2(graph)
    assert [edge.type for edge in data] == [0, 0]
    assert rt.GraphGetNodes(rt.GraphCreate()) == []
    with pytest.raises(ValueError, match="from_ has 1 items and to has 2"):
        rt.GraphAddDependencies(graph, [a], [b, c])
    rt.GraphDestroy(graph)


def test_untyped_attributes_are_numbers() -> None:
    pool = rt.DeviceGetDefaultMemPool(0)
    rt.MemPoolSetAttribute(pool, rt.MemPoolAttrReleaseThreshold, 1 << 40)
    assert rt.MemPoolGetAttribute(pool, rt.MemPoolAttrReleaseThreshold) == 1 << 40
    rt.MemPoolSetAttribute(pool, rt.MemPoolAttrReleaseThreshold, 0)
    assert rt.MemPoolGetAttribute(pool, rt.MemPoolReuseAllowOpportunistic) in (0, 1)


# ---- Arguments ----------------------------------------------------------------------------------


def test_keywords_and_defaults() -> None:
    address = rt.Malloc(size=8)
    rt.Memcpy(dst=address, src=b"12345678", count=8)
    back = bytearray(8)
    rt.Memcpy(back, address, 8, kind=rt.MemcpyDeviceToHost)
    assert back == b"12345678"
    rt.Free(devPtr=address)
    rt.Free(None)
    graph = rt.GraphCreate()
    rt.GraphLaunch(rt.GraphInstantiate(graph))
    rt.StreamSynchronize(None)


def test_addresses_are_numbers_objects_or_buffers() -> None:
    import numpy

    memory = rt.Memory(16)
    source, target = numpy.arange(4, dtype="i4"), numpy.zeros(4, dtype="i4")
    rt.Memcpy(memory, source, 16)  # an object with `ptr`, and one with the buffer protocol
    rt.Memcpy(target, numpy.uint64(memory.ptr), 16)  # a scalar is a number
    assert (target == source).all()
    rt.Memcpy(numpy.array(0), memory.ptr, 4)  # an array without dimensions is memory
    with pytest.raises(BufferError):
        rt.Memcpy(b"read-only", memory, 4)
    with pytest.raises((BufferError, ValueError)):
        rt.Memcpy(target[::2], memory, 8)
    with pytest.raises(TypeError):
        rt.Memcpy("text", memory, 4)


def test_numbers_that_do_not_fit_say_so() -> None:
    with pytest.raises(OverflowError, match="from 0 to 18446744073709551615, got -1"):
        rt.Malloc(-1)
    with pytest.raises(OverflowError, match="2147483647"):
        rt.SetDevice(1 << 31)
    with pytest.raises(TypeError, match="size: int"):
        rt.Malloc(1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        rt.Malloc()  # type: ignore[call-arg]


def test_objects_stand_for_their_handles(stream: rt.Stream) -> None:
    class Foreign:
        handle = stream.handle

    assert rt.StreamQuery(stream)
    assert rt.StreamQuery(Foreign())
    stream.close()
    with pytest.raises(ValueError, match="this Stream is closed"):
        rt.StreamQuery(stream)


# ---- Structs ------------------------------------------------------------------------------------


def test_fields_of_structs() -> None:
    params = rt.Memcpy3DParms(extent=rt.Extent(width=3, height=2, depth=1), kind=rt.MemcpyDefault)
    assert params.kind is rt.MemcpyKind.MemcpyDefault
    params.srcPtr.pitch = 77  # a part is a view into the whole
    assert params.srcPtr.pitch == 77
    params.dstPtr = rt.PitchedPtr(ptr=0x1000)
    assert params.dstPtr.ptr == 0x1000
    params.dstPtr.ptr = None
    assert params.dstPtr.ptr == 0
    assert "extent=Extent(width=3, height=2, depth=1)" in repr(params)
    assert rt.dim3().x == 1
    with pytest.raises(TypeError, match="no field 'colour'"):
        rt.Extent(colour=1)  # type: ignore[call-arg]
    with pytest.raises(OverflowError):
        params.extent.width = -1


def test_unions_texts_and_arrays_in_structs() -> None:
    node = rt.GraphNodeParams(type=rt.GraphNodeTypeMemset)
    node.memset.width = 5
    assert node.memset.width == 5
    operand = rt.Memcpy3DOperand()
    operand.op.ptr.rowLength = 9
    assert operand.op.ptr.rowLength == 9
    prop = rt.DeviceProp(name="mine")
    prop.maxGridSize = (1, 2, 3)
    assert (prop.name, prop.maxGridSize, len(prop.uuid.bytes)) == ("mine", (1, 2, 3), 16)
    with pytest.raises(ValueError, match="maxGridSize"):
        prop.maxGridSize = (1,)
    with pytest.raises(ValueError, match="at most 16 bytes"):
        prop.uuid.bytes = b"x" * 17


def test_structs_travel_as_bytes() -> None:
    handle = rt.IpcMemHandle.from_bytes(bytes(range(64)))
    assert bytes(pickle.loads(pickle.dumps(handle))) == bytes(range(64))
    with pytest.raises(ValueError, match="expected 64 bytes, got 3"):
        rt.IpcMemHandle.from_bytes(b"abc")


def test_structs_have_the_sizes_of_c() -> None:
    types = Types(api)
    for struct in api.structs:
        assert len(bytes(getattr(rt, types.python(struct))())) == struct.size, struct.name


def test_structs_that_are_written_in_place() -> None:
    graph = rt.GraphCreate()
    place = rt.MemLocation(type=rt.MemLocationTypeDevice, id=0)
    props = rt.MemPoolProps(allocType=rt.MemAllocationTypePinned, location=place)
    params = rt.MemAllocNodeParams(poolProps=props, bytesize=64)
    node = rt.GraphAddMemAllocNode(graph, [], params)
    assert params.dptr != 0
    free = rt.GraphAddMemFreeNode(graph, [node], params.dptr)
    assert rt.GraphMemFreeNodeGetParams(free) == params.dptr
    rt.GraphDestroy(graph)
