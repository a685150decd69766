"""The base class of modules: parameters, buffers and submodules by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import infinicore
from infinicore import _changes
from infinicore._tensor import Tensor
from infinicore.nn._registry import Handle, Registry
from infinicore.nn._state import owners_of, set_slots, slot_values, tensor_from
from infinicore.nn.parameter import Buffer, Parameter

__all__ = ["IncompatibleKeys", "Module"]

Self = TypeVar("Self", bound="Module")

_EXTRA = "_extra_state"
_REGISTRIES = ("_parameters", "_buffers", "_modules")
_WATCHED = (Tensor, list, tuple, dict)  # may hold tensors that recorded graphs depend on


class IncompatibleKeys(NamedTuple):
    """The keys that `load_state_dict` did not find, and those that it did not use."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module:
    """Base class of all modules. Parameters, buffers and submodules are registered by assignment:

    >>> class Gate(infinicore.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.project = infinicore.nn.Linear(4, 2)
    ...     def forward(self, x):
    ...         return infinicore.nn.functional.silu(self.project(x))
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        infinicore._load_once()
        for name in _REGISTRIES:
            object.__setattr__(self, name, Registry(self.__dict__))
        for name in ("_hooks", "_pre_hooks"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_fleeting", set())
        object.__setattr__(self, "training", False)

    def forward(self, *input: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward method")

    def __call__(self, *input: Any, **kwargs: Any) -> Any:
        attributes = self.__dict__
        hooks, pre_hooks = attributes["_hooks"], attributes["_pre_hooks"]
        if not hooks and not pre_hooks:
            return self.forward(*input, **kwargs)
        for hook in list(pre_hooks.values()):
            changed = hook(self, input)
            if changed is not None:
                input = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*input, **kwargs)
        for hook in list(hooks.values()):
            changed = hook(self, input, result)
            if changed is not None:
                result = changed
        return result

    def register_forward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls `hook(module, input, output)` after each forward; a result other than None replaces
        the output."""
        return self._register("_hooks", hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls `hook(module, input)` before each forward; a result other than None replaces the
        input."""
        return self._register("_pre_hooks", hook)

    def _register(self, kind: str, hook: Callable[..., Any]) -> Handle:
        hooks = self.__dict__[kind]
        key = max(hooks, default=0) + 1
        hooks[key] = hook
        return Handle(hooks, key)

    # ---- Copies ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """For `copy.deepcopy` and `pickle`: parts are only in their registries."""
        state = dict(self.__dict__)
        for kind in _REGISTRIES:
            state[kind] = dict(state[kind])
            for name in state[kind]:
                state.pop(name, None)
        for kind in ("_hooks", "_pre_hooks", "_fleeting"):
            state[kind] = state[kind].copy()
        state["__slots__"] = slot_values(self)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        Module.__init__(self)
        for kind in _REGISTRIES:
            self.__dict__[kind].update(state[kind])
        set_slots(self, state.get("__slots__", {}))
        rest = (*_REGISTRIES, "__slots__")
        self.__dict__.update((k, v) for k, v in state.items() if k not in rest)

    # ---- Attributes -----------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before assigning {name!r}"
            )
        if isinstance(value, Parameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, Buffer):
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        elif name in self._buffers and (value is None or isinstance(value, Tensor)):
            self._buffers[name] = value
        elif name in self._parameters and (value is None or isinstance(value, Tensor)):
            if value is not None:
                raise TypeError(
                    f"{type(self).__name__}: {name!r} is a parameter: expected a Parameter, got"
                    f" {type(value).__name__}"
                )
            self._parameters[name] = None
        elif name in self._modules and value is None:
            self._modules[name] = None
        else:
            if isinstance(value, _WATCHED) or isinstance(self.__dict__.get(name), _WATCHED):
                _changes.note()
            object.__setattr__(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name: str) -> bool:
        found = False
        for known in (self._parameters, self._buffers, self._modules):
            if name in known:
                del known[name]
                found = True
        return self.__dict__.pop(name, self) is not self or found

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Same as assigning it; None for an optional parameter that this module lacks."""
        self._check_name("register_parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"register_parameter: {name!r} is {type(param).__name__}: no Parameter")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that is not a parameter; with `persistent` it is part of the state."""
        self._check_name("register_buffer", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer: {name!r} is {type(tensor).__name__}: no Tensor")
        self._buffers[name] = tensor
        (self._fleeting.discard if persistent else self._fleeting.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Same as assigning it."""
        self._check_name("add_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"add_module: {name!r} is {type(module).__name__}: no Module")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, function: str, name: str) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(f"{function}: name is {name!r}: expected a word without a dot")
        if hasattr(self, name) and not any(
            name in known for known in (self._parameters, self._buffers, self._modules)
        ):
            raise KeyError(f"{function}: the module has another attribute {name!r}")

    # ---- Traversal
    # --------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((name, module) for name, module in self._modules.items() if module is not None)

    def children(self) -> Iterator[Module]:
        return (module for _, module in self.named_children())

    def _named(self, kind: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        parts = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        for where, module in parts:
            for name, value in module.__dict__[kind].items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{where}.{name}" if where else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The submodule with a dotted name."""
        module: Module = self
        for name in target.split(".") if target else ():
            inner = module._modules.get(name)
            if inner is None:
                raise AttributeError(f"get_submodule: {type(module).__name__} has no {name!r}")
            module = inner
        return module

    # ---- State ----------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        raise RuntimeError("get_extra_state: this module has no state besides its tensors")

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError("set_extra_state: this module has no state besides its tensors")

    def _has_extra(self) -> bool:
        return type(self).get_extra_state is not Module.get_extra_state

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by name. They share memory with the module."""
        if args:
            given = [*args, *[destination, prefix, keep_vars][len(args) :]]
            destination, prefix, keep_vars = given
        made = OrderedDict() if destination is None else destination
        for name, parameter in self._parameters.items():
            if parameter is not None:
                made[prefix + name] = parameter if keep_vars else parameter.data
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._fleeting:
                made[prefix + name] = buffer
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=made, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        if self._has_extra():
            made[prefix + _EXTRA] = self.get_extra_state()
        return made

    def prepare_to_load(self, name: str, tensor: Tensor) -> Tensor:
        """A hook of `load_state_dict`, for modules whose state differs from the checkpoint's. It
        gets the tensor for this module's own parameter or buffer `name`, and returns what is copied
        there, for example a part of it. It raises ValueError if that is impossible."""
        return tensor

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> IncompatibleKeys:
        """Copy tensors (or arrays of NumPy or torch) into the module's own, which keep their type
        and device. With `strict`, missing or unexpected keys are an error."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: state_dict is {type(state_dict).__name__}: expected a mapping"
            )
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        if strict and (missing or unexpected):
            raise RuntimeError(
                f"load_state_dict: {type(self).__name__}: missing keys: {missing or 'none'};"
                f" unexpected keys: {unexpected or 'none'}"
            )
        owners = owners_of(self)
        wrong, pairs = [], []
        for name, target in own.items():
            if name not in state_dict or name.endswith(_EXTRA):
                continue
            source = tensor_from(state_dict[name], name)
            owner, own_name = owners[name]
            try:
                source = owner.prepare_to_load(own_name, source)
            except ValueError as error:
                wrong.append(f"{name}: {error}")
                continue
            pairs.append((target, source))
            if source.shape != target.shape:
                wrong.append(f"{name}: {tuple(source.shape)} for {tuple(target.shape)}")
        if wrong:
            raise RuntimeError(f"load_state_dict: shapes differ: {'; '.join(wrong)}")
        for target, source in pairs:  # after all checks: a module is never partially loaded
            target.copy_(source)
        for where, module in self.named_modules():
            key = f"{where}.{_EXTRA}" if where else _EXTRA
            if module._has_extra() and key in state_dict:
                module.set_extra_state(state_dict[key])
        return IncompatibleKeys(missing, unexpected)

    # ---- Changes --------------------------------------------------------------------------------

    def train(self: Self, mode: bool = True) -> Self:
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self: Self) -> Self:
        """Switch to inference mode, the initial mode of modules."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = False) -> Self:
        if requires_grad:
            raise RuntimeError("requires_grad_: modules are for inference: there are no gradients")
        return self

    def apply(self: Self, change: Callable[[Module], Any]) -> Self:
        for module in self.modules():
            change(module)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Move parameters and buffers to a device, convert them to a floating-point type (integers
        keep theirs), or both, with the arguments of `Tensor.to`."""
        from infinicore._dtype import dtype

        kinds = [a for a in (*args, *kwargs.values()) if isinstance(a, dtype)]
        others = [a for a in args if not isinstance(a, dtype)]
        named = {k: v for k, v in kwargs.items() if not isinstance(v, dtype)}
        if kinds and not kinds[0].is_floating_point:
            raise TypeError(f"to: {kinds[0]!r}: expected a floating-point type")

        def moved(tensor: Tensor) -> Tensor:
            made = tensor.to(*others, **named) if others or named else tensor
            return made.to(kinds[0]) if kinds and tensor.dtype.is_floating_point else made

        # Shared tensors stay shared. The old ones are kept alive until the end, so that no new one
        # gets the id of an old one.
        made: dict[int, tuple[Tensor, Tensor]] = {}
        for module in self.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    if id(parameter) not in made:
                        made[id(parameter)] = (parameter, Parameter(moved(parameter.data)))
                    module._parameters[name] = made[id(parameter)][1]  # type: ignore[assignment]
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    if id(buffer) not in made:
                        made[id(buffer)] = (buffer, moved(buffer))
                    module._buffers[name] = made[id(buffer)][1]
        return self

    def half(self: Self) -> Self:
        from infinicore._dtype import float16

        return self.to(float16)

    def bfloat16(self: Self) -> Self:
        from infinicore._dtype import bfloat16

        return self.to(bfloat16)

    def float(self: Self) -> Self:
        from infinicore._dtype import float32

        return self.to(float32)

    def cpu(self: Self) -> Self:
        return self.to("cpu")

    # ---- Printing -----------------------------------------------------------------------------

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        inner = [
            f"  ({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        head = f"{type(self).__name__}({self.extra_repr()}"
        return "\n".join([head, *inner, ")"]) if inner else head + ")"
