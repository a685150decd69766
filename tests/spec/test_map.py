"""The folder maps in the docs name every folder, and only files that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from spec.generate.__main__ import PARTS, generate

ROOT = Path(__file__).resolve().parents[2]
PATTERN = "backends/*/kernels/"


def tracked() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("needs a checkout: asks git for the tracked files")
    return done.stdout.splitlines()


def test_the_map_has_every_folder() -> None:
    """Down to the second level; a folder that has only folders needs no line of its own."""
    files = [Path(name) for name in tracked()]
    folders = {f"{path.parent}/" for path in files if len(path.parts) == 2}
    folders |= {f"{'/'.join(path.parts[:2])}/" for path in files if len(path.parts) > 2}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text[text.index("## Where things are") :].split("```")[1]
    mapped = [line.split()[0] for line in block.splitlines() if line.strip()]
    assert len(mapped) == len(set(mapped))
    assert set(mapped) - {PATTERN} == folders
    assert all(len(line.split(maxsplit=1)[1]) > 5 for line in block.splitlines() if line.strip())
    assert PATTERN in mapped
    assert list(ROOT.glob(PATTERN))


def test_architecture_names_files_that_exist(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    generate(tmp_path, list(PARTS))
    for before, name in re.findall(r"(generated |)`([\w.*-]+(?:/[\w.*-]*)+)`", prose):
        if name.startswith("build/"):
            continue
        root = tmp_path if before else ROOT
        assert list(root.glob(name.rstrip("/"))), f"architecture.md names {name}"
