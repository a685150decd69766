"""Device types, and the back ends that provide them."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from infinicore import _rt
from infinicore._rt_enums import DEVICE_KINDS

ENTRY_POINTS = "infinicore.backends"


class Backend(NamedTuple):
    """A back end that was found, whether usable or not.

    >>> [b.name for b in rt.backends() if b.device_count]
    ['cpu']
    """

    name: str
    """The device type, or the library's file name when it could not be opened."""
    vendor: str
    version: str
    path: str
    reason: str
    """Why it has no device; empty when it has one."""
    device_count: int
    device_type: int
    """The number of the kind in C (infiniDevice_t)."""


_failed: list[Backend] = []


def _some_package_offers_any() -> bool:
    """Reads the installed packages' files, which is much faster than importing
    importlib.metadata."""
    for folder in sys.path:
        try:
            entries = list(os.scandir(folder or "."))
        except NotADirectoryError:
            return True  # an archive: only importlib.metadata can read it
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(entry.path, "entry_points.txt"), "rb") as file:
                        if ENTRY_POINTS.encode() in file.read():
                            return True
                except OSError:
                    continue
    return False


def load_entry_points() -> None:
    """Open the back ends that installed packages provide; `backends()` lists failures."""
    if not _some_package_offers_any():
        return
    from importlib import metadata

    for entry in metadata.entry_points(group=ENTRY_POINTS):
        try:
            found = entry.load()
            path = os.fspath(found() if callable(found) else found)
            _rt._load_backend(path)
        except Exception as error:  # importing this package must go on
            reason = f"entry point {entry.value}: {type(error).__name__}: {error}"
            _failed.append(Backend(entry.name, "", "", "", reason, 0, -1))


def backends() -> list[Backend]:
    """All back ends that were found, including those without a device, with the reason.

    >>> for backend in rt.backends():
    ...     print(backend.name, backend.device_count, backend.reason)
    """
    return [Backend(*found) for found in _rt._backends()] + _failed


def kinds() -> dict[str, int]:
    """The device types that are present, with the number of devices of each.

    >>> rt.kinds()
    {'cpu': 1}
    """
    return {b.name: b.device_count for b in backends() if b.device_count}


def absent_kinds() -> dict[str, str]:
    """The device types that are absent, and why.

    >>> rt.absent_kinds()["ascend"]
    'no back end found'
    """
    present = kinds()
    reasons = {b.name: b.reason for b in backends() if b.name not in present}
    known = {kind: "no back end found" for kind in DEVICE_KINDS if kind not in present}
    return {**known, **reasons}


def kind() -> str:
    """The calling thread's device type.

    >>> rt.kind()
    'cpu'
    """
    return _rt._kind()


def set_kind(kind: str) -> None:
    """Set the calling thread's device type.

    >>> rt.set_kind("cpu")
    """
    _rt._set_kind(kind)
