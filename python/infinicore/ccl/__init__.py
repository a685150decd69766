"""Collectives: operations over the tensors of several ranks, in one process or in many.

    with ccl.init() as comm:                               # one of several processes
        comm.all_reduce(gradients)                         # in place, in stream order

    comms = ccl.init_all(2)                                # two devices of this process
    with ccl.group():
        for comm, x in zip(comms, tensors):
            comm.all_reduce(x)

Operations go to the current stream of the tensor's device. A failure after a call has returned is
raised by reading a tensor, waiting for the device, the next call, `check` or `close`.
"""

from infinicore.ccl._bootstrap import init
from infinicore.ccl._communicator import Communicator, init_all, unique_id
from infinicore.ccl._group import group
from infinicore.ccl._library import CclError

__all__ = ["CclError", "Communicator", "group", "init", "init_all", "unique_id"]
