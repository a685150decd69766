"""Device types: their numbers in C, their names, and their names in torch."""

from __future__ import annotations

from libinfiniop._enums import InfiniDeviceEnum

__all__ = ["InfiniDeviceEnum", "InfiniDeviceNames", "infini_device_map", "torch_device_map"]

_ABBREVIATIONS = (InfiniDeviceEnum.CPU, InfiniDeviceEnum.NVIDIA)

InfiniDeviceNames: dict[int, str] = {
    device: device.name if device in _ABBREVIATIONS else device.name.capitalize()
    for device in InfiniDeviceEnum
}

# Most accelerators are "cuda" in torch: their vendors build it against CUDA-like runtimes.
_OWN_NAMES = {
    InfiniDeviceEnum.CPU: "cpu",
    InfiniDeviceEnum.CAMBRICON: "mlu",
    InfiniDeviceEnum.ASCEND: "npu",
    InfiniDeviceEnum.MOORE: "musa",
}
torch_device_map: dict[int, str] = {
    device: _OWN_NAMES.get(device, "cuda") for device in InfiniDeviceEnum
}

# The reverse; if several types share a name, the first.
infini_device_map: dict[str, InfiniDeviceEnum] = {
    torch_device_map[device]: device for device in reversed(InfiniDeviceEnum)
}

# Modules that add a device type to torch when they are imported.
TORCH_PLUGINS: dict[int, str] = {
    InfiniDeviceEnum.CAMBRICON: "torch_mlu",
    InfiniDeviceEnum.ASCEND: "torch_npu",
    InfiniDeviceEnum.MOORE: "torch_musa",
    InfiniDeviceEnum.KUNLUN: "torch_xmlir",
}
