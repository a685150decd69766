"""The ctypes half of libinfiniop: enums, structs, opening, argument types. No torch needed."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

import libinfiniop
from libinfiniop import (
    LIBINFINIOP,
    InfiniDeviceEnum,
    InfiniDeviceNames,
    InfiniDtype,
    InfiniDtypeNames,
    InfiniDtypeSizes,
    InfiniError,
    InfiniLib,
    OpRegister,
    check_error,
    create_handle,
    destroy_handle,
    infini_device_map,
    infiniopHandle_t,
    infiniopOperatorDescriptor_t,
    infiniopTensorDescriptor_t,
    liboperators,
    open_lib,
    structs,
    torch_device_map,
)
from libinfiniop._memory import on_device
from spec import first
from spec.generate.operator_ctypes import functions


def python(code: str, **environment: str) -> str:
    """The output of another interpreter, with only these changes to the environment."""
    import os

    env = {**os.environ, **environment}
    for name in [name for name, value in env.items() if value == "-"]:
        del env[name]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    return done.stdout + done.stderr


# ---- Names --------------------------------------------------------------------------------------


def test_enums_are_those_of_c() -> None:
    for name, enum in (("infiniDtype_t", InfiniDtype), ("infiniDevice_t", InfiniDeviceEnum)):
        values = {v.name.split("_", 2)[2]: v.value for v in first.enum(name).values}
        values.pop("TYPE_COUNT", None)
        assert {member.name: member.value for member in enum} == values
    assert InfiniDtypeSizes == {InfiniDtype[n]: size for n, size in first.dtype_bytes.items()}


def test_names() -> None:
    assert InfiniDtypeNames[InfiniDtype.BF16] == InfiniDtypeNames[19] == "BF16"
    assert list(InfiniDtypeNames) == list(InfiniDtype)
    assert [InfiniDeviceNames[i] for i in (0, 1, 2, 9)] == ["CPU", "NVIDIA", "Cambricon", "Qy"]
    assert torch_device_map[InfiniDeviceEnum.CPU] == "cpu"
    assert torch_device_map[InfiniDeviceEnum.ASCEND] == "npu"
    assert set(torch_device_map) == set(InfiniDeviceEnum)
    assert infini_device_map["cuda"] == InfiniDeviceEnum.NVIDIA
    assert infini_device_map["mlu"] == InfiniDeviceEnum.CAMBRICON


def test_structs_have_the_handles_of_c() -> None:
    for handle in first.handles:
        assert getattr(structs, handle.name) is ctypes.c_void_p
        assert handle.name in structs.__all__


def test_everything_is_exported() -> None:
    wanted = {
        *("InfiniDtype", "InfiniDtypeNames", "InfiniDeviceEnum", "InfiniDeviceNames"),
        *("torch_device_map", "TensorDescriptor", "Handle", "OpDescriptor", "infiniopHandle_t"),
        *("infiniopTensorDescriptor_t", "infiniopOperatorDescriptor_t", "open_lib"),
        *("InfiniLib", "LIBINFINIOP", "OpRegister", "CTensor", "TestTensor", "TestWorkspace"),
        *("rearrange_tensor", "check_error", "to_torch_dtype", "to_numpy_dtype"),
        *("create_handle", "destroy_handle", "debug", "debug_all", "print_discrepancy"),
        *("get_tolerance", "get_args", "get_test_devices", "test_operator"),
        *("profile_operation", "timed_op", "synchronize_device", "get_sync_func"),
    }
    assert wanted <= set(libinfiniop.__all__)
    assert all(hasattr(libinfiniop, name) for name in libinfiniop.__all__)


def test_importing_brings_nothing_along_and_opens_nothing() -> None:
    code = (
        "import sys; from libinfiniop import *; from libinfiniop.utils import *;"
        "print({'torch', 'numpy', 'infinicore'} & set(sys.modules), LIBINFINIOP)"
    )
    assert python(code, INFINI_ROOT="/nowhere") == "set() <InfiniLib, not opened yet>\n"


# ---- Opening ------------------------------------------------------------------------------------


def test_open_lib() -> None:
    library = open_lib()
    assert isinstance(library, InfiniLib)
    assert library.libop._name.endswith("/lib/libinfiniop.so")
    assert library.librt._name.endswith("/lib/libinfinirt.so")
    assert library.libop._name in repr(library)
    assert LIBINFINIOP.librt._name == library.librt._name


def test_what_no_library_has() -> None:
    with pytest.raises(AttributeError, match=r"infiniopNothing: neither in .*libinfiniop\.so nor"):
        LIBINFINIOP.infiniopNothing  # noqa: B018


def test_one_library_is_not_enough() -> None:
    with pytest.raises(TypeError, match="both libraries or neither"):
        InfiniLib(librt=LIBINFINIOP.librt)


def test_a_wrong_root_is_named() -> None:
    said = python("import libinfiniop; libinfiniop.open_lib()", INFINI_ROOT="/nowhere/at/all")
    assert "FileNotFoundError: libinfiniop and libinfinirt were not found" in said
    assert "/nowhere/at/all/lib (INFINI_ROOT): no libinfinirt.so, no libinfiniop.so" in said
    assert "unset it" in said


def test_the_places_without_a_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("INFINI_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(liboperators, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"\.infini/lib .*\n.*Install the package"):
        open_lib()
    lib = tmp_path / ".infini" / "lib"
    lib.mkdir(parents=True)
    for name in ("libinfinirt.so", "libinfiniop.so"):
        (lib / name).symlink_to(Path(LIBINFINIOP.librt._name).parent / name)
    assert open_lib().libop._name == str(lib / "libinfiniop.so")


def test_the_libraries_of_the_package() -> None:
    code = (
        "from libinfiniop import open_lib; import sys; print(open_lib().libop._name);"
        "print('infinicore' in sys.modules)"
    )
    said = python(code, INFINI_ROOT="-").splitlines()
    if "not found" in "".join(said):
        pytest.skip("the package is not installed here")
    assert said[0].endswith("infinicore/_root/lib/libinfiniop.so")
    assert said[1] == "False"  # its extension modules would open libraries of their own


# ---- Argument types -----------------------------------------------------------------------------


def test_every_function_has_its_types() -> None:
    present = [name for name, _ in functions() if hasattr(LIBINFINIOP, name)]
    assert len(present) > 688
    for name, params in functions():
        if name in present:
            function = getattr(LIBINFINIOP, name)
            assert len(function.argtypes) == len(params), name
            assert function.restype is ctypes.c_int
    for declared in first.functions:
        function = getattr(LIBINFINIOP, declared.c_name)
        assert len(function.argtypes) == len(declared.params), declared.c_name
        assert function.restype is ctypes.c_int


def test_types_tell_pointers_apart() -> None:
    create = LIBINFINIOP.infiniopCreateGemmDescriptor.argtypes
    assert create == [
        infiniopHandle_t,
        ctypes.POINTER(infiniopOperatorDescriptor_t),
        *[infiniopTensorDescriptor_t] * 3,
    ]
    size = LIBINFINIOP.infiniopGetGemmWorkspaceSize.argtypes
    assert size == [infiniopOperatorDescriptor_t, ctypes.POINTER(ctypes.c_size_t)]
    run = LIBINFINIOP.infiniopGemm.argtypes
    assert run[1:3] == [ctypes.c_void_p, ctypes.c_size_t]
    assert run[-3:] == [ctypes.c_float, ctypes.c_float, ctypes.c_void_p]
    with pytest.raises(ctypes.ArgumentError):  # a tensor's descriptor is not a handle
        LIBINFINIOP.infiniopDestroyHandle(infiniopTensorDescriptor_t())


def test_registering_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpRegister, "registry", list(OpRegister.registry))
    monkeypatch.setattr(OpRegister, "_open", list(OpRegister._open))
    before = len(OpRegister.registry)
    library = open_lib()
    seen = []

    @OpRegister.operator
    def my_operator(lib: ctypes.CDLL) -> None:
        seen.append(lib)

    assert library.libop in seen  # open already
    assert open_lib().libop in seen
    assert len(OpRegister.registry) == before + 1
    assert my_operator.__name__ == "my_operator"
    names = [op.__name__ for op in OpRegister.registry]
    assert {"common", "Gemm", "RMSNorm", "my_operator"} <= set(names)


# ---- Statuses and handles -----------------------------------------------------------------------


def test_check_error() -> None:
    check_error(0)
    with pytest.raises(InfiniError, match="INFINI_STATUS_NULL_POINTER") as caught:
        check_error(LIBINFINIOP.infiniopCreateHandle(None))
    assert caught.value.status == 4
    assert caught.value.name == "INFINI_STATUS_NULL_POINTER"
    assert "infiniopCreateHandle: " in str(caught.value)  # the library's message
    with pytest.raises(InfiniError, match="does not have"):
        check_error(99)


def test_handles() -> None:
    with on_device(InfiniDeviceEnum.CPU, 0):
        handle = create_handle()
    assert isinstance(handle, infiniopHandle_t)
    assert (handle.contents.device, handle.contents.device_id) == (InfiniDeviceEnum.CPU, 0)
    destroy_handle(handle)
    with pytest.raises(InfiniError):
        destroy_handle(handle)


def test_back_ends_are_told() -> None:
    info = structs.BackendInfo(size=ctypes.sizeof(structs.BackendInfo))
    assert LIBINFINIOP.infinirtGetBackendCount() >= 1
    check_error(LIBINFINIOP.infinirtGetBackendInfo(0, ctypes.byref(info)))
    assert info.name and info.path
