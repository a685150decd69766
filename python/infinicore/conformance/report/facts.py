"""The facts in a report about the machine, the device and the libraries."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from typing import Any

from infinicore.cli.package import version


def collect(
    rows: Sequence[dict[str, Any]], started: float, seconds: float, jobs: int
) -> dict[str, Any]:
    data = {row["id"]: row.get("data") or {} for row in rows}
    table, info = data.get("load/table", {}), data.get("load/device-info", {})
    versions = data.get("load/versions", {})
    devices = info.get("info", [])
    backend, *libraries = str(table.get("version", "")).split(", ")
    speed = data.get("speed/copy", {})
    return {
        "infinicore": version(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "device": devices[0]["name"] if devices else "",
        "devices": len(devices),
        "memory": devices[0]["memory"] if devices else 0,
        "vendor": table.get("vendor", ""),
        "backend": backend,
        "libraries": libraries,
        "driver": versions.get("driver", 0),
        "runtime": versions.get("runtime", 0),
        "date": time.strftime("%Y-%m-%d", time.gmtime(started)),
        "seconds": round(seconds, 1),
        "jobs": jobs,
        "copy": speed.get("rates", {}),
        "speed": data.get("speed/operators", {}).get("rows", []),
    }
