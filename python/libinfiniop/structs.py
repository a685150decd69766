"""Arguments of the C functions: handles, descriptors, and structs that they fill."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_char_p, c_int, c_size_t, c_void_p

__all__ = [
    "BackendInfo",
    "Handle",
    "OpDescriptor",
    "TensorDescriptor",
    "infiniopHandle_t",
    "infiniopOperatorDescriptor_t",
    "infiniopTensorDescriptor_t",
    "infinirtEvent_t",
    "infinirtGraphExec_t",
    "infinirtGraphNode_t",
    "infinirtGraph_t",
    "infinirtStream_t",
]


class TensorDescriptor(Structure):
    """Opaque."""


class Handle(Structure):
    """The device that operators are described for. More members follow, which are private."""

    _fields_ = [("device", c_int), ("device_id", c_int)]


class OpDescriptor(Structure):
    """A described operator. More members follow, which are private."""

    _fields_ = [("device", c_int), ("device_id", c_int)]


class BackendInfo(Structure):
    """The result of `infinirtGetBackendInfo`; `size` is set by the caller."""

    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("vendor", c_char_p),
        ("version", c_char_p),
        ("path", c_char_p),
        ("reason", c_char_p),
        ("device_count", c_int),
        ("device_type", c_int),
    ]


infiniopTensorDescriptor_t = POINTER(TensorDescriptor)
infiniopHandle_t = POINTER(Handle)
# Descriptors of all operators: C has a name for each, but they are the same type.
infiniopOperatorDescriptor_t = POINTER(OpDescriptor)

infinirtStream_t = c_void_p
infinirtEvent_t = c_void_p
infinirtGraph_t = c_void_p
infinirtGraphNode_t = c_void_p
infinirtGraphExec_t = c_void_p
