"""The Python face of an operator: parameters, defaults, and where each goes in C."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from functools import cached_property

from ..model import parse_enums
from ..operators import ENUMS, OPERATORS
from ..operators.language.model import Operator, Param, Pointer

# Default values of parameters, by name, or by operator and name. As in torch.
DEFAULTS: dict[str, str] = {
    "algo": '"gpt_neox"',
    "align_corners": "False",
    "alpha": "1.0",
    "axis": "-1",
    "beta": "1.0",
    "delta": "1.0",
    "dilation": "1",
    "dilations": "1",
    "dim": "-1",
    "dim[]": "None",
    "eps": "1e-05",
    "epsilon": "1e-06",
    "exclusive": "False",
    "full": "False",
    "increasing": "False",
    "interleaved": "False",
    "is_causal": "False",
    "keepdim": "False",
    "largest": "True",
    "lerp.weight_scalar": "0.5",
    "margin": "1.0",
    "mode": '"constant"',
    "moe_softcapping": "0.0",
    "norm": "True",
    "p": "2",
    "pad_sorted_token_ids": "True",
    "padding": "0",
    "paddings": "0",
    "pads": "0",
    "pos": "0",
    "reduction": '"mean"',
    "renormalize": "True",
    "reverse": "False",
    "routed_scaling_factor": "1.0",
    "sorted": "True",
    "stride": "1",
    "strides": "1",
    "swap": "False",
    "temperature": "1.0",
    "threshold": "20.0",
    "topp": "1.0",
    "unbiased": "True",
    "update_last_only": "False",
    "use_qk_l2norm": "False",
    "value": "1.0",
    "diff.n": "1",
    "fill.value": "",
    "float_power.scalar_exponent": "1.0",
    "gaussian_nll_loss.eps": "1e-06",
    "gemm.beta": "0.0",
    "hardtanh.max_val": "1.0",
    "hardtanh.min_val": "-1.0",
    "interpolate.mode": '"nearest"',
    "interpolate.scale_factor": "None",
    "interpolate.size": "None",
    "lp_norm.eps": "1e-12",
    "mul_scalar.alpha": "",
    "multi_margin_loss.p": "1",
    "pad.value": "0.0",
    "vander.N": "0",
    "avg_pool1d.stride": "",
    "avg_pool3d.stride": "None",
    "scatter.reduction": "0",
    "triplet_margin_loss.eps": "1e-06",
}

# Declarations may specify them, too.
DEFAULTS |= {
    f"{op.name}.{name}": default
    for op in OPERATORS
    for name, default in op.options.get("defaults", {}).items()
}

# Results without a descriptor: element type and shape.
RESULTS: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    name: {"values": ("F32", ("N", "topk")), "indices": ("I32", ("N", "topk"))}
    for name in ("topkrouter", "topksoftmax")
}

# Results that the run function allocates: element type ("=x": that of tensor x), shape (the count
# that it reports, the rank of its first tensor), and whose memory it is. The host's comes from
# new[]; the device's from malloc where the device is the CPU.
FOUND: dict[str, tuple[str, tuple[str, ...], str]] = {
    "argwhere": ("I64", ("count", "rank"), "host"),
    "masked_select": ("=input", ("count",), "device"),
}

# Tensors that a product is added to unless a factor is 0: in Python they are results, with that
# factor.
ADDED_TO: dict[str, tuple[str, str]] = {"gemm": ("c", "beta")}

INTEGERS = {"int": "j", "char": "i", "bool": "i", "int64_t": "i", "ptrdiff_t": "i"}
LISTS = {"int": "I", "float": "F", "double": "D"}


def enum_words() -> dict[str, dict[str, int]]:
    """Names of the enumerators: {"infiniopReduction_t": {"none": 0, "mean": 1, "sum": 2}, ...}."""
    made = {}
    for enum in parse_enums(ENUMS):
        names = [value.name for value in enum.values]
        same = next(n for n in range(99) if len({name[: n + 1] for name in names}) > 1)
        prefix = names[0][: names[0].rindex("_", 0, same) + 1]
        words = {value.name.removeprefix(prefix).lower(): value.value for value in enum.values}
        made[enum.name] = {word: value for word, value in words.items() if word != "count"}
    return made


WORDS = enum_words()


def letter(param: Param) -> str:
    """The code of its conversion in the extension module; see csrc/core/rows.h."""
    if param.kind == "text":
        return "s"
    if param.kind == "number":
        return "f"
    if param.length:
        return LISTS.get(param.element, "L")
    base = param.type.removeprefix("const ").strip()
    return INTEGERS.get(base, "j" if base in WORDS else "u")


def layouts(operator: Operator) -> str:
    """A letter for each tensor: d dense, 1 the last stride is 1, . any strides."""
    letters = {"any": ".", "dense": "d", "inner1": "1"}
    return "".join(letters[tensor.layout] for tensor in operator.tensors)


def is_result(pointer: Pointer) -> bool:
    """A location in host memory that the run function writes."""
    return not pointer.tensor and pointer.type in ("void **", "size_t *")


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@dataclass(frozen=True)
class Slot:
    """An input or output of the Python function."""

    name: str
    place: int  # index among the tensors; after them, number of tensors + index among the pointers
    optional: bool
    array: bool


@dataclass(frozen=True)
class Keyword:
    name: str
    annotation: str
    default: str  # Python text; "" if it is required


class Face:
    """The Python function for one run function of an operator."""

    def __init__(self, operator: Operator, number: int = 0):
        self.operator, self.number = operator, number
        self.run = operator.runs[number]
        self.name = operator.name
        if number:
            more = self.run.name.removeprefix(f"infiniop{operator.c_name}")
            self.name = f"{operator.name}_{snake(more)}"

    @cached_property
    def inputs(self) -> tuple[Slot, ...]:
        """The required ones in the declared order, then the optional ones."""
        slots = [
            Slot(_safe(t.name), i, t.optional, bool(t.array))
            for i, t in enumerate(self.operator.tensors)
            if t.read and not self.is_added_to(t.name)
        ]
        slots += self._bare(read=True)
        return tuple(sorted(slots, key=lambda slot: slot.optional))

    @cached_property
    def outputs(self) -> tuple[Slot, ...]:
        slots = [
            Slot(t.name, i, t.optional, bool(t.array))
            for i, t in enumerate(self.operator.tensors)
            if t.role == "out" or self.is_added_to(t.name)
        ]
        return tuple(slots + self._bare(read=False))

    def is_added_to(self, name: str) -> bool:
        return ADDED_TO.get(self.operator.name, ("", ""))[0] == name

    def _bare(self, read: bool) -> list[Slot]:
        """Pointers without a descriptor."""
        first = len(self.operator.tensors)
        return [
            Slot(_safe(p.name), first + i, p.optional, bool(p.array))
            for i, p in enumerate(self.run.pointers)
            if not p.tensor and not is_result(p) and p.type.startswith("const") == read
        ]

    @cached_property
    def derived(self) -> dict[str, tuple[tuple[str, ...], int]]:
        """Parameters with the length of lists or arrays -> these, and the bytes of an entry if the
        length is in bytes."""
        found: dict[str, tuple[tuple[str, ...], int]] = {}

        def note(length: str, name: str) -> None:
            if match := re.fullmatch(r"([A-Za-z_]\w*)(?:\s*/\s*(\d+))?", length):
                names, _ = found.get(match[1], ((), 1))
                if name not in names:
                    found[match[1]] = ((*names, name), int(match[2] or 1))

        for param in (*self.operator.attributes, *self.scalars):
            note(param.length, param.name)
        for tensor in self.operator.tensors:
            note(tensor.array, _safe(tensor.name))
        for pointer in self.run.pointers:
            if not pointer.tensor:
                note(pointer.array, _safe(pointer.name))
        return found

    @cached_property
    def scalars(self) -> tuple[Param, ...]:
        """Those of the run function that are not attributes."""
        attributes = {param.name for param in self.operator.attributes}
        return tuple(param for param in self.run.scalars if param.name not in attributes)

    @cached_property
    def keywords(self) -> tuple[Keyword, ...]:
        counted = self.operator.options.get("run_counts", {})
        params = [
            param
            for param in (*self.operator.attributes, *self.scalars)
            if param.name not in self.derived and param.name not in counted
        ]
        made = [Keyword(_safe(p.name), self._annotation(p), self._default(p)) for p in params]
        return tuple(sorted(made, key=lambda keyword: bool(keyword.default)))

    def _default(self, param: Param) -> str:
        names = [f"{self.operator.name}.{param.name}", param.name]
        if param.length:
            names.insert(1, f"{param.name}[]")
        return next((DEFAULTS[name] for name in names if name in DEFAULTS), "")

    def _annotation(self, param: Param) -> str:
        none = " | None" if self._default(param) == "None" else ""
        if param.length:
            item = "float" if param.kind == "numbers" else "int"
            return f"{item} | Sequence[{item}]{none}"
        if self.words(param):
            return "int | str"
        kinds = {"text": "str", "number": "float"}
        return kinds.get(param.kind, "bool" if "bool" in param.type else "int")

    def words(self, param: Param) -> dict[str, int]:
        if param.name == "reduction" and self.operator.family == "loss":
            return WORDS["infiniopReduction_t"]
        return WORDS.get(param.type, {})

    @property
    def parameters(self) -> list[tuple[str, str, str]]:
        """Name, annotation and default of all parameters; `*` before the keywords."""
        made = []
        for slot in self.inputs:
            annotation = "Sequence[Tensor]" if slot.array else "Tensor"
            if slot.optional:
                annotation += " | None"
            made.append((slot.name, annotation, "None" if slot.optional else ""))
        made.append(("*", "", ""))
        made += [(k.name, k.annotation, k.default) for k in self.keywords]
        if self.outputs:
            one, several = "Tensor | None", "Sequence[Tensor | None] | None"
            made.append(("out", one if len(self.outputs) == 1 else several, "None"))
        made.append(("stream", "Stream | int | None", "None"))
        return made

    @property
    def returns(self) -> str:
        modified = [t for t in self.operator.tensors if t.role == "inout"]
        count = len([s for s in self.outputs if not s.optional]) or len(modified)
        return "Any" if count == 1 or self.operator.name in FOUND else "tuple[Any, ...]"


def _safe(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def all_faces() -> list[Face]:
    return [Face(op, number) for op in OPERATORS for number in range(len(op.runs))]
