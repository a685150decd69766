"""C++ that calls every function of infinicore::op with its declared types, derived from spec/cpp.

The library that it makes is loaded here: `Caller` calls a function with tensors in our memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kit import build
from kit.binding import root
from spec.cpp import HEADERS, Argument, Function, Header
from spec.operators.language.model import DTYPES

MOST_DIMENSIONS = 8

HEAD = """\
#include <infinicore.hpp>

#include <cstring>

using namespace infinicore;

struct Arg {
    void *data;
    int dtype, rank;
    long shape[8], strides[8];
    double number;
    const char *text;
    long count;  // of a list
    const double *numbers;
    const Arg *items;
};

static Tensor as_tensor(const Arg &arg) {
    if (!arg.data) return {};
    return Tensor::strided_from_blob(arg.data, Shape(arg.shape, arg.shape + arg.rank),
                                     Strides(arg.strides, arg.strides + arg.rank),
                                     DataType(arg.dtype), context::getDevice());
}

static std::optional<Tensor> as_optional(const Arg &arg) {
    if (!arg.data) return std::nullopt;
    return as_tensor(arg);
}

static std::vector<Tensor> as_tensors(const Arg &arg) {
    std::vector<Tensor> made;
    for (long i = 0; i < arg.count; ++i) made.push_back(as_tensor(arg.items[i]));
    return made;
}

template <class T>
static std::vector<T> as_list(const Arg &arg) {
    std::vector<T> made;
    for (long i = 0; i < arg.count; ++i) made.push_back(T(arg.numbers[i]));
    return made;
}

template <class T>
static T as_number(const Arg &arg) {
    return T(arg.number);
}
template <>
infinicclComm_t as_number(const Arg &arg) {
    return static_cast<infinicclComm_t>(arg.data);
}

