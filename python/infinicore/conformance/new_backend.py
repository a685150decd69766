"""`infini new-backend`: a back end to start from."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from infinicore.cli import config
from infinicore.op._table import DEVICES

WORD = "mychip"  # in the template, in files and in their names
INTERPRETER = ("interpreter.h", "functions.h", "storage.h")
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the device type: lower-case letters, digits and _")
    parser.add_argument("--into", metavar="DIR", help="the new folder (default: ./NAME)")
    parser.add_argument(
        "--check", action="store_true", help="also build it, and run the kit up to level 2"
    )


class NewBackendError(Exception):
    pass


def write(name: str, into: Path) -> list[str]:
    """Writes the folder; returns the files in it."""
    if not NAME.fullmatch(name):
        raise NewBackendError(
            f"name {name!r}: expected lower-case letters, digits and _, beginning with a letter"
        )
    if name.upper() in DEVICES:
        raise NewBackendError(f"name {name!r}: the package has a device type of that name")
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise NewBackendError(f"{into} exists and is not an empty folder")
    plain = config.root() / "share" / "infini" / "null"
    if not (plain / INTERPRETER[0]).is_file():
        raise NewBackendError(f"{plain} is missing: install infinicore again")
    template = Path(__file__).parent / "template"
    written = []
    for source in sorted(template.rglob("*")):
        if source.is_dir() or "__pycache__" in source.parts:
            continue
        relative = str(source.relative_to(template)).replace(WORD, name)
        target = into / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8").replace(WORD, name)
        target.write_text(text.replace(f"infini-{name}", f"infini-{name.replace('_', '-')}"))
        written.append(relative)
    for header in INTERPRETER:
        shutil.copyfile(plain / header, into / "src" / header)
        written.append(f"src/{header}")
    (into / "check").chmod(0o755)  # wheels may lose the permission
    return sorted(written)


def run(options: argparse.Namespace) -> int:
    into = Path(options.into or options.name)
    try:
        written = write(options.name, into)
    except (NewBackendError, OSError) as error:
        print(f"infini new-backend: {error}", file=sys.stderr)
        return 2
    print(f"{into}: a back end for {options.name}")
    for name in written:
        print(f"  {name}")
    if options.check:
        # Uses the same installation, even if its scripts are not on PATH.
        folder = str(Path(sys.executable).parent)
        env = dict(os.environ, PATH=f"{folder}{os.pathsep}{os.environ.get('PATH', '')}")
        return subprocess.run([str((into / "check").resolve())], env=env, check=False).returncode
    print(f"\nNext: {into}/check builds it and runs the conformance kit; then {into}/README.md")
    return 0
