"""`infini tune`: measures what constants stand for, and keeps it in a file."""

from __future__ import annotations

import os
import sys

from infinicore import rt
from infinicore.cli.doctor import text_of
from infinicore.cli.table import table

SHOWN = {"machine": "machine", "mode": "INFINI_TUNING", "file": "file"}


def run(device: str | None, show: bool) -> int:
    backends = [each for each in rt.backends() if each.device_count]
    if device is not None:
        backends = [each for each in backends if each.name == device]
        if not backends:
            print(f"infini tune: there is no device {device!r}", file=sys.stderr)
            return 2
    status = 0
    reports = 0
    for backend in backends:
        report = text_of(backend, "infini_backend_tune", int(not show))
        if report:
            reports += 1
            status = max(status, _print(backend.name, report))
    if reports and not show and (load := os.getloadavg()[0]) > (os.cpu_count() or 1) / 2:
        print(f"\nthe machine is busy (load {load:.1f}): measure again when it is idle")
    if not reports:
        print(f"nothing is measured for {device or 'these devices'}: constants are used")
    return status


def _print(name: str, report: str) -> int:
    """Print one back end's report; the exit status is 1 if it has a problem."""
    lines = [line.split("\t") for line in report.splitlines()]
    facts = {kind: fields[0] for kind, *fields in lines if kind != "value"}
    values = [[cell or "-" for cell in fields] for kind, *fields in lines if kind == "value"]
    heads = [("device type", name)]
    heads += [(SHOWN[kind], fact or "none") for kind, fact in facts.items() if kind in SHOWN]
    print(table(("what", "value"), heads), end="\n\n")
    if values:
        print(table(("what", "constant", "measured"), values), flush=True)
    else:
        print("nothing to measure: the pool has one thread", flush=True)
    if facts.get("mode") == "off":
        print("\nINFINI_TUNING=off: the constants are used")
    if "problem" in facts:
        print(f"infini tune: {facts['problem']}", file=sys.stderr)
        return 1
    return 0