static void take(const Tensor &made, const Arg &arg) {
    Tensor target = as_tensor(arg);
    if (made->shape() != target->shape() || made->dtype() != target->dtype())
        throw std::runtime_error("the result is " + made->info() + ": expected " + target->info());
    target->copy_from(made);
}
"""

TAIL = """
extern "C" const char *call_function(int number, int recorded, const Arg *args,
                                     const Arg *results) {
    static thread_local std::string failure;
    try {
        if (!recorded) {
            call(number, args, results);
            context::syncStream();
            return nullptr;
        }
        context::startGraphRecording();
        try {
            call(number, args, results);
        } catch (...) {
            context::cancelGraphRecording();
            throw;
        }
        auto graph = context::stopGraphRecording();
        graph->run();
        context::syncStream();
        return nullptr;
    } catch (const std::exception &error) {
        failure = error.what();
        return failure.c_str();
    }
}
"""

READERS = {
    "Tensor": "as_tensor",
    "std::optional<Tensor>": "as_optional",
    "std::vector<Tensor>": "as_tensors",
    "std::string": "std::string",
}


class Arg(ctypes.Structure):
    pass


Arg._fields_ = [
    ("data", ctypes.c_void_p),
    ("dtype", ctypes.c_int),
    ("rank", ctypes.c_int),
    ("shape", ctypes.c_long * MOST_DIMENSIONS),
    ("strides", ctypes.c_long * MOST_DIMENSIONS),
    ("number", ctypes.c_double),
    ("text", ctypes.c_char_p),
    ("count", ctypes.c_long),
    ("numbers", ctypes.POINTER(ctypes.c_double)),
    ("items", ctypes.POINTER(Arg)),
]


@dataclass(frozen=True)
class Entry:
    """A function and its index."""

    number: int
    header: Header
    function: Function


FUNCTIONS = [
    Entry(number, header, function)
    for number, (header, function) in enumerate(
        (header, function) for header in HEADERS for function in header.functions
    )
]


def source() -> str:
    cases = "".join(map(_case, FUNCTIONS))
    signature = "static void call(int number, const Arg *args, const Arg *results)"
    body = f"    (void)results;\n    switch (number) {{\n{cases}    }}\n"
    return f"{HEAD}\n{signature} {{\n{body}}}\n{TAIL}"


def _case(entry: Entry) -> str:
    function = entry.function
    locals_ = "".join(
        f"        {_local_type(argument)} {argument.name} = {_read(argument, i)};\n"
        for i, argument in enumerate(function.arguments)
    )
    names = ", ".join(argument.name for argument in function.arguments)
    call = f"{entry.header.namespace}::{function.full_name}({names})"
    if function.result == "Tensor":
        call = f"take({call}, results[0])"
    elif function.returned:
        takes = "".join(
            f"        take(std::get<{i}>(made), results[{i}])"
            + (";\n" if i + 1 < function.returned else "")
            for i in range(function.returned)
        )
        call = f"auto made = {call};\n{takes}"
    body = f"{locals_}        {call};\n        break;\n"
    return f"    case {entry.number}: {{\n{body}    }}\n"


def _local_type(argument: Argument) -> str:
    return (
        "auto"
        if argument.plain.endswith("*")
        else argument.plain.replace("FusedMoe", "op::FusedMoe")
    )


def _read(argument: Argument, number: int) -> str:
    plain, arg = argument.plain, f"args[{number}]"
    if plain in READERS:
        return f"{READERS[plain]}({arg}{'.text' if plain == 'std::string' else ''})"
    if plain == "Shape":
        return f"as_list<Size>({arg})"
    if plain == "Device":
        return "context::getDevice()"
    if plain.startswith("std::vector<"):
        return f"as_list<{plain[12:-1]}>({arg})"
    if plain.endswith("*"):
        return f"static_cast<{argument.type}>({arg}.data)"
    if plain in ("infinicclReduceOp_t", "DataType") or "::" in plain or plain[0].isupper():
        return f"{_local_type(argument)}(int({arg}.number))"
    return f"as_number<{plain}>({arg})"


class Caller:
    def __init__(self, folder: Path) -> None:
        text = folder / "calls.cc"
        text.write_text(source())
        library = folder / "libcalls.so"
        linked = [f"-L{root() / 'lib'}", "-linfinicore_cpp_api", "-linfiniop", "-linfiniccl"]
        options = ["-std=c++17", "-O0", "-shared", "-fPIC", *build.WARNINGS]
        build.compile_(
            [
                build.CXX,
                *options,
                f"-I{root() / 'include'}",
                str(text),
                *linked,
                "-linfinirt",
                f"-Wl,-rpath,{root() / 'lib'},--no-undefined",
                "-o",
                str(library),
            ]
        )
        self._call = ctypes.CDLL(str(library)).call_function
        self._call.restype = ctypes.c_char_p
        self._call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def __call__(
        self, entry: Entry, arguments: Sequence[Any], results: Sequence[Any], recorded: bool
    ) -> None:
        """Arguments are results of `tensor`, numbers, strings, None, or lists of them."""
        kept: list[Any] = []
        given = (Arg * max(len(arguments), 1))(*(as_arg(each, kept) for each in arguments))
        made = (Arg * max(len(results), 1))(*(as_arg(each, kept) for each in results))
        failure = self._call(entry.number, recorded, given, made)
        if failure is not None:
            raise RuntimeError(failure.decode())


def tensor(address: int, dtype: str, shape: Sequence[int], strides: Sequence[int]) -> Arg:
    """Strides are in elements."""
    made = Arg(data=address, dtype=DTYPES.index(dtype), rank=len(shape))
    made.shape[: len(shape)] = list(shape)
    made.strides[: len(shape)] = list(strides)
    return made


def as_arg(value: Any, kept: list[Any]) -> Arg:
    if isinstance(value, Arg):
        return value
    if value is None:
        return Arg()
    if isinstance(value, str):
        kept.append(value.encode())
        return Arg(text=kept[-1])
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) and isinstance(value[0], Arg):
            kept.append((Arg * len(value))(*value))
            return Arg(count=len(value), items=kept[-1])
        kept.append((ctypes.c_double * max(len(value), 1))(*map(float, value)))
        return Arg(count=len(value), numbers=kept[-1])
    return Arg(number=float(value))
