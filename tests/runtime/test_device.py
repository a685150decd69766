"""One device: selection, properties, settings."""

from __future__ import annotations

import ctypes

import pytest

from kit import Order, process
from spec import api

ATTRIBUTES = next(enum for enum in api.enums if enum.name == "infinirtDeviceAttr").values
LIMITS = next(enum for enum in api.enums if enum.name == "infinirtLimit").values


def test_there_is_a_device_and_it_is_current(rt):
    assert rt.GetDeviceCount() >= 1
    assert rt.GetDevice() == 0


@pytest.mark.parametrize("number", [-1, -(2**31), 1 << 20, 2**31 - 1])
def test_a_device_that_is_not_there(rt, refused, number):
    with refused("ErrorInvalidDevice", "argument 1 (device)"):
        rt.SetDevice(number)
    with refused("ErrorInvalidDevice"):
        rt.GetDeviceProperties(number)
    with refused("ErrorInvalidDevice"):
        rt.InitDevice(number, 0, 0)
    assert rt.GetDevice() == 0


def test_properties_and_attributes_agree(rt):
    properties = rt.GetDeviceProperties(0)
    assert properties.name
    assert properties.totalGlobalMem > 0
    for attribute, member in {
        "MultiProcessorCount": "multiProcessorCount",
        "WarpSize": "warpSize",
        "ClockRate": "clockRate",
        "Integrated": "integrated",
        "ComputeCapabilityMajor": "major",
        "ComputeCapabilityMinor": "minor",
        "UnifiedAddressing": "unifiedAddressing",
        "CanMapHostMemory": "canMapHostMemory",
        "ConcurrentKernels": "concurrentKernels",
        "AsyncEngineCount": "asyncEngineCount",
        "L2CacheSize": "l2CacheSize",
        "GlobalMemoryBusWidth": "memoryBusWidth",
        "ManagedMemory": "managedMemory",
        "MemoryPoolsSupported": "memoryPoolsSupported",
        "HostRegisterSupported": "hostRegisterSupported",
        "StreamPrioritiesSupported": "streamPrioritiesSupported",
    }.items():
        value = rt.DeviceGetAttribute(getattr(rt, f"DevAttr{attribute}"), 0)
        assert value == getattr(properties, member), attribute


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_every_attribute_has_an_answer(rt, attribute):
    if attribute.name == "infinirtDevAttrMax":  # a later toolkit has more of them
        code = rt.code.DeviceGetAttribute(attribute.value, 0)
        assert code == "ErrorInvalidValue" or "core-words" not in rt.tags
    else:
        rt.DeviceGetAttribute(attribute.value, 0)


@pytest.mark.parametrize("attribute", [0, -1, 100000])
def test_an_attribute_that_does_not_exist(rt, refused, attribute):
    with refused("ErrorInvalidValue", "argument 2 (attr)"):
        rt.DeviceGetAttribute(attribute, 0)


def test_memory_in_total_and_free(rt):
    free, total = rt.MemGetInfo()
    assert 0 < free <= total
    assert total == rt.GetDeviceProperties(0).totalGlobalMem


def test_the_bus_address_leads_back(rt):
    text = ctypes.create_string_buffer(64)
    rt.DeviceGetPCIBusId(text, 64, 0)
    assert text.value
    assert rt.DeviceGetByPCIBusId(text.value) == 0


def test_a_bus_address_that_nobody_has(rt):
    for nowhere in (b"no such place", b"7777:77:07.0", b""):
        code = rt.code.DeviceGetByPCIBusId(nowhere)
        assert code in ("ErrorInvalidDevice", "ErrorInvalidValue")


@pytest.mark.parametrize("length", [0, 1, -1])
def test_no_room_for_the_bus_address(rt, refused, length):
    text = ctypes.create_string_buffer(b"untouched", 64)
    with refused("ErrorInvalidValue", "argument 2 (len)"):
        rt.DeviceGetPCIBusId(text, length, 0)
    assert text.value == b"untouched"


def test_priorities_go_from_least_to_greatest(rt):
    least, greatest = rt.DeviceGetStreamPriorityRange()
    assert greatest <= least


def test_choosing_by_properties(rt):
    wanted = rt.GetDeviceProperties(0)
    assert rt.ChooseDevice(wanted) == 0
    assert 0 <= rt.ChooseDevice(rt.struct("DeviceProp")) < rt.GetDeviceCount()


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_limits_can_be_set_and_read(rt, limit):
    if rt.code.DeviceGetLimit(limit.value) == "ErrorUnsupportedLimit":
        pytest.skip("a limit that this device does not have")
    before = rt.DeviceGetLimit(limit.value)
    # More may be granted than was requested, and some values are rejected.
    if rt.code.DeviceSetLimit(limit.value, 4096) == "Success":
        assert rt.DeviceGetLimit(limit.value) >= 4096
        rt.DeviceSetLimit(limit.value, before)


def test_a_limit_that_does_not_exist(rt, refused):
    with refused("ErrorInvalidValue", "limit"):
        rt.DeviceSetLimit(77, 1)
    with refused("ErrorInvalidValue", "limit"):
        rt.DeviceGetLimit(-1)


