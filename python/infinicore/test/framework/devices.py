"""Types of device: their numbers, their names, and what torch calls them."""

from __future__ import annotations

from libinfiniop.devices import InfiniDeviceEnum, InfiniDeviceNames, torch_device_map

__all__ = ["InfiniDeviceEnum", "InfiniDeviceNames", "torch_device_map"]
