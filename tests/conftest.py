"""Suites x devices: the suites name no device type; `--device` says which one they run on.

What a device type can do, will never do, and cannot do yet is in `expectations/<kind>.py`:

    TAGS                 abilities that tests ask for with @pytest.mark.needs("...")
    EXCLUDED             {part of a test's id: reason}     never run
    EXPECTED_FAILURES    {part of a test's id: reason}     run; passing is reported as a failure
    make_gate(rt)        optional: how latches hold a stream; see kit/latch.py
    HELD_STREAMS         optional: how many can be held while all others run; 24 if it is absent
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

HANG_SECONDS = 240  # kills the run, with all threads' stacks; every wait in a test ends long before


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError("expected a positive number")
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("infini")
    group.addoption("--device", default="cpu", help="device type to run the suites on")
    group.addoption("--backend", help="library of a back end to load first")
    simulated = "the vendor's libraries are simulated on the host: see tests/simulated"
    group.addoption("--simulated", action="store_true", help=simulated)
    group.addoption("--exhaustive", action="store_true", help="all combinations, not pairwise")
    group.addoption(
        "--sample", type=_count, metavar="N", help="only N of all combinations, at random"
    )
    group.addoption(
        "--remaining", action="store_true", help="only what the last run without this did not pass"
    )
    group.addoption("--seed", type=int, help="of random programs; INFINI_TEST_SEED, else a new one")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "needs(tag): an ability of the device, see tests/expectations"
    )
    config.addinivalue_line(
        "markers", "host: about memory of the host; its tensors lie there on every device"
    )
    config.addinivalue_line("markers", "devices(n): runs only where there are so many devices")
    config.addinivalue_line(
        "markers", "requires(name, ...): skipped without these, see kit/requirements.py"
    )
    # Before the library is loaded, and inherited by the processes that tests start.
    if config.getoption("--simulated"):
        from kit.binding import root
        from simulated.accelerator import build as accelerator
        from simulated.cuda import build as cuda
        from simulated.vendors import build as vendors

        if (kind := config.getoption("--device")) in vendors.KINDS:
            vendors.use(kind, root())
        elif kind in accelerator.VENDORS:
            os.environ.update(accelerator.settings(kind, root()))
        else:
            cuda.use(root())
    os.environ["INFINI_DEVICE"] = config.getoption("--device")
    if backend := config.getoption("--backend"):
        os.environ["INFINI_BACKEND_PATH"] = str(Path(backend).resolve())
    from kit.combinations import Selection
    from kit.remaining import Remaining
    from kit.skip_summary import SkipSummary

    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # files in the order below
    config.addinivalue_line("markers", "combination: one of kit/combinations.py")
    selection = Selection(config)
    config.pluginmanager.register(selection)
    _draw_examples(config, selection.seed)
    config.pluginmanager.register(SkipSummary())
    config.pluginmanager.register(Remaining())


def _draw_examples(config: pytest.Config, seed: int) -> None:
    """Lets Hypothesis draw with the run's seed; its own plugin reads the option after this."""
    if getattr(config.option, "hypothesis_seed", "") is None:
        config.option.hypothesis_seed = str(seed)
    try:
        from hypothesis import settings
    except ImportError:  # the few tests that use it say so
        return
    settings.register_profile("infini", deadline=None, derandomize=False, database=None)
    settings.load_profile("infini")


def expectations(kind: str) -> ModuleType:
    path = HERE / "expectations" / f"{kind}.py"
    if not path.exists():
        raise pytest.UsageError(f"--device {kind}: expected {path} to say what it can do")
    spec = importlib.util.spec_from_file_location(f"expectations_{kind}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def match(item: pytest.Item, table: dict[str, str]) -> str:
    return next((reason for part, reason in table.items() if part in item.nodeid), "")


# Folders with few but long tests, which compile programs and start processes.
LONG = {
    *("clients", "cuda", "spec", "collectives", "backends", "library", "typing", "benchmarks"),
    "opdb",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from kit.requirements import reason_without

    expected = expectations(config.getoption("--device"))
    for item in items:
        required = [name for mark in item.iter_markers("requires") for name in mark.args]
        missing = [mark.args[0] for mark in item.iter_markers("needs")]
        missing = [tag for tag in missing if tag not in expected.TAGS]
        if reason := reason_without(*required):
            item.add_marker(pytest.mark.skip(reason=reason))
        elif missing:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))
        elif reason := match(item, expected.EXCLUDED):
            item.add_marker(pytest.mark.skip(reason=reason))
        elif reason := match(item, expected.EXPECTED_FAILURES):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    # At the end of a run they would keep one process busy while the others are idle.
    items.sort(key=lambda item: not LONG.intersection(part.name for part in item.path.parents))


