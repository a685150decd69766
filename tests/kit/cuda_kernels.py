"""Operators whose kernels only the CPU has yet: tests leave them out on CUDA-like devices."""

HOST_ONLY = {
    f"[{name}-": "CUDA has no kernel for it yet"
    for name in ("eig", "fft", "lu_factor", "complex_qr", "complex_svd", "complex_eigh")
}
