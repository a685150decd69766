"""The environment of a process that plans on the simulated CUDA without compiling anything."""

from __future__ import annotations

import os
from pathlib import Path

# Replaces the host's compiler: planning needs a loadable library, not its code.
STAND_IN = """#!/bin/sh
made={folder}/stand-in.so
if [ ! -e $made ]; then
    ${{CXX:-c++}} "$@" || exit 1
    fresh=1
fi
while [ "$1" != -o ]; do shift; done
if [ "$fresh" ]; then cp "$2" $made.$$ && mv $made.$$ $made; else cp $made "$2"; fi
"""


def planning(folder: Path, capability: str = "90", products: bool = False) -> dict[str, str]:
    """Sources are written to the folder. `products`: cuBLASLt and cuDNN are available, too."""
    from kit.binding import root
    from simulated.cuda.build import folder as simulated

    libraries = str(simulated(root()))
    stand_in = folder / "c++"
    stand_in.write_text(STAND_IN.format(folder=folder))
    stand_in.chmod(0o755)
    return {
        **os.environ,
        "INFINI_CUDA_DUMP": str(folder),
        "INFINI_DEVICE": "nvidia",
        "INFINI_NVIDIA_LIBRARIES": libraries + (f":{libraries}/products" if products else ""),
        "INFINI_CACHE": "",
        "INFINI_SIMULATED_CAPABILITY": capability,
        "INFINI_SIMULATED_CXX": str(stand_in),
        "INFINI_TEST_ROOT": str(root()),
    }
