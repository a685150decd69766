"""Kernels of your own as implementations of operators.

    import triton, triton.language as tl
    from infinicore import library

    @library.register("swiglu", device="cuda", language="triton",
                      when=lambda a, b: a.is_contiguous() and b.is_contiguous())
    def swiglu(a, b, *, out):
        count = out.numel()
        kernel[(triton.cdiv(count, 1024),)](a, b, out, count, BLOCK=1024)

From then on every function of infinicore that comes down to the operator calls it, where `when`
accepts the tensors; elsewhere the back end's own kernel runs. `infinicore.op.info(name)` tells the
tensors and attributes of an operator: inputs are positional, attributes are keywords, `out` is the
result (a tuple of several), all of them made already. What the kernel launches belongs into
infinicore's stream: Triton and NineToothed are told so; others ask for
`infinicore.get_stream()`.

In a recording the kernel becomes a node of the graph. On a device with graphs of its own it is
called once, when the graph is made, and captured: replays call no Python.
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
