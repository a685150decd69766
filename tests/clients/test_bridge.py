"""A pybind11 module of another project: its functions take and return the package's tensors,
devices and dtypes."""

from __future__ import annotations

import gc
import importlib.util
import resource
import sys
import sysconfig
import threading
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.lib import _infinicore
from kit import build, process
from kit.binding import root
from kit.requirements import need

pybind11 = need("pybind11", "c++")
pytestmark = pytest.mark.host

ROUNDS = 100_000
# Engines include infinicore's headers before pybind11's or after them.
ORDERS = {"pybind11 first": [], "tensors first": ["-DTENSORS_FIRST"]}


def built(folder: Path, *options: str) -> Path:
    module = folder / f"bridge{sysconfig.get_config_var('EXT_SUFFIX')}"
    source = Path(__file__).parent / "cpp" / "bridge.cc"
    library = root() / "lib"
    others = [pybind11.get_include(), sysconfig.get_path("include")]
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", *build.WARNINGS]
    flags += [f"-isystem{folder}" for folder in others]
    flags += [f"-I{root() / 'include'}", f"-L{library}", f"-Wl,-rpath,{library}"]
    names = ["infinicore_cpp_api", "infiniop", "infinirt", "infiniccl"]
    libraries = [f"-l{name}" for name in names]
    build.compile_([build.CXX, *flags, *options, str(source), *libraries, "-o", str(module)])
    return module


@pytest.fixture(scope="module", params=list(ORDERS))
def bridge(request: Any, tmp_path_factory: Any) -> ModuleType:
    file = built(tmp_path_factory.mktemp("bridge"), *ORDERS[request.param])
    spec = importlib.util.spec_from_file_location("bridge", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def x() -> infinicore.Tensor:
    return infinicore.arange(6, dtype=infinicore.float32).view(2, 3)


def test_there_and_back_without_a_copy(bridge: Any, x: Any) -> None:
    assert bridge.address(x) == bridge.from_object(x) == x.data_ptr()
    assert bridge.shape(x[:, 1:]) == [2, 2]
    for pass_on in (bridge.same, bridge.same_reference, bridge.same_pointer, bridge.moved):
        back = pass_on(x)
        assert type(back) is infinicore.Tensor
        assert (back.data_ptr(), back.shape, back.dtype) == (x.data_ptr(), x.shape, x.dtype)
        assert infinicore.Tensor(back)._underlying.data_ptr() == x.data_ptr()
    bridge.same(x).fill_(7)
    assert x.tolist() == [[7.0] * 3] * 2
    assert bridge.address(infinicore.nn.Parameter(x)) == x.data_ptr()


def test_containers(bridge: Any, x: Any) -> None:
    def addresses(tensors: Any) -> list[int]:
        return [each.data_ptr() for each in tensors]

    y = infinicore.ones(2)
    assert addresses(bridge.list([x, y])) == addresses(bridge.list((x, y))) == addresses([x, y])
    assert bridge.list([]) == []
    assert [addresses(each) for each in bridge.lists([[x], [y, x]])] == [
        addresses([x]),
        addresses([y, x]),
    ]
    assert bridge.lists(None) is None
    mapped = bridge.map({"a": x, "b": y})
    assert {name: each.data_ptr() for name, each in mapped.items()} == {
        "a": x.data_ptr(),
        "b": y.data_ptr(),
    }
    assert addresses(bridge.pair(x, y)) == addresses([y, x])
    assert bridge.parameter(x)["weight"].data_ptr() == x.data_ptr()
    assert bridge.dict_of(x)["weight"].data_ptr() == x.data_ptr()
    assert bridge.call(lambda name, tensor: (name, tensor.tolist()), y) == ("x", [1.0, 1.0])
    assert (bridge.numel(x), bridge.numel(), bridge.numel(None)) == (6, 0, 0)


def test_members(bridge: Any, x: Any) -> None:
    output = bridge.Output()
    output.ids = x
    assert output.ids.data_ptr() == x.data_ptr()
    assert output.images is None
    output.images = [x, x]
    assert len(output.images) == 2
    # An unset tensor is an object, too: only its use is an error.
    unset = infinicore.Tensor(output.logits)
    assert not bridge.is_set(unset) and not bridge.is_set(bridge.unset())
    with pytest.raises(RuntimeError, match="holds no tensor"):
        _ = unset.shape


def test_devices_and_dtypes(bridge: Any) -> None:
    Device, DataType = _infinicore.Device, _infinicore.DataType  # noqa: N806
    assert bridge.device() == Device(Device.Type.CPU, 0)
    assert bridge.device_type() is Device.Type.CPU
    assert bridge.dtype() is DataType.F32
    for device in (Device(Device.Type.NVIDIA, 3), Device(77, 1)):
        assert bridge.device(device) == device
        assert bridge.device_type(device.type) == device.type
    assert bridge.device_text(Device(Device.Type.NVIDIA, 3)) == "NVIDIA:3"
    cpu = infinicore.device("cpu")
    assert bridge.device(cpu) == bridge.device(cpu._underlying) == cpu._underlying
    assert bridge.device_type(cpu._underlying.type) is Device.Type.CPU
    for dtype in DataType:
        assert bridge.dtype(dtype) is dtype
        assert bridge.dtype(infinicore.dtype(dtype)) is dtype
    assert bridge.optional_dtype(None) is None
    assert bridge.optional_dtype(infinicore.bfloat16._underlying) is DataType.BF16
    given = [1, infinicore.ones(1), DataType.F16, infinicore.device("cpu")]
    assert [bridge.overloaded(each) for each in given] == ["int", "tensor", "dtype", "device"]


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        ("same", [None, 1, "x", np.ones(2), [1.0]]),
        ("list", [None, [None], infinicore, [infinicore]]),
        ("map", [{"a": None}, {1: None}]),
        ("device", [None, "cpu", 0, (0, 0), infinicore.float32]),
        ("device_type", [None, 0, "cpu", _infinicore.DataType.F32, infinicore]),
        ("dtype", [None, 13, "float32", _infinicore.Device.Type.CPU, np.float32]),
        ("from_object", [None, 3]),
    ],
)
def test_wrong_types(bridge: Any, function: str, wrong: list[Any]) -> None:
    # A failed cast in C++ raises pybind11's own exception, which is a RuntimeError.
    kind = RuntimeError if function == "from_object" else TypeError
    for each in wrong:
        with pytest.raises(kind):
            getattr(bridge, function)(each)


