"""A few cases of each operator that together reach all kernels of a device's back end.

A device compiles a kernel for element types, sizes and layouts: so an operator has a small case,
one with many elements, and one of another type whose tensors are transposed. Cases for kernels that
these do not reach are listed. Used where kernels are compiled without a device, and under
compute-sanitizer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kit import Maker
from kit.drawing import Draw, NoCaseError, Rules, main_tensor
from kit.layouts import Rule, contiguous, transposed
from kit.operator_runs import SUCCESS, Trial
from spec.operators import OPERATORS, REGISTRY
from spec.operators.language.model import Operator

from .cases import all_cases

CASES = all_cases()
SUPPORTED = [operator for operator in OPERATORS if not operator.unsupported]
# Name: layout of inputs, layout of outputs.
LAYOUTS: dict[str, tuple[Rule, Rule]] = {
    "contiguous": (contiguous, contiguous),
    "transposed": (transposed, transposed),
    "mixed": (transposed, contiguous),
}
FIRST = ("BF16", "F32", "I32", "BOOL")  # the first of them that an operator takes
OTHER = ("F32", "F16", "I64", "U8")


def _text(size: int | Sequence[int]) -> str:
    return str(size) if isinstance(size, int) else "x".join(map(str, size))


@dataclass(frozen=True)
class KernelCase:
    operator: str
    dtype: str
    size: str = "usual"
    layout: str = "contiguous"
    seed: int = 0
    symbols: Mapping[str, int | Sequence[int]] = field(default_factory=dict)  # of a large case
    attributes: Mapping[str, int | str | list[int]] = field(default_factory=dict)
    attention: str = ""  # INFINI_CUDA_ATTENTION: the requested kernel

    @property
    def label(self) -> str:
        sizes = ",".join(f"{name}={_text(size)}" for name, size in self.symbols.items())
        seed = f"seed{self.seed}" if self.seed else ""
        words = (self.dtype, self.size, self.layout, seed, sizes, self.attention)
        return "-".join([self.operator, *filter(None, words)])

    @property
    def rules(self) -> tuple[Rule, Rule]:
        return LAYOUTS[self.layout]

    def draw(self) -> Draw:
        rules = CASES.get(self.operator, Rules())
        if self.symbols:
            sizes = {
                name: (size if isinstance(size, int) else tuple(size),)
                for name, size in self.symbols.items()
            }
            rules = replace(rules, large={**(rules.large or {}), **sizes}, largest=1 << 24)
        given = {name: (value,) for name, value in self.attributes.items()}
        rules = replace(rules, attributes={**rules.attributes, **given})
        return Draw(REGISTRY[self.operator], rules, self.dtype, self.size, self.seed)

    def run(self, make: Maker) -> None:
        """Runs once, without checking the results."""
        trial = Trial(make, self.draw(), *self.rules)
        if trial.described.status != SUCCESS:
            raise RuntimeError(f"{trial.described.status}: {make.rt.message()}")
        trial.load(trial.data(1))
        if not trial.operator.host_result:
            trial.run(None)
        else:  # results in host memory, returned by address and size
            pointers = trial.operator.runs[trial.described.run_number].pointers
            given = {p.name: trial.tensors.get(p.tensor) for p in pointers}
            cells = {name: ctypes.c_uint64() for name, placed in given.items() if placed is None}
            addresses = {name: placed.address for name, placed in given.items() if placed}
            addresses |= {name: ctypes.addressof(cell) for name, cell in cells.items()}
            if trial.described.run(addresses, {}, None) != SUCCESS:
                raise RuntimeError(make.rt.message())
        make.rt.DeviceSynchronize()


# Attention kernels that are chosen for long sequences, or requested by name. Plans are cached, so
# no two cases have the same sizes.
DECODE = {"B": 2, "Hkv": 1, "Hq": 2, "Lq": 3, "Lk": 1100, "D": 72}
PREFILL = {"B": 1, "Hkv": 1, "Hq": 3, "Lq": 90, "Lk": 270, "D": 128}
PAGED = {"Hkv": 1, "Hq": 20, "S": 2, "R": 16, "D": 64, "E": 64, "M": 40, "N": 50}
MLA = {"Hkv": 1, "Hq": 20, "S": 2, "R": 16, "D": 576, "E": 512, "M": 40, "N": 20}
WAYS = ("", "rows", "tiles", "groups")
ATTENTION: list[tuple[str, dict[str, int], str]] = [
    *(
        ("flash_attention", {**sizes, "Lk": sizes["Lk"] + more}, way)
        for sizes in (DECODE, PREFILL)
        for more, way in enumerate(WAYS)
    ),
    *(
        ("paged_attention", {**sizes, "M": sizes["M"] + more}, way)
        for sizes in (PAGED, MLA, {**MLA, "Hq": 64})
        for more, way in enumerate(WAYS)
    ),
    ("fp8_indexer_logits", {"T": 2}, "rows"),
    ("fp8_sparse_mla", {"N": 21}, "rows"),
]


def _dtype(operator: Operator, wanted: tuple[str, ...]) -> str:
    main = main_tensor(operator)
    taken = main.dtypes if main else ("F32",)
    return next((dtype for dtype in wanted if dtype in taken), taken[-1])


SPECIAL = [
    *(
        KernelCase(name, _dtype(REGISTRY[name], FIRST), "large", symbols=sizes, attention=way)
        for name, sizes, way in ATTENTION
    ),
    KernelCase("attention", "BF16", "large"),
    KernelCase("attention", "F32", "large"),
    KernelCase("add", "F32", "large", "mixed", symbols={"*S": (70, 90)}),
    KernelCase("rearrange", "F32", "large", "mixed", symbols={"*S": (70, 90)}),
    KernelCase("rearrange", "F32", "large", symbols={"*S": (2049, 2048)}),  # more than 16 MiB
    KernelCase("pixel_shuffle", "F32", layout="mixed", seed=1),
    KernelCase("inner", "F32", "large", "transposed"),
    KernelCase("resample", "F32", attributes={"mode": "cubic"}),
    KernelCase("resample", "F32", attributes={"mode": "linear-antialias"}, seed=2),
    KernelCase("scatter", "F32"),
    # Largest elements by atomic operations, and sums of more updates than one block folds.
    KernelCase("scatter_reduce", "I32", attributes={"reduce": 3, "include_self": 1}),
    KernelCase("scatter_add", "F32", "large"),
    # Lines that are too long for shared memory, and one whose updates several warps fold.
    *(
        KernelCase("scatter", "F32", "large", symbols=sizes, attributes={"reduction": 1})
        for sizes in ({"*S": (90000,), "*U": (600,)}, {"*S": (60,), "*U": (6000,)})
    ),
    KernelCase("argmax", "U32", "large"),
    KernelCase("argmax", "BF16", "large"),
    KernelCase("kthvalue", "F32", "large"),
    KernelCase("sort", "F16", "large", seed=1),
    KernelCase("topk", "F32", "large", symbols={"*S": (3, 40000)}, attributes={"dim": 1, "k": 7}),
    KernelCase(  # depthwise
        "grouped_conv",
        "F16",
        "large",
        symbols={"N": 2, "C": 3, "M": 3, "G": 1, "*X": (9, 16), "*K": (3, 3), "*Y": (9, 16)},
        attributes={
            "n": 2,
            "groups": 3,
            "pads": [1, 1],
            "strides": [1, 1],
            "dilations": [1, 1],
        },
    ),
    KernelCase("prepare_moe_input", "I32", "large"),
    KernelCase("moe_align", "I32", "large", symbols={"T": 5000}),
    KernelCase("gemm", "F32", "large", symbols={"*B": (), "M": 40, "K": 4096, "N": 48}),  # split K
    KernelCase("gemm", "BF16", "large", symbols={"*B": (), "M": 4, "K": 256, "N": 512}),
    KernelCase("gemm", "BF16", "large", "mixed", symbols={"*B": (), "M": 1, "K": 256, "N": 512}),
    *(KernelCase("gptq_marlin_gemm", "F16", seed=seed) for seed in (1, 2, 3)),
    *(KernelCase("awq_marlin_gemm", "F16", seed=seed) for seed in (1, 2, 3)),
    *(
        KernelCase("linear_gguf", "F16", size, seed=seed, attributes={"quantize_input": 1})
        for size, seed in (("usual", 1), ("usual", 2), ("usual", 3), ("large", 0))
    ),
]


def small_cases() -> list[KernelCase]:
    return [KernelCase(operator.name, _dtype(operator, FIRST)) for operator in SUPPORTED]


def more_cases(operator: Operator) -> list[KernelCase]:
    found = [KernelCase(operator.name, _dtype(operator, OTHER), layout="transposed", seed=1)]
    rules = CASES.get(operator.name, Rules())
    if not operator.kernel or rules.large is not None:
        found.append(KernelCase(operator.name, _dtype(operator, FIRST), "large"))
    return [case for case in found if _exists(case)]


def kernel_cases() -> tuple[list[KernelCase], list[KernelCase]]:
    """The small case of each operator, and all others."""
    more = [case for operator in SUPPORTED for case in more_cases(operator)]
    labels = {case.label: case for case in more + SPECIAL}
    return small_cases(), list(labels.values())


def _exists(case: KernelCase) -> bool:
    try:
        case.draw()
    except NoCaseError:
        return False
    return True
