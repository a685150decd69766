"""The rows of benchmarks/operators.py for Fourier transforms and linear algebra.

Both sides are called as users call them, and make their results: `infinicore.fft.fft(x)` beside
`torch.fft.fft(x)`. Large matrices go through OpenBLAS on both sides where this one has it
(`infinicore[lapack]`, or INFINI_LAPACK_LIBRARY).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from operator_cases import Case, Tensors, Work, text

TYPES = {"F32": "float32", "F64": "float64", "C64": "complex64", "C128": "complex128"}
UNITS = {"F32": 1e-6, "F64": 1e-14, "C64": 1e-6, "C128": 1e-14}


def _values(tensors: Tensors, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """torch's tensor, and ours with the same memory."""
    import infinicore

    x = tensors.torch.randn(shape, dtype=getattr(tensors.torch, TYPES[dtype]))
    return x, infinicore.from_dlpack(x)


def _off(tensors: Tensors, ours: Any, theirs: Any, limit: float) -> str:
    torch = tensors.torch
    made = ours if isinstance(ours, torch.Tensor) else torch.from_dlpack(ours)
    worst = float((made - theirs).abs().max()) / max(float(theirs.abs().max()), 1e-30)
    return "" if worst <= limit else f"off by {worst:.2g} of the largest, more than {limit:.2g}"


def _bytes(*tensors: Any) -> float:
    return float(sum(x.numel() * x.element_size() for x in tensors))


# ---- Fourier transforms -------------------------------------------------------------------------

FOURIER: list[tuple[str, tuple[int, ...], str]] = [
    *(("fft", (n,), "C64") for n in (64, 1024, 16384, 1 << 20, 1000, 1009, 10007)),
    *(("rfft", (n,), "F32") for n in (1024, 1 << 20)),
    ("irfft", (513,), "C64"),
    ("ifft", (4096,), "C64"),
    ("fft", (4096,), "C128"),
    ("fft", (256, 1024), "C64"),
    ("fft", (256, 1024), "C128"),
    ("rfft", (256, 1024), "F32"),
    ("irfft", (256, 513), "C64"),
    ("fft", (10000, 16), "C64"),
    ("rfft", (4096, 400), "F32"),  # frames of speech
    ("fft2", (512, 512), "C64"),
    ("rfft2", (512, 512), "F32"),
    ("fft2", (16, 3, 224, 224), "C64"),
    ("rfft2", (16, 3, 224, 224), "F32"),
    ("irfft2", (16, 3, 224, 113), "C64"),
    ("fftn", (64, 64, 64), "C64"),
]


def _transform(name: str, shape: tuple[int, ...], dtype: str) -> Callable[[Tensors], Work]:
    def build(tensors: Tensors) -> Work:
        import infinicore

        x, own = _values(tensors, shape, dtype)
        ours, theirs = getattr(infinicore.fft, name), getattr(tensors.torch.fft, name)
        expected = theirs(x)
        return Work(
            lambda: ours(own),
            [(f"fft.{name}", lambda: theirs(x))],
            expected,
            _bytes(x),
            _bytes(expected),
            check=lambda: _off(tensors, ours(own), expected, UNITS[dtype]),
        )

    return build


# ---- Linear algebra -----------------------------------------------------------------------------

MATRICES = ((32, 32), (256, 256), (1024, 1024), (1000, 8, 8), (64, 32, 32))
FACTORS = ("solve", "inv", "det", "cholesky", "qr", "svd", "eigh", "eig")
SLOW = ("svd", "eigh", "eig")  # at 1024 torch takes seconds for these


def _residual(name: str, tensors: Tensors, x: Any, made: Any) -> tuple[Any, Any]:
    """The values to compare, since factors are not unique."""
    made = [tensors.torch.from_dlpack(each) for each in made]
    if name == "qr":
        return made[0] @ made[1], x
    if name == "svd":
        u, s, vh = made
        return (u * s.unsqueeze(-2)) @ vh, x
    w, v = made
    x = x.to(v.dtype)
    return x @ v, v * w.unsqueeze(-2)


def _factor(name: str, shape: tuple[int, ...], dtype: str) -> Callable[[Tensors], Work]:
    def build(tensors: Tensors) -> Work:
        import infinicore

        torch = tensors.torch
        x, _ = _values(tensors, shape, dtype)
        n = shape[-1]
        if name in ("cholesky", "eigh"):
            x = (x @ x.mH / n + torch.eye(n, dtype=x.dtype)).contiguous()
        else:
            x = (x / n + torch.eye(n, dtype=x.dtype)).contiguous()
        own = infinicore.from_dlpack(x)
        more, owns = [], []
        if name == "solve":
            more, owns = zip(_values(tensors, (*shape[:-1], 4), dtype), strict=True)
        options = {"full_matrices": False} if name == "svd" else {}
        ours, theirs = getattr(infinicore.linalg, name), getattr(torch.linalg, name)
        expected = theirs(x, *more, **options)
        results = [expected] if isinstance(expected, torch.Tensor) else list(expected)

        def check() -> str:
            made = ours(own, *owns, **options)
            if len(results) > 1:
                return _off(tensors, *_residual(name, tensors, x, made), n * UNITS[dtype])
            return _off(tensors, made, expected, 16 * n * UNITS[dtype])

        return Work(
            lambda: ours(own, *owns, **options),
            [(f"linalg.{name}", lambda: theirs(x, *more, **options))],
            expected,
            _bytes(x),
            _bytes(*results),
            check=check,
        )

    return build


def factoring() -> Iterator[Case]:
    for name, shape, dtype in FOURIER:
        yield Case("fft", name, text(*shape), dtype, _transform(name, shape, dtype))
    for name in FACTORS:
        for shape in MATRICES:
            if shape[-1] == 1024 and name in SLOW:
                continue
            for dtype in ("F32", "F64", "C64"):
                yield Case("linalg", name, text(*shape), dtype, _factor(name, shape, dtype))