def test_an_object_without_a_tensor(bridge: Any) -> None:
    class Unfinished(infinicore.Tensor):
        def __init__(self) -> None:
            pass

    given = Unfinished()
    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
        bridge.same(given)


def test_memory_lives_as_long_as_either_side(bridge: Any) -> None:
    in_use = infinicore.memory_stats("cpu")["allocated"]
    x = infinicore.full((1 << 16,), 3.0)
    address = x.data_ptr()
    bridge.keep(x)
    del x
    infinicore.full((1 << 16,), 5.0)  # would reuse the memory if it were free
    (back,) = bridge.kept()
    bridge.drop()
    assert back.data_ptr() == address and back.sum().item() == 3 << 16
    del back
    made = bridge.made(2.0, 1 << 16)
    assert made[:2].tolist() == [2.0, 3.0]
    del made
    assert infinicore.memory_stats("cpu")["allocated"] == in_use


class Numbers(np.ndarray[Any, Any]):
    """An array that supports weak references."""


def test_a_thread_without_the_lock_lets_go(bridge: Any) -> None:
    """The owner of the memory is a Python object."""
    array = np.arange(1000.0).view(Numbers)
    watched = weakref.ref(array)
    tensor = infinicore.from_dlpack(array)
    tensors = [bridge.same(tensor), tensor[1:]]
    del array, tensor
    assert watched() is not None
    bridge.keep(tensors[0])
    del tensors
    gc.collect()
    assert watched() is not None
    kept = bridge.kept()
    bridge.drop()
    bridge.drop_in_thread(kept)
    del kept
    gc.collect()
    assert watched() is None


def round_trips(bridge: Any, tensor: Any, count: int) -> None:
    for _ in range(count):
        back = bridge.same(tensor)
        bridge.list([back, tensor])
        bridge.made(1.0)
        bridge.device(bridge.device())
        bridge.dtype(infinicore.float32)


def test_nothing_leaks(bridge: Any, x: Any) -> None:
    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

    round_trips(bridge, x, 1000)
    gc.collect()
    in_use, before = infinicore.memory_stats("cpu")["allocated"], peak()
    round_trips(bridge, x, ROUNDS)
    gc.collect()
    assert infinicore.memory_stats("cpu")["allocated"] == in_use
    assert peak() - before < 20 * ROUNDS  # less than one object for each round


def test_threads(bridge: Any, x: Any) -> None:
    in_use = infinicore.memory_stats("cpu")["allocated"]
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for i in range(ROUNDS // 40):
                made = bridge.made(float(i))
                assert bridge.same(made).data_ptr() == made.data_ptr()
                assert bridge.pair(made, x)[0].data_ptr() == x.data_ptr()
                bridge.drop_in_thread([bridge.same(made), x]) if i % 50 == 0 else None
                assert made[0].item() == i
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    assert infinicore.memory_stats("cpu")["allocated"] == in_use


def test_imported_before_the_package(bridge: Any) -> None:
    """Default arguments need the package's classes when the module is imported."""
    program = """
import bridge
x = bridge.made(1.0)
bridge.keep(x)  # C++ still holds a tensor when the interpreter ends
print(bridge.device(), x.tolist())
"""
    folder = str(Path(bridge.__file__).parent)
    done = process.run([sys.executable, "-c", program], PYTHONPATH=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == "CPU:0 [1.0, 2.0, 3.0, 4.0]"
