"""Registering, finding and calling kernels."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from infinicore import _core
from infinicore._device import device as device_class
from infinicore._dtype import dtype as dtype_class
from infinicore.op._operator import Function, function
from infinicore.op._table import FUNCTIONS
from infinicore.python_kernels import registry
from infinicore.python_kernels.languages import LANGUAGES

__all__ = ["Kernel", "builtin", "kernels", "register", "signature", "unregister"]


class Kernel:
    """A function that implements an operator. It can be called as before; as a context manager it
    is registered until the end of the block.

    >>> with library.register("relu", clamp, device="cpu"):
    ...     infinicore.nn.functional.relu(x)
    """

    def __init__(
        self,
        operator: str,
        call: Callable[..., Any],
        device: device_class,
        language: str,
        when: Callable[..., Any] | None,
        dtypes: frozenset[dtype_class] | None,
    ) -> None:
        self.operator, self.device, self.language = operator, device.type, language
        self._call, self._when, self._dtypes = call, when, dtypes
        self._place = (operator, device._underlying[0])
        self._this: Function = function(operator)
        functools.update_wrapper(self, call)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._call(*args, **keywords)

    def unregister(self) -> None:
        """Unregister the kernel."""
        unregister(self)

    @property
    def is_registered(self) -> bool:
        return self in registry.kernels.get(self._place, ())

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_registered:
            unregister(self)

    def __repr__(self) -> str:
        name = getattr(self._call, "__qualname__", repr(self._call))
        return f"<Kernel {name}: {self.operator} on {self.device}, {self.language}>"

    # ---- For infinicore._emit -------------------------------------------------------------------

    def _arguments(
        self, tensors: Sequence[Any], values: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """Calls the kernel with inputs, attributes, and `out` by name."""
        this = self._this
        inputs = [tensors[place] for _, place, *_ in this.inputs]
        attributes = {name: values[name] for name in _attributes(this) if name in values}
        outputs = [tensors[place] for _, place, _ in this.outputs]
        if not outputs:
            return inputs, attributes, {}
        return inputs, attributes, {"out": outputs[0] if len(outputs) == 1 else tuple(outputs)}

    def _accepts(self, tensors: Sequence[Any], values: dict[str, Any]) -> bool:
        inputs, attributes, out = self._arguments(tensors, values)
        if self._dtypes is not None:
            main = next(
                (t for t in (*inputs, *tensors) if t is not None and t.dtype.is_floating_point),
                next(t for t in (*inputs, *tensors) if t is not None),
            )
            if main.dtype not in self._dtypes:
                return False
        if any(0 in t.shape for t in tensors if t is not None):
            return False  # nothing to do: kernels need not handle empty tensors
        if self._when is None:
            return True
        keywords = {**attributes, **out}
        return bool(self._when(*inputs, **_known(self._when, keywords)))

    def _emit(
        self,
        tensors: list[Any],
        values: dict[str, Any],
        attributes: Sequence[Any],
        scalars: Sequence[Any],
    ) -> None:
        this = self._this
        index = next(t for t in tensors if t is not None).device._underlying[1]
        scope = LANGUAGES[self.language].scope
        given = dict(values)

        def call(there: list[Any]) -> None:
            inputs, keywords, out = self._arguments(there, given)
            with scope(self._place[1], index):
                self._call(*inputs, **keywords, **out)

        roles = [tensor.role for tensor in this.tensors]
        name = f"{this.name}[{self.language}]"
        _core.python_step(name, tensors, roles, call, this.index, this.number, attributes, scalars)


def _attributes(this: Function) -> list[str]:
    names = [*(a.name for a in this.attributes), *this.scalars]
    return [name for name in names if name not in this.derived and name not in this.counts]


def _known(call: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords that a function accepts: predicates declare only what they read."""
    parameters = inspect.signature(call).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return keywords
    names = {p.name for p in parameters}
    return {name: value for name, value in keywords.items() if name in names}


# ---- Registering ---------------------------------------------------------------------------------


def signature(operator: str) -> str:
    """The signature of kernels for an operator.

    >>> library.signature("rms_norm")
    'rms_norm(x, w, *, epsilon, out)'
    """
    this = _operator(operator)
    names = [name for name, *_ in this.inputs]
    keywords = [*_attributes(this), *(["out"] if this.outputs else [])]
    return f"{operator}({', '.join([*names, *(['*', *keywords] if keywords else [])])})"


