"""The installed package."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    try:
        return metadata.version("infinicore")
    except metadata.PackageNotFoundError:
        return "unknown: used from a folder, not installed"
