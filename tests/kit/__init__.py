"""Tools for the suites: the library through ctypes, latches, processes, compilers.

The suites call the C functions themselves, through prototypes derived from `spec/`, so that they
see the codes, run without the Python package's own layer, and can test any build.
"""

from .binding import Failure, Runtime, open_runtime
from .latch import Latch, Order
from .memory import Buffer, Maker

__all__ = ["Buffer", "Failure", "Latch", "Maker", "Order", "Runtime", "open_runtime"]
