"""torch's operator database, limited to functions that infinicore has.

Needs torch: imported only by the worker process."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

import infinicore

DTYPES = ("float32", "bfloat16", "float16", "int64", "bool", "complex64")
SEED = 7  # of the samples' values


@dataclass(frozen=True)
class Call:
    """One call: of torch with its tensors, or of infinicore with those converted by `to_ours`."""

    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Operator:
    """An entry of the database, as a function or as the in-place method."""

    name: str  # as the table prints it
    info: Any  # torch's OpInfo
    theirs: Callable[..., Any]
    ours: Callable[..., Any]

    def dtypes(self) -> list[str]:
        supported = self.info.supported_dtypes("cpu")
        return [name for name in DTYPES if getattr(torch, name) in supported]

    def samples(self, dtype: str) -> Iterator[tuple[Call, Callable[[Any], Any]]]:
        """Calls, each with a function that extracts the deterministic part of a result."""
        torch.manual_seed(SEED)
        for sample in self.info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False):
            if not (self.name.endswith("_") and sample.broadcasts_input):
                yield _call(sample), sample.output_process_fn_grad

    def error_samples(self) -> Iterator[Call]:
        if self.info.error_inputs_func is None:
            return
        torch.manual_seed(SEED)
        for error in self.info.error_inputs("cpu"):
            yield _call(error.sample_input)


def _call(sample: Any) -> Call:
    return Call(sample.input, tuple(sample.args), dict(sample.kwargs))


# ---- Functions of ours --------------------------------------------------------------------------


def without_seed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _find(name: str) -> Any:
    try:
        found = attrgetter(name)(infinicore)
    except AttributeError:
        return None
    return None if isinstance(found, infinicore.dtype) else found


def _ours(info: Any) -> Any:
    """Our function of this name; for a lambda of the database that calls methods, the same lambda
    with our modules."""
    if isinstance(info.op, types.LambdaType) and info.op.__name__ == "<lambda>":
        method = info.name.removesuffix("_")
        known = (info.name, f"{info.name}_", method)
        if not (_find(info.name) or any(hasattr(infinicore.Tensor, each) for each in known)):
            return None
        names = {"torch": _Functions(), "wrapper_set_seed": without_seed}
        code, scope = info.op.__code__, {**info.op.__globals__, **names}
        return types.FunctionType(code, scope, info.name, info.op.__defaults__, info.op.__closure__)
    return _find(info.name) or getattr(infinicore.Tensor, info.name, None)


class _Functions:
    """infinicore, with methods as functions: torch has both forms."""

    def __getattr__(self, name: str) -> Any:
        return getattr(infinicore, name, None) or getattr(infinicore.Tensor, name)


@cache
def operators() -> dict[str, Operator]:
    found: dict[str, Operator] = {}
    for info in op_db:
        ours = _ours(info)
        if ours is None:
            continue
        label = f"{info.name}-{info.variant_test_name}" if info.variant_test_name else info.name
        found[label] = Operator(label, info, info.op, ours)
        in_place = info.inplace_variant
        if in_place is not None and not info.variant_test_name:
            name = getattr(in_place, "__name__", "")
            if name.endswith("_") and (method := getattr(infinicore.Tensor, name, None)):
                found.setdefault(name, Operator(name, info, in_place, method))
    return found


# ---- Arguments ----------------------------------------------------------------------------------


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """The same structure, with every leaf changed."""
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        made = [mapped(change, each) for each in value]
        return tuple(made) if isinstance(value, tuple) else made
    if isinstance(value, dict):
        return {key: mapped(change, each) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(change(value.start), change(value.stop), change(value.step))
    return change(value)


def change_call(change: Callable[[Any], Any], call: Call) -> Call:
    return Call(*(mapped(change, part) for part in (call.input, call.args, call.kwargs)))


def twin(value: Any) -> Any:
    """A tensor of the same strides in memory of its own."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().resolve_conj().resolve_neg()
    memory = value.untyped_storage().clone()
    place = value.storage_offset(), value.size(), value.stride()
    return torch.empty(0, dtype=value.dtype, device=value.device).set_(memory, *place)


def wide(value: Any) -> Any:
    """The argument for a reference result in double precision."""
    if isinstance(value, torch.dtype):
        return {torch.complex64: torch.complex128}.get(
            value, torch.float64 if value.is_floating_point else value
        )
    if not isinstance(value, torch.Tensor):
        return value
    return twin(value).to(wide(value.dtype))


def our_call(call: Call) -> Call:
    """The call with our tensors. infinicore has no gradients and one layout: arguments of torch
    that only request these are dropped."""
    made = change_call(to_ours, call)
    for name, value in (("requires_grad", False), ("layout", torch.strided)):
        if name in made.kwargs and made.kwargs[name] in (None, value):
            del made.kwargs[name]
    return made


def to_ours(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.storage_offset():
        whole = torch.empty(0, dtype=value.dtype, device=value.device)
        whole.set_(value.untyped_storage())
        layout = tuple(value.shape), value.stride(), value.storage_offset()
        return infinicore.from_torch(whole).as_strided(*layout)
    if isinstance(value, torch.Tensor):
        return infinicore.from_torch(value)
    if isinstance(value, torch.nn.Module):  # a function of tensors, as an argument
        return lambda *args: to_ours(value(*map(to_theirs, args)))
    if isinstance(value, (torch.dtype, torch.memory_format)):
        return getattr(infinicore, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return infinicore.device(str(value))
    if isinstance(value, torch.Size):
        return tuple(value)
    return value


def to_theirs(value: Any) -> Any:
    if isinstance(value, infinicore.Tensor):
        return torch.from_dlpack(value)
    if isinstance(value, infinicore.dtype):
        return getattr(torch, repr(value).rpartition(".")[2])
    return value


def text(call: Call) -> str:
    def leaf(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            shape = "x".join(map(str, value.shape))
            return f"{str(value.dtype).removeprefix('torch.')}[{shape}]"
        return repr(value).removeprefix("torch.")

    def show(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(show, value))}]"
        if isinstance(value, dict):
            return ", ".join(f"{key}={show(each)}" for key, each in value.items())
        return leaf(value)

    parts = [show(call.input), *map(show, call.args), show(call.kwargs)]
    return ", ".join(filter(None, parts))
