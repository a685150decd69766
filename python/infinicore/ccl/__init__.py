"""Collectives: several ranks, in one process or in many, work on their tensors together.

    with ccl.init() as comm:                               # one of several processes
        comm.all_reduce(gradients)                         # in place, in stream order

    comms = ccl.init_all(2)                                # two devices of this process
    with ccl.group():
        for comm, x in zip(comms, tensors):
            comm.all_reduce(x)

Operations go to the current stream of the tensor's device. What fails after a call has returned is
raised by whatever reads a tensor or waits for the device, by the next call, by `check` and by
`close`.
"""

from infinicore.ccl._bootstrap import init
from infinicore.ccl._communicator import Communicator, init_all, unique_id
from infinicore.ccl._group import group
from infinicore.ccl._library import CclError

__all__ = ["CclError", "Communicator", "group", "init", "init_all", "unique_id"]
