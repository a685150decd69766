"""Writes the files of device/ into a C++ source, which embeds the device code as text.

python -m backends.cuda.compile.embed OUT.cc
"""

from __future__ import annotations

import sys
from pathlib import Path

DEVICE = Path(__file__).parents[1] / "device"
# Compilers support string literals of at least 64 KiB; longer texts are split into chunks.
PIECE = 8000


def literal(text: str) -> str:
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)] or [""]
    return "\n".join(f'R"device({piece})device"' for piece in pieces)


def source() -> str:
    files = sorted(path for path in DEVICE.rglob("*") if path.suffix in (".cuh", ".h"))
    entries = "\n".join(
        f'    {{"{path.relative_to(DEVICE).as_posix()}",\n{literal(path.read_text())}}},'
        for path in files
    )
    return f"""\
// The files of backends/cuda/device, as text.
#include "compile/compiler.h"

namespace infini::cuda {{

const DeviceFile kDeviceFiles[] = {{
{entries}
}};
const size_t kDeviceFileCount = sizeof kDeviceFiles / sizeof *kDeviceFiles;

}}  // namespace infini::cuda
"""


def main() -> None:
    out = Path(sys.argv[1])
    text = source()
    if not out.exists() or out.read_text() != text:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)


if __name__ == "__main__":
    main()
