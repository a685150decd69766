"""Copies libinfinirt and the CPU back end for the simulated libcudart to have as its own:

    python engine.py ROOT/lib OUTPUT

The copy is another library with other settings: it must not find the client's back ends (the CUDA
back end would simulate itself recursively), nor be taken for the client's libinfinirt.
"""

from __future__ import annotations

import sys
from pathlib import Path

RENAMED = {  # equal lengths, because they are replaced in place
    b"libinfinirt.so\0": b"libsimulate.so\0",
    b"INFINI_BACKEND_PATH\0": b"INFINI_SIMULATED_P_\0",
    b"INFINI_DEVICE\0": b"INFINI_SIM_D_\0",
    b"INFINI_CPU_DEVICES\0": b"INFINI_SIM_DEVICES\0",
}


def copy(source: Path, target: Path, required: tuple[bytes, ...]) -> None:
    data = source.read_bytes()
    for old, new in RENAMED.items():
        if old in required and old not in data:
            raise SystemExit(f"{source}: expected {old!r} in it")
        data = data.replace(old, new)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # a running program may have it open
    target.write_bytes(data)


def main() -> None:
    libraries, output = map(Path, sys.argv[1:])
    names = tuple(RENAMED)
    copy(libraries / "libinfinirt.so", output / "libinfinirt.so", names[:3])
    copy(libraries / "backends/libinfini_cpu.so", output / "libinfini_cpu.so", names[3:])


if __name__ == "__main__":
    main()
