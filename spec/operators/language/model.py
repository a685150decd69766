"""What an operator declaration says, and the decorator that makes one.

    @operator(
        "RMSNorm(!y_desc, x_desc, w_desc, float epsilon)",
        '''
        out y  F+  [*B, D]  inner1
        x      =y  [*B, D]  inner1
        w      F+  [D]      dense
        ''',
        where="D > 0",
    )
    def rms_norm(x, w, *, epsilon):
        ...

The first string is the C face: the name, then the parameters of the create function behind the
handle and the descriptor. A bare name is a tensor descriptor; `!` says that the run function takes
its data as `void *` rather than `const void *`. Any other parameter has its C type; `size_t
*dim[dim_size]` is an array of that length (`void *pads[n:size_t]` when the type does not say what
it holds), and a length behind a bare name (`x[num_inputs]`) makes an array of tensors. The run
function takes the data of the same tensors under the same names without `_desc`, unless `-> (...)`
lists its parameters: bare names are data pointers, `=y` behind one names the tensor it belongs to
when the names differ, and `=-` says that it has no descriptor (`=-?`: and may be null). Scalars of
the run function that repeat an attribute must equal it.

The second string has one line for each tensor, in the order of the create function: `[out|inout]
name[?] dtypes shape [layout]`. `?`: may be absent. Dtypes are joined by `|`, `=y` is the dtype of
tensor y, `+x` that of sums of x: its own for floats, I64 for integers and BOOL. A shape lists
sizes: a symbol is bound by its first use and must agree after that, `*B` stands for any number of
sizes, anything else is an expression over symbols and attributes that must come out equal. `~B` is
a list of sizes that broadcasts to `*B`, `[*S, -dim]` is `*S` without the dimensions that the
attribute `dim` lists (or with size 1 there), `[*S, /reduction]` is one element unless the attribute
is 0. ` or ` joins alternatives of different rank. Layout: `inner1` (last stride 1), `dense`
(row-major without gaps), else any strides.

`where` adds conditions, separated by `;`, over symbols and attributes (`extent(S, dim)`: the
product of the sizes that `dim` lists). A failed condition is a bad attribute (status 3) when it
names an attribute, else a bad shape (status 11). `run_where` has conditions over symbols,
attributes and scalars of the run function, checked at each run.

The definition takes the tensors that are read, under their names here, in float64 (integers as they
are; None for absent ones), and all attributes and scalars of the run function as keywords. It
returns what is written, in order. It may ask for `shapes`, a dict from tensor names to shapes, or
`dtypes`; a program takes these as they are when it runs (`full`, `converted` of expression.py).
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .public import Public, parse_public

_NAMES = "INVALID BYTE BOOL I8 I16 I32 I64 U8 U16 U32 U64 F8 F16 F32 F64 C16 C32 C64 C128 BF16"
DTYPES = tuple(_NAMES.split())
CLASSES = {
    "H16": "F16 BF16",
    "F": "F16 BF16 F32",
    "F+": "F16 BF16 F32 F64",
    "IDX": "I32 I64",
    "I*": "I8 I16 I32 I64 U8 U16 U32 U64",
    "ANY": "BYTE BOOL I8 I16 I32 I64 U8 U16 U32 U64 F8 F16 F32 F64 BF16 C16 C32 C64 C128",
    "PLAIN": "BYTE BOOL I8 I16 I32 I64 U8 U16 U32 U64 F8 F16 F32 F64 BF16",
}


class DeclarationError(ValueError):
    """A declaration that cannot be parsed."""


@dataclass(frozen=True)
class Tensor:
    name: str
    c_name: str  # of the create function's parameter
    role: str  # "in", "out" or "inout"
    optional: bool
    dtypes: tuple[str, ...]  # allowed ones; empty when `same_as` says it
    same_as: str
    sum_of: str  # the tensor whose sums have its dtype
    shapes: tuple[tuple[str, ...], ...]  # alternatives; each a tuple of sizes
    layout: str  # "any", "inner1", "dense"
    array: str  # length parameter when the create function takes an array of descriptors

    @property
    def written(self) -> bool:
        return self.role != "in"

    @property
    def read(self) -> bool:
        return self.role != "out"


@dataclass(frozen=True)
class Param:
    """A parameter that is no tensor, or a data pointer of a run function."""

    name: str
    type: str  # C, without the name; "" for data pointers given by tensor
    length: str = ""  # expression for the number of entries, for arrays
    element: str = ""  # type of an entry, for arrays

    @property
    def kind(self) -> str:
        """How it is passed on: "integer", "number", "list", "numbers", "text"."""
        if self.length:
            return "numbers" if self.element in ("float", "double") else "list"
        base = self.type.replace("const", "").replace(" ", "")
        if base == "char*":
            return "text"
        return "number" if base in ("float", "double") else "integer"


@dataclass(frozen=True)
class Pointer:
    """A data pointer of a run function."""

    name: str
    type: str  # in C
    tensor: str = ""  # name of the tensor it belongs to; "" when it has no descriptor
    array: str = ""  # number of entries, for arrays of pointers
    optional: bool = False  # without a descriptor, and may be null


@dataclass(frozen=True)
class Run:
    name: str  # of the C function
    params: tuple[Pointer | Param, ...]

    @property
    def pointers(self) -> tuple[Pointer, ...]:
        return tuple(p for p in self.params if isinstance(p, Pointer))

    @property
    def scalars(self) -> tuple[Param, ...]:
        return tuple(p for p in self.params if isinstance(p, Param))


@dataclass(frozen=True)
class Operator:
    name: str
    c_name: str
    header: str  # below infiniop/ops/, without .h
    create: tuple[Tensor | Param, ...]
    runs: tuple[Run, ...]
    create_names: tuple[str, ...]  # of the C functions; the second one for variants
    where: tuple[str, ...]
    run_where: tuple[str, ...]
    definition: Callable[..., Any]
    doc: str
    workspace: bool  # has a workspace function
    host_result: bool  # writes results to host memory: runs in step with the caller
    kernel: bool  # the definition is a reference only: back ends bring a kernel, or it is lowered
    serving: str  # the name of that kernel: the operator's, or one that several operators share
    lowered: bool  # to a sequence of other operators, in csrc/operators
    unsupported: str  # reason, for operators of one vendor only
    umbrella: bool  # included by infiniop.h
    family: str  # the folder of its declaration
    module: str  # the file there
    public: tuple[Public, ...] = ()  # functions of the package that run it
    in_place: dict[str, str] = field(default_factory=dict)  # output -> input it may lie over
    rounds: bool = False  # a result is rounded to its dtype on purpose
    copies: bool = False  # its kernel does what the program of one copy does
    takes_epilogue: bool = False  # a map may follow its kernel, see InfiniOperation
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def random(self) -> bool:
        """Whether each run draws new numbers from the default generator."""
        return [scalar.name for scalar in self.run.scalars[:2]] == ["seed", "offset"]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(p for p in self.create if isinstance(p, Tensor))

    @property
    def attributes(self) -> tuple[Param, ...]:
        return tuple(p for p in self.create if isinstance(p, Param))

    @property
    def run(self) -> Run:
        return self.runs[0]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.tensors if t.written)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.tensors if t.read)


REGISTRY: dict[str, Operator] = {}


def operator(
    c: str,
    tensors: str,
    *,
    where: str = "",
    run_where: str = "",
    header: str = "",
    workspace: bool = True,
    host_result: bool = False,
    kernel: bool | str = False,
    serving: str = "",
    lowered: bool = False,
    unsupported: str = "",
    umbrella: bool = True,
    variants: tuple[str, ...] = (),
    in_place: dict[str, str] | None = None,
    rounds: bool = False,
    copies: bool = False,
    takes_epilogue: bool = False,
    public: str = "",
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator; see the module's docstring. `variants`: further create or run
    functions, each `Name(...)` in full. `kernel`: back ends bring a kernel for it, under its name
    or under one that several operators share, which then asks for the operator. `serving`: the same
    for an operator with a program, which runs where that kernel does not take it. `lowered`: a
    function of csrc/operators makes it a sequence of other operators. `in_place`: outputs that may
    lie where an input does -> that input; elementwise operators may write over any input of their
    shape and dtype. `public`: functions with torch's arguments, see public.py. Options: `defaults`,
    attributes that may be left out in Python -> what they are then; `sizes`, symbols that the
    inputs do not tell -> expressions; both in Python. `wide`: programs compute floats in F64.
    `complex_as`, what becomes of complex operands: "form", an operator `complex_<name>` is made of
    the definition; "linear", the same, but contiguous tensors are given as twice as many real
    numbers; "parts", each part by itself; "product", four products of parts; "truths",
    whether they are 0."""

    def declare(definition: Callable[..., Any]) -> Callable[..., Any]:
        name = definition.__name__.rstrip("_")
        create, run, c_name = _parse_c(c, tensors)
        runs = [Run(f"infiniop{c_name}", run)]
        creates = [f"infiniopCreate{c_name}Descriptor"]
        for variant in variants:
            variant_name, _, rest = variant.partition("(")
            if variant_name.startswith("Create"):
                creates.append(f"infiniop{variant_name}")
            else:
                runs.append(Run(f"infiniop{variant_name}", _parse_run(rest.rstrip(")"), create)))
        if name in REGISTRY:
            raise DeclarationError(f"operator {name} is declared twice")
        REGISTRY[name] = Operator(
            name=name,
            c_name=c_name,
            header=header or name,
            create=create,
            runs=tuple(runs),
            create_names=tuple(creates),
            where=_conditions(where),
            run_where=_conditions(run_where),
            definition=definition,
            doc=inspect.cleandoc(definition.__doc__ or ""),
            workspace=workspace,
            host_result=host_result,
            kernel=bool(kernel) or lowered,
            serving=serving or (kernel if isinstance(kernel, str) else name),
            lowered=lowered,
            unsupported=unsupported,
            umbrella=umbrella,
            family=definition.__module__.split(".")[-2],
            module=definition.__module__.split(".")[-1],
            public=parse_public(public),
            in_place=in_place or {},
            rounds=rounds,
            copies=copies,
            takes_epilogue=takes_epilogue,
            options=options,
        )
        return definition

    return declare


