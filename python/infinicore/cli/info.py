"""`infini info`: the devices of every type, and why a type is absent."""

from __future__ import annotations

import json
from typing import Any

from infinicore import rt
from infinicore.ccl._library import CclError, describe
from infinicore.cli.table import size, table

# Types of devices whose back ends compile no kernels: docs/backends.md.
PLAIN = ("ascend", "cambricon", "kunlun")
PLAIN_WORDS = "programs interpreted on the host"


def collect() -> dict[str, Any]:
    backends = {backend.name: backend for backend in rt.backends() if backend.device_count}
    devices = []
    for device in rt.devices():
        free, total = device.memory()
        backend = backends[device.kind]
        devices.append(
            {
                "kind": device.kind,
                "index": device.index,
                "name": device.name,
                "memory_total": total,
                "memory_free": free,
                "backend": backend.path,
                "vendor": backend.vendor,
                "version": backend.version,
            }
        )
    try:
        default = rt.kind()
    except rt.InfiniRTError:
        default = ""
    return {
        "default": default,
        "devices": devices,
        "absent": rt.absent_kinds(),
        "collectives": {kind: _collectives(backend) for kind, backend in backends.items()},
    }


def _collectives(backend: rt.Backend) -> str:
    """The library for collectives, or why there is none; empty if the back end reports neither."""
    try:
        return describe(backend.device_type)
    except CclError as error:
        return f"none: {str(error).partition(': ')[2]}"


def run(as_json: bool) -> int:
    found = collect()
    print(json.dumps(found, indent=2) if as_json else text(found))
    return 0


def text(found: dict[str, Any]) -> str:
    rows = [
        (
            f"{device['kind']}:{device['index']}",
            device["name"],
            f"{size(device['memory_free'])} free of {size(device['memory_total'])}",
            f"{device['vendor']} {device['version'].partition(', ')[0]}",
        )
        for device in found["devices"]
    ]
    # A back end's version text also lists the vendor's libraries that it uses.
    uses = {d["kind"]: d["version"].partition(", ")[2] for d in found["devices"]}
    lines = [(kind, use) for kind, words in uses.items() for use in words.split(", ") if use]
    lines += [(kind, PLAIN_WORDS) for kind in uses if kind in PLAIN]
    lines += [
        (kind, f"collectives {words}") for kind, words in found["collectives"].items() if words
    ]
    parts = []
    if rows:
        parts.append(table(("device", "name", "memory", "back end"), rows))
        parts.append(f"Calls use: {found['default']}  (INFINI_DEVICE or set_kind() choose another)")
        if lines:
            parts.append(table(("device type", "works with"), lines))
    else:
        parts.append("No device can be used.")
    if found["absent"]:
        parts.append(table(("absent", "reason"), sorted(found["absent"].items())))
    return "\n\n".join(parts)
