"""scikit-build-core's hooks, after a first start of CMake.

scikit-build-core allows CMake 5 s to print its version and treats a slower one as missing, and the
first start from a cold disk can take longer. So CMake is started here, without a limit.
"""

import shutil
import subprocess

from scikit_build_core.build import *  # noqa: F403

_found = [shutil.which("cmake")]
try:
    import cmake

    _found.append(shutil.which("cmake", path=cmake.CMAKE_BIN_DIR))
except ImportError:  # PyPI's CMake comes only where the system has none
    pass
for _cmake in filter(None, _found):
    subprocess.run([_cmake, "--version"], capture_output=True, check=False)
