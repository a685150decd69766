"""The package that provides Triton for each device type."""

from __future__ import annotations

from typing import NamedTuple


class Package(NamedTuple):
    name: str
    source: str  # where it comes from


_FLAGTREE = "FlagTree, built with FLAGTREE_BACKEND={}"

TRITON = {
    "nvidia": Package("triton", "PyPI"),
    "ascend": Package("triton-ascend", "PyPI; needs torch_npu and CANN's bisheng compiler"),
    "cambricon": Package("triton", _FLAGTREE.format("cambricon")),
    "metax": Package("triton", "MetaX's mcTriton, or " + _FLAGTREE.format("metax")),
    "moore": Package("triton", _FLAGTREE.format("mthreads")),
    "iluvatar": Package("triton", _FLAGTREE.format("iluvatar")),
    "kunlun": Package("triton", _FLAGTREE.format("xpu")),
    "hygon": Package("triton", _FLAGTREE.format("hcu")),
    "ali": Package("triton", "the PPU SDK (a version that ends in +ppu); no public source"),
    "qy": Package("triton", "the vendor's SDK; no public source"),
}


def install_hint(kind: str) -> str:
    """How to install Triton for a device type, as the end of an error message."""
    package = TRITON.get(kind)
    if package is None:
        return f"for {kind} no package with Triton is known"
    return f"for {kind} it comes as {package.name!r} from {package.source}"
