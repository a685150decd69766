"""User-written kernels as implementations of operators.

    import triton, triton.language as tl
    from infinicore import library

    @library.register("swiglu", device="cuda", language="triton",
                      when=lambda a, b: a.is_contiguous() and b.is_contiguous())
    def swiglu(a, b, *, out):
        count = out.numel()
        kernel[(triton.cdiv(count, 1024),)](a, b, out, count, BLOCK=1024)

From then on every function of infinicore that uses the operator calls it if `when` accepts the
tensors; otherwise the back end's own kernel runs. `infinicore.op.info(name)` lists the tensors and
attributes of an operator: inputs are positional, attributes are keywords, and `out` is the result
(a tuple if there are several), already allocated. Launch the kernel in infinicore's stream: Triton
and NineToothed use it automatically, others get it from `infinicore.get_stream()`.

While a graph is recorded the kernel becomes a node of the graph. On a device with native graphs it
is called once, when the graph is instantiated, and captured: replays call no Python.
"""

from __future__ import annotations

from infinicore.python_kernels.registration import (
    Kernel,
    builtin,
    kernels,
    register,
    signature,
    unregister,
)

__all__ = ["Kernel", "builtin", "kernels", "register", "signature", "unregister"]
