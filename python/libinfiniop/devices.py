"""Device types: their numbers in C, their names, and what torch calls them."""

from __future__ import annotations

from libinfiniop._enums import InfiniDeviceEnum

__all__ = ["InfiniDeviceEnum", "InfiniDeviceNames", "infini_device_map", "torch_device_map"]

_ABBREVIATIONS = (InfiniDeviceEnum.CPU, InfiniDeviceEnum.NVIDIA)

InfiniDeviceNames: dict[int, str] = {
    device: device.name if device in _ABBREVIATIONS else device.name.capitalize()
    for device in InfiniDeviceEnum
}

# Most accelerators are "cuda" to torch: their makers build it against look-alikes of CUDA.
_OWN_NAMES = {
    InfiniDeviceEnum.CPU: "cpu",
    InfiniDeviceEnum.CAMBRICON: "mlu",
    InfiniDeviceEnum.ASCEND: "npu",
    InfiniDeviceEnum.MOORE: "musa",
}
torch_device_map: dict[int, str] = {
    device: _OWN_NAMES.get(device, "cuda") for device in InfiniDeviceEnum
}

# The other way; of several kinds the first.
infini_device_map: dict[str, InfiniDeviceEnum] = {
    torch_device_map[device]: device for device in reversed(InfiniDeviceEnum)
}

# Modules that teach torch a device type when they are imported.
TORCH_PLUGINS: dict[int, str] = {
    InfiniDeviceEnum.CAMBRICON: "torch_mlu",
    InfiniDeviceEnum.ASCEND: "torch_npu",
    InfiniDeviceEnum.MOORE: "torch_musa",
    InfiniDeviceEnum.KUNLUN: "torch_xmlir",
}
