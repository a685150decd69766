"""Modules that hold modules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from infinicore.nn.module import Module
from infinicore.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class ModuleList(Module):
    """A list of modules, which are registered as submodules.

    >>> layers = infinicore.nn.ModuleList(infinicore.nn.Linear(4, 4) for _ in range(2))
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _index(self, idx: int) -> str:
        size, index = len(self), operator.index(idx)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range for {size} modules")
        return str(index % size if size else 0)

    def _set(self, modules: Iterable[Module]) -> None:
        listed = list(modules)
        self._modules.clear()
        for i, module in enumerate(listed):
            self.add_module(str(i), module)

    @overload
    def __getitem__(self, idx: int) -> Module: ...
    @overload
    def __getitem__(self, idx: slice) -> ModuleList: ...
    def __getitem__(self, idx: int | slice) -> Module | ModuleList:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        found = self._modules[self._index(idx)]
        assert found is not None
        return found

    def __setitem__(self, idx: int, module: Module) -> None:
        self.add_module(self._index(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        left = list(self)
        del left[idx]
        self._set(left)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter([module for module in self._modules.values() if module is not None])

    def __contains__(self, module: object) -> bool:
        return any(module is each for each in self)

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def append(self, module: Module) -> ModuleList:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        listed = list(self)
        listed.insert(index, module)
        self._set(listed)

    def pop(self, idx: int = -1) -> Module:
        listed = list(self)
        found = listed.pop(idx)
        self._set(listed)
        return found


class Sequential(ModuleList):
    """Modules that are applied one after the other.

    >>> infinicore.nn.Sequential(infinicore.nn.Linear(4, 8), infinicore.nn.SiLU())
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=False)
      (1): SiLU()
    )
    """

    def __init__(self, *modules: Any) -> None:
        Module.__init__(self)
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        elif len(modules) == 1 and not isinstance(modules[0], Module):
            self.extend(modules[0])
        else:
            self.extend(modules)

    def _index(self, idx: int) -> str:
        return list(self._modules)[int(super()._index(idx))]

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            self.add_module(name, module)

    def __getitem__(self, key: str) -> Module:
        found = self._modules[key]
        assert found is not None
        return found

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        return self._modules.keys()

    def values(self) -> Iterable[Module | None]:
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module | None]]:
        return self._modules.items()


class ParameterList(Module):
    """Parameters in a list."""

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def append(self, parameter: Parameter) -> ParameterList:
        self.register_parameter(str(len(self)), parameter)
        return self

    def __getitem__(self, idx: int) -> Parameter:
        found = list(self._parameters.values())[idx]
        assert found is not None
        return found

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter([each for each in self._parameters.values() if each is not None])


class ParameterDict(Module):
    """Parameters by name. Tensors that are assigned become parameters.

    >>> infinicore.nn.ParameterDict({"a": infinicore.ones(2)})["a"].shape
    infinicore.Size([2])
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[Any] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def __getitem__(self, key: str) -> Any:
        found = self._parameters[str(key)]
        assert found is not None
        return found

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(
            str(key), value if isinstance(value, Parameter) else Parameter(value)
        )

    def __delitem__(self, key: str) -> None:
        del self._parameters[str(key)]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._parameters))

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def keys(self) -> Iterable[str]:
        return self._parameters.keys()

    def values(self) -> Iterable[Any]:
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._parameters.items()

    def get(self, key: str, default: Any = None) -> Any:
        return self._parameters.get(str(key), default)

    def pop(self, key: str) -> Any:
        found = self[key]
        del self[key]
        return found

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, parameters: Mapping[str, Any] | Iterable[Any]) -> None:
        pairs: Any = parameters.items() if isinstance(parameters, Mapping) else parameters
        for key, value in pairs:
            self[key] = value

    def copy(self) -> ParameterDict:
        return ParameterDict(dict(self.items()))
