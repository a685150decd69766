"""Tensors that are not created by a function of the package have all methods, too."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

import infinicore
from kit import process

USE = "print((x + 1).sum().item(), x.softmax(-1).shape, -x[0], x.max())"
SOURCES = {
    "pickle": "import pickle; x = pickle.load(open(path, 'rb'))",
    "thread": (
        "import pickle, threading; found = []\n"
        "def read(): found.append(pickle.load(open(path, 'rb')))\n"
        "threads = [threading.Thread(target=read) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "[each.sum() for each in found]; x = found[0]"
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_methods_are_there(tmp_path: Path, source: str) -> None:
    path = tmp_path / "tensor"
    path.write_bytes(pickle.dumps(infinicore.ones(3)))
    program = f"path = {str(path)!r}\n{SOURCES[source]}\n{USE}"
    done = process.run([sys.executable, "-c", program])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6.0 ")


def test_a_spawned_worker(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing\n"
        "def total(x): return (x * 2).sum().item()\n"
        "if __name__ == '__main__':\n"
        "    import infinicore\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(total, [infinicore.ones(3)]))\n"
    )
    done = process.run([sys.executable, str(program)], timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[6.0]"


def test_unpickling_on_an_absent_device() -> None:
    from infinicore._tensor import rebuild

    with pytest.raises(RuntimeError, match="pickled on cambricon:3, which is not here"):
        rebuild(b"", (0,), infinicore.float32, "cambricon:3")