def _conditions(text: str) -> tuple[str, ...]:
    return tuple(condition.strip() for condition in text.split(";") if condition.strip())


def _split(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _parse_param(text: str) -> Param:
    match = re.fullmatch(r"(.+?[ *])(\w+)(?:\[([^:]*)(?::(\w+))?\])?", text)
    if not match:
        raise DeclarationError(f"not a parameter: {text!r}")
    name, c_type, length = match[2], match[1].strip(), match[3] or ""
    if c_type.endswith("*") and not length and "char" not in c_type:
        raise DeclarationError(f"an array without a length: {text!r}")
    element = match[4] or (c_type.replace("const", "").strip(" *") if length else "")
    return Param(name, c_type, length, element)


def _parse_c(
    c: str, tensors: str
) -> tuple[tuple[Tensor | Param, ...], tuple[Pointer | Param, ...], str]:
    match = re.fullmatch(r"(\w+)\((.*?)\)(?:\s*->\s*\((.*)\))?", " ".join(c.split()))
    if not match:
        raise DeclarationError(f"not a C face: {c!r}")
    lines = [line.split("#")[0] for line in tensors.strip().splitlines()]
    described = iter([line for line in lines if line.strip()])
    create: list[Tensor | Param] = []
    run: list[Pointer | Param] = []
    for text in _split(match[2]):
        bare = re.fullmatch(r"(!?)(\w+)(?:\[(\w+)\])?", text)
        if not bare:
            create.append(_parse_param(text))
            continue
        line = next(described, None)
        if line is None:
            raise DeclarationError(f"{match[1]}: no line for tensor {text}")
        tensor = _parse_tensor(line, bare[2], bare[3] or "")
        create.append(tensor)
        pointer_name = bare[2].removesuffix("_desc")
        run.append(Pointer(pointer_name, _pointer(bare[1]), tensor.name, tensor.array))
    if extra := next(described, None):
        raise DeclarationError(f"{match[1]}: a line for no tensor: {extra!r}")
    if match[3] is not None:
        explicit = _parse_run(match[3], tuple(create))
        return tuple(create), explicit, match[1]
    return tuple(create), tuple(run), match[1]


def _pointer(written: str) -> str:
    return "void *" if written else "const void *"


def _parse_run(text: str, create: tuple[Tensor | Param, ...]) -> tuple[Pointer | Param, ...]:
    by_name: dict[str, Tensor] = {}
    for tensor in create:
        if isinstance(tensor, Tensor):
            by_name[tensor.c_name.removesuffix("_desc")] = tensor
            by_name.setdefault(tensor.name, tensor)
    run: list[Pointer | Param] = []
    for part in _split(text):
        match = re.fullmatch(r"(!?)(?:(\S.*[ *]))?(\w+)(?:\[(\w+)\])?(?:=([\w-]+)(\?)?)?", part)
        if not match or (match[2] and not match[5]):
            run.append(_parse_param(part))
            continue
        written, c_type, name, array, tensor_name, optional = match.groups()
        key = tensor_name or name
        if key != "-" and key not in by_name:
            raise DeclarationError(f"no tensor for the pointer {part!r}")
        found = "" if key == "-" else by_name[key].name
        c_type = (c_type or _pointer(written)).strip()
        run.append(Pointer(name, c_type, found, array or "", bool(optional)))
    return tuple(run)


def _parse_tensor(line: str, c_name: str, array: str) -> Tensor:
    match = re.fullmatch(
        r"\s*(?:(out|inout)\s+)?(\w+)(\?)?\s+(\S+)\s+(\[.*\])(?:\s+(inner1|dense|any))?\s*", line
    )
    if not match:
        raise DeclarationError(f"not a tensor: {line!r}")
    role, name, optional, dtypes, shape, layout = match.groups()
    same_as = dtypes[1:] if dtypes.startswith("=") else ""
    sum_of = dtypes[1:] if dtypes.startswith("+") else ""
    dtypes = "F+|I64" if sum_of else dtypes
    allowed: list[str] = []
    for word in [] if same_as else dtypes.split("|"):
        allowed += CLASSES.get(word, word).split()
    if unknown := set(allowed) - set(DTYPES):
        raise DeclarationError(f"{name}: unknown dtypes {sorted(unknown)}")
    shapes = tuple(tuple(_split(alternative.strip()[1:-1])) for alternative in shape.split(" or "))
    return Tensor(
        name=name,
        c_name=c_name,
        role=role or "in",
        optional=bool(optional),
        dtypes=tuple(allowed),
        same_as=same_as,
        sum_of=sum_of,
        shapes=shapes,
        layout=layout or "any",
        array=array,
    )


def symbols(expression: str) -> set[str]:
    """The names used in an expression."""
    return {n.id for n in ast.walk(ast.parse(expression, mode="eval")) if isinstance(n, ast.Name)}
