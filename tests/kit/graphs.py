"""Parameters of the nodes of graphs."""

from __future__ import annotations

import ctypes


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def host_params(rt, function):
    return rt.struct("HostNodeParams", fn=address(function))


def fill_params(rt, target, value, count, element=1, height=1, pitch=0):
    return rt.struct(
        "MemsetParams",
        dst=target,
        value=value,
        elementSize=element,
        width=count,
        height=height,
        pitch=pitch,
    )