def register(
    operator: str,
    call: Callable[..., Any] | None = None,
    *,
    device: Any,
    language: str = "python",
    when: Callable[..., Any] | None = None,
    dtypes: Sequence[dtype_class] | None = None,
) -> Any:
    """Register a Python function as the implementation of an operator on a device type.

    `when` gets the inputs, and as keywords the attributes and `out` if it has such parameters, and
    returns whether the kernel supports tensors of these layouts. It must not read values. `dtypes`
    restricts the type of the first floating-point input. The kernel registered last is tried first;
    if none accepts, the back end's runs. The tensors passed to a kernel are valid only during the
    call.

    Without `call` this is a decorator. Either way the result is a `Kernel`.
    """
    if call is None:
        return functools.partial(
            register, operator, device=device, language=language, when=when, dtypes=dtypes
        )
    this = _operator(operator)
    if language not in LANGUAGES:
        known = ", ".join(map(repr, LANGUAGES))
        raise ValueError(f"register: language is {language!r}: expected one of {known}")
    where = device_class(device)
    LANGUAGES[language].check(where)
    if isinstance(call, Kernel):
        call = call._call
    _check_signature(this, call)
    kinds = None if dtypes is None else frozenset(dtypes)
    for kind in kinds or ():
        if not isinstance(kind, dtype_class):
            raise TypeError(f"register: dtypes has {kind!r}: expected types as infinicore.float16")
    kernel = Kernel(operator, call, where, language, when, kinds)
    registry.kernels.setdefault(kernel._place, []).insert(0, kernel)
    _core.forget_all_recipes()
    return kernel


def _operator(name: str) -> Function:
    if name not in FUNCTIONS:
        close = difflib.get_close_matches(str(name), FUNCTIONS, 3)
        hint = f": is it {' or '.join(map(repr, close))}?" if close else ""
        raise ValueError(f"register: no operator is called {name!r}{hint}")
    this = function(name)
    count = len(this.tensors)
    if (
        this.found
        or any(tensor.array for tensor in this.tensors)
        or any(place >= count for place in this.data_places)
    ):
        raise ValueError(
            f"register: {name} takes lists of tensors, or memory without a layout, or gives results"
            " to the host: kernels in Python serve operators on tensors alone"
        )
    return this


def _check_signature(this: Function, call: Callable[..., Any]) -> None:
    if not callable(call):
        raise TypeError(f"register: expected a function, got {type(call).__name__}")
    inputs = [None for _ in this.inputs]
    keywords = dict.fromkeys([*_attributes(this), *(["out"] if this.outputs else [])])
    try:
        inspect.signature(call).bind(*inputs, **keywords)
    except TypeError as error:
        name = getattr(call, "__name__", "the function")
        raise TypeError(
            f"register: {name} does not take what the operator has: {error}; expected"
            f" {signature(this.name)}"
        ) from None


def unregister(kernel: Kernel | str, *, device: Any = None) -> None:
    """Unregister a kernel, or all kernels of an operator: on one device type, or on all.

    >>> library.unregister("swiglu", device="cuda")
    """
    if isinstance(kernel, Kernel):
        if not kernel.is_registered:
            raise ValueError(f"unregister: {kernel!r} is not registered")
        registry.kernels[kernel._place].remove(kernel)
    else:
        _operator(kernel)
        found = [each for each in kernels(kernel) if device is None or _is_on(each, device)]
        if not found:
            where = "" if device is None else f" on {device}"
            raise ValueError(f"unregister: no kernel serves {kernel}{where}")
        for each in found:
            registry.kernels[each._place].remove(each)
    for place in [place for place, left in registry.kernels.items() if not left]:
        del registry.kernels[place]
    _core.forget_all_recipes()


def _is_on(kernel: Kernel, device: Any) -> bool:
    return kernel._place[1] == device_class(device)._underlying[0]


def kernels(operator: str | None = None) -> list[Kernel]:
    """The registered kernels, in the order in which they are tried.

    >>> library.kernels()
    []
    """
    return [
        kernel
        for (name, _), each in sorted(registry.kernels.items(), key=lambda item: item[0])
        for kernel in each
        if operator is None or name == operator
    ]


@contextmanager
def builtin() -> Iterator[None]:
    """A context manager that disables all registered kernels.

    >>> with library.builtin():
    ...     expected = infinicore.nn.functional.swiglu(x, x)
    """
    before = dict(registry.kernels)
    registry.kernels.clear()
    _core.forget_all_recipes()
    try:
        yield
    finally:
        registry.kernels.update(before)
        _core.forget_all_recipes()
