"""The package is loaded into processes in which other libraries have been at work."""

from __future__ import annotations

import sys
from pathlib import Path

from kit.build import shared_library
from kit.process import run

# Leaves libstdc++'s thread-local variables where this first use puts them: in dynamically allocated
# storage.
OTHER = """
#include <mutex>
extern "C" int use() {
    static std::once_flag once;
    int used = 0;
    std::call_once(once, [&] { used = 1; });
    return used;
}
"""

PROGRAM = """
import ctypes, sys
assert ctypes.CDLL(sys.argv[1]).use() == 1
import infinicore
print((infinicore.ones(3) + 1).tolist())
"""


def test_after_a_library_that_uses_call_once(tmp_path: Path) -> None:
    source = tmp_path / "other.cc"
    source.write_text(OTHER)
    other = shared_library(source, tmp_path / "libother.so")
    done = run([sys.executable, "-c", PROGRAM, str(other)], INFINI_DEVICE="cpu")
    assert (done.returncode, done.stdout) == (0, "[2.0, 2.0, 2.0]\n"), done.stderr
