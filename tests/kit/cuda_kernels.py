"""Operators whose kernels only the CPU has yet: tests leave them out on CUDA-like devices."""

from spec.operators import OPERATORS

HOST_ONLY = {
    f"[{operator.name}-": "CUDA has no kernel for it yet"
    for operator in OPERATORS
    if operator.options.get("host_only")
}