@pytest.fixture(autouse=True)
def _watchdog() -> Iterator[None]:
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def _seed(request: pytest.FixtureRequest) -> None:
    """References draw the same random numbers in a test, regardless of which other tests run."""
    if "kit.ref" in sys.modules:
        sys.modules["kit.ref"].manual_seed(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _tensors_there(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Iterator[None]:
    """Tensors of the package are made on the device, where a test names none."""
    kind = pytestconfig.getoption("--device")
    core = sys.modules.get("infinicore")
    if kind == "cpu" or not hasattr(core, "set_default_device"):
        yield
        return
    if core.get_device_count(kind) == 0:
        pytest.skip(f"no {kind} device")
    is_host = request.node.get_closest_marker("host") is not None
    core.set_device("cpu" if is_host else kind)
    core.set_default_device(None if is_host else kind)
    yield
    core.set_device(kind)
    core.set_default_device(None)


REFUSAL = re.compile(r"library is not used for it, and it has no program|: [a-z_]*[A-Z_]\w+ takes ")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A back end with only some of the operators must reject the others with a reason."""
    try:
        yield
    except Exception as error:
        _stop_recording()
        expected = expectations(item.config.getoption("--device"))
        errors = getattr(error, "exceptions", [error])  # Hypothesis groups them
        if "partial-operators" in expected.TAGS and all(REFUSAL.search(str(e)) for e in errors):
            pytest.skip("refused by the back end, with the reason")
        raise


def _stop_recording() -> None:
    """A test that failed while recording must not affect the next ones."""
    core = sys.modules.get("infinicore")
    if core and hasattr(core, "is_graph_recording") and core.is_graph_recording():
        core.stop_graph_recording()


@pytest.fixture(scope="session")
def _runtime(pytestconfig: pytest.Config) -> Any:
    from kit import open_runtime

    rt = open_runtime()
    kind = pytestconfig.getoption("--device")
    if rt.set_kind(kind) != "INFINI_STATUS_SUCCESS":
        why = rt.message()
        counts = {info.name: info.device_count for info in rt.backends()}
        assert not counts.get(kind.encode()), why
        pytest.skip(f"no {kind} device: {why}")
    expected = expectations(kind)
    rt.tags = expected.TAGS
    rt.held_streams = getattr(expected, "HELD_STREAMS", 24)
    if hasattr(expected, "make_gate"):
        rt.gate = expected.make_gate(rt)
    return rt


@pytest.fixture
def rt(_runtime: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The CUDA-aligned API by function names; see kit/binding.py."""
    wanted = request.node.get_closest_marker("devices")
    if wanted and _runtime.GetDeviceCount() < wanted.args[0]:
        pytest.skip(f"needs {wanted.args[0]} devices; test_many_devices.py runs it with as many")
    _runtime.code.GetLastError()
    _runtime.SetDevice(0)
    yield _runtime
    _runtime.code.GetLastError()


@pytest.fixture
def make(rt: Any) -> Iterator[Any]:
    """Makes streams, events, memory, graphs, and destroys them after the test."""
    from kit import Maker

    maker = Maker(rt)
    yield maker
    maker.end()


@pytest.fixture
def refused(rt: Any) -> Any:
    """`with refused("ErrorInvalidValue", "argument 2"): ...`: code, and parts of the message if it
    is the core's: errors of a vendor's runtime have the vendor's messages."""
    from contextlib import contextmanager

    from kit import Failure

    @contextmanager
    def check(name: str, *parts: str) -> Iterator[None]:
        with pytest.raises(Failure) as caught:
            yield
        failure = caught.value
        assert failure.name == name, str(failure)
        assert failure.message.startswith(f"{failure.function}: "), failure.message
        for part in parts if "core-words" in rt.tags else ():
            assert part in failure.message, failure.message

    return check