def test_settings_are_kept(rt):
    rt.DeviceSetCacheConfig(rt.FuncCachePreferL1)
    assert rt.DeviceGetCacheConfig() == rt.ThreadGetCacheConfig() == rt.FuncCachePreferL1
    rt.DeviceSetCacheConfig(rt.FuncCachePreferNone)
    assert rt.code.DeviceSetCacheConfig(9) == "ErrorInvalidValue"
    rt.SetDeviceFlags(rt.DeviceScheduleBlockingSync)
    assert rt.GetDeviceFlags() & rt.DeviceScheduleMask == rt.DeviceScheduleBlockingSync
    rt.SetDeviceFlags(rt.DeviceScheduleAuto)


def test_the_old_names_of_settings(rt):
    rt.ThreadSetCacheConfig(rt.FuncCachePreferShared)
    assert rt.DeviceGetCacheConfig() == rt.ThreadGetCacheConfig() == rt.FuncCachePreferShared
    rt.ThreadSetCacheConfig(rt.FuncCachePreferNone)
    assert rt.code.ThreadSetCacheConfig(9) == "ErrorInvalidValue"
    limit = rt.LimitMallocHeapSize
    before = rt.ThreadGetLimit(limit)
    assert before == rt.DeviceGetLimit(limit)
    rt.ThreadSetLimit(limit, before + 4096)
    assert rt.ThreadGetLimit(limit) == rt.DeviceGetLimit(limit) >= before + 4096
    rt.ThreadSetLimit(limit, before)
    assert rt.code.ThreadSetLimit(77, 1) == rt.code.ThreadGetLimit(77) == "ErrorInvalidValue"


def test_shared_memory_banks_and_persisting_lines(rt):
    before = rt.DeviceGetSharedMemConfig()
    rt.DeviceSetSharedMemConfig(rt.SharedMemBankSizeEightByte)  # a hint: devices may ignore it
    assert rt.DeviceGetSharedMemConfig() in (before, rt.SharedMemBankSizeEightByte)
    rt.DeviceSetSharedMemConfig(before)
    assert rt.DeviceGetSharedMemConfig() == before
    assert rt.code.DeviceSetSharedMemConfig(9) == "ErrorInvalidValue"
    rt.CtxResetPersistingL2Cache()


@pytest.mark.needs("asynchronous")
def test_the_old_name_of_waiting(rt, make):
    order, stream = Order(rt), make.free_stream()
    for index in range(50):
        order.note(stream, index)
    rt.ThreadSynchronize()
    assert order.seen == list(range(50))


@pytest.mark.parametrize("flags", [0x3, 0x7, 0x100, 0xFFFFFFFF])
def test_device_flags_that_make_no_sense(rt, refused, flags):
    with refused("ErrorInvalidValue", "flags"):
        rt.SetDeviceFlags(flags)


def test_set_valid_devices(rt):
    rt.SetValidDevices((ctypes.c_int * 1)(0), 1)
    rt.SetValidDevices(None, 0)
    assert rt.code.SetValidDevices((ctypes.c_int * 1)(77), 1) == "ErrorInvalidDevice"
    assert rt.GetDevice() == 0


def test_kinds_by_word(rt):
    kind = rt.kind()
    assert rt.set_kind("no-such-kind") == "INFINI_STATUS_DEVICE_NOT_FOUND"
    assert "no-such-kind" in rt.message()
    assert kind in rt.message()  # it lists the available device types
    assert rt.kind() == kind
    assert rt.set_kind(kind) == "INFINI_STATUS_SUCCESS"


def test_every_back_end_has_a_device_or_a_reason(rt):
    for info in rt.backends():
        assert info.name
        assert info.reason or info.device_count  # with devices it is a remark
    assert rt.kind().encode() in {info.name for info in rt.backends()}


def test_a_device_that_was_asked_for_and_is_missing_is_told(rt):
    said = process.python("print(rt.code.GetDeviceCount(), rt.message())", INFINI_DEVICE="nowhere")
    assert "ErrorNoDevice" in said
    assert "INFINI_DEVICE=nowhere" in said


def test_reset_gives_a_fresh_device(rt):
    # In a separate process, because it destroys everything that other tests may still use.
    said = process.python(f"""
memory, stream, event = rt.Malloc(4096), rt.StreamCreate(), rt.EventCreate()
order = Order(rt)
order.note(stream, "done")
rt.DeviceReset()
if {"checked-handles" in rt.tags}:
    print(rt.code.StreamQuery(stream), rt.code.EventQuery(event))
print(order.seen, rt.code.Free(memory))
again = rt.Malloc(4096)
rt.Memset(again, 7, 4096)
stream = rt.StreamCreate()
order.note(stream, "again")
rt.StreamSynchronize(stream)
print(order.seen)
""").splitlines()
    if "checked-handles" in rt.tags:
        assert said.pop(0).count("Error") == 2
    assert said[0].startswith("['done'] Error")
    assert said[1] == "['done', 'again']"
