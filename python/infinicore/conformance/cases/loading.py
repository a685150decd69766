"""Level 0: the library loads and the device says what it is."""

from __future__ import annotations

import os
from typing import Any

from infinicore.conformance.cases import case, expect, expect_equal


def _backend(make: Any) -> Any:
    kind = os.environ["INFINI_DEVICE"]
    path = os.environ.get("INFINI_CONFORMANCE_BACKEND", "")
    found = make.rt.backends()
    for info in found:
        if path and os.path.realpath(info.path.decode()) == os.path.realpath(path):
            return info
    if path:
        raise AssertionError(f"{path} was not opened: {make.rt.message() or 'no reason given'}")
    for info in found:
        if info.name.decode() == kind and info.device_count:
            return info
    for info in found:
        if info.name.decode() == kind:
            return info
    names = sorted({info.name.decode() for info in found})
    raise AssertionError(f"no back end has the device type {kind}; found: {', '.join(names)}")


@case(0, "load/table")
def table(make: Any) -> dict[str, Any]:
    """The library is opened, has the symbol, the ABI and all required entries."""
    info = _backend(make)
    name, reason = info.name.decode(), info.reason.decode()
    expect_equal(name, os.environ["INFINI_DEVICE"], f"the back end's name ({reason or 'loaded'})")
    expect(name == name.lower(), f"the name {name!r} must be lower case")
    expect(info.vendor, "the back end names no vendor")
    expect(info.version, "the back end has no version")
    return {
        "path": info.path.decode(),
        "vendor": info.vendor.decode(),
        "version": info.version.decode(),
    }


@case(0, "load/probe")
def probe(make: Any) -> dict[str, Any]:
    """The probe finds at least one device."""
    info = _backend(make)
    expect(info.device_count >= 1, info.reason.decode() or "no device, and no reason was given")
    return {"devices": info.device_count}


@case(0, "load/kind")
def kind(make: Any) -> None:
    """Calls go to the device type that was asked for."""
    expect_equal(make.rt.kind(), os.environ["INFINI_DEVICE"], "the current device type")
    expect_equal(make.rt.GetDevice(), 0, "the current device")
    expect(make.rt.GetDeviceCount() >= 1, "the device count is 0")


@case(0, "load/device-info")
def device_info(make: Any) -> dict[str, Any]:
    """Every device has a name, memory and an architecture version."""
    rt, told = make.rt, []
    for device in range(rt.GetDeviceCount()):
        properties = rt.GetDeviceProperties(device)
        name = bytes(properties.name).split(b"\0")[0].decode(errors="replace")
        expect(name, f"device {device} has no name")
        expect(properties.totalGlobalMem > 0, f"device {device} has no memory")
        expect(properties.multiProcessorCount > 0, f"device {device} has no multiprocessors")
        rt.SetDevice(device)
        free, total = rt.MemGetInfo()
        expect(0 < free <= total, f"device {device}: {free} bytes free of {total}")
        told.append({"name": name, "memory": int(properties.totalGlobalMem)})
    return {"info": told}


@case(0, "load/versions")
def versions(make: Any) -> dict[str, Any]:
    """Driver and runtime say their versions."""
    return {"driver": make.rt.DriverGetVersion(), "runtime": make.rt.RuntimeGetVersion()}


@case(0, "load/bad-device")
def bad_device(make: Any) -> None:
    """A device number that does not exist is refused, and nothing changes."""
    count, before = make.rt.GetDeviceCount(), make.rt.GetDevice()
    for wrong in (-1, count, 10_000):
        expect_equal(make.rt.code.SetDevice(wrong), "ErrorInvalidDevice", f"SetDevice({wrong})")
    make.rt.code.GetLastError()
    expect_equal(make.rt.GetDevice(), before, "the current device")
