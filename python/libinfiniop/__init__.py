"""The C libraries through ctypes, and tools to write tests of operators with.

    from libinfiniop import LIBINFINIOP, InfiniDtype, TestTensor, check_error, get_args

`LIBINFINIOP` has every function of libinfiniop and libinfinirt with its argument types set; the
libraries are opened on first use, so importing this package never fails. torch is imported when a
tool of `libinfiniop.utils` needs it.
"""

from libinfiniop import datatypes, devices, liboperators, op_register, structs, utils
from libinfiniop.datatypes import *  # noqa: F403
from libinfiniop.devices import *  # noqa: F403
from libinfiniop.liboperators import *  # noqa: F403
from libinfiniop.op_register import *  # noqa: F403
from libinfiniop.structs import *  # noqa: F403
from libinfiniop.utils import *  # noqa: F403

__all__ = [
    *datatypes.__all__,
    *devices.__all__,
    *liboperators.__all__,
    *op_register.__all__,
    *structs.__all__,
    *utils.__all__,
]
