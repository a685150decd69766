"""Random number generators: a seed and a count of the numbers drawn. The same state gives the same
numbers on every device."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

from infinicore import _core
from infinicore._defaults import _place
from infinicore._device import device as device_class
from infinicore._dtype import uint8

__all__ = [
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

Tensor = _core.Tensor
Made = TypeVar("Made")
_FIRST_SEED = 67280421310721  # of a new generator, as in torch
_STATE_BYTES = 16  # the seed and the count


class Generator:
    """An independent sequence of random numbers, for `generator=`.

    >>> generator = infinicore.Generator().manual_seed(7)
    >>> first = infinicore.rand(2, generator=generator)
    >>> generator = generator.manual_seed(7)
    >>> bool((infinicore.rand(2, generator=generator) == first).all())
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._device = _place(device)
        number, index = self._device._underlying
        if index >= _core.device_count(number):
            raise RuntimeError(
                f"Generator: device is {str(self._device)!r}: expected one that is here"
            )
        self._sequence = _core.RandomSequence(_FIRST_SEED)

    @property
    def device(self) -> device_class:
        """The device that it was created for. It can be used on all of them."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed, and restart the sequence."""
        self._sequence.restart(_bits("manual_seed", seed))
        return self

    def seed(self) -> int:
        """Set a nondeterministic seed, and return it."""
        number = random.SystemRandom().getrandbits(63)
        self._sequence.restart(number)
        return number

    def initial_seed(self) -> int:
        """The seed of the sequence."""
        return self._sequence.seed

    def get_state(self) -> Tensor:
        """The current state, as bytes for `set_state`."""
        counts = (self._sequence.seed, self._sequence.taken)
        data = b"".join(each.to_bytes(8, "little") for each in counts)
        return _core.from_bytes(data, (_STATE_BYTES,), uint8, device_class("cpu"))

    def set_state(self, new_state: Tensor) -> None:
        """Restore a state that `get_state` returned."""
        is_state = isinstance(new_state, Tensor) and new_state.dtype is uint8
        if not is_state or tuple(new_state.shape) != (_STATE_BYTES,):
            raise TypeError(
                f"set_state: new_state is {_said(new_state)}: expected a tensor of {_STATE_BYTES}"
                " bytes, as get_state gives it"
            )
        data = bytes(new_state.cpu().tolist())
        self._sequence.restart(*(int.from_bytes(data[i : i + 8], "little") for i in (0, 8)))

    def clone_state(self) -> Generator:
        """A new generator with the same state."""
        made = Generator(self._device)
        made._sequence.restart(self._sequence.seed, self._sequence.taken)
        return made

    def __repr__(self) -> str:
        return f"<infinicore.Generator, seed {self._sequence.seed}, {self._sequence.taken} taken>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (str(self._device), self._sequence.seed, self._sequence.taken)


def _rebuild(where: str, seed: int, taken: int) -> Generator:
    made = Generator(where)
    made._sequence.restart(seed, taken)
    return made


def _said(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)} and type {value.dtype!r}"
    return type(value).__name__


def _bits(function: str, seed: Any) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise TypeError(f"{function}: seed is {seed!r}: expected an integer")
    number: int = seed.__index__()
    if not -(1 << 63) <= number < 1 << 64:
        raise ValueError(f"{function}: seed is {number}: expected one of 64 bits")
    return number % (1 << 64)


default_generator = Generator()  # used by all calls without a generator
default_generator._sequence = _core.default_sequence()


def draw(function: str, generator: Any, fill: Callable[..., Made], *args: Any) -> Made:
    """`fill(*args)`, with random numbers from a generator."""
    if generator is None or generator is default_generator:
        return fill(*args)
    if not isinstance(generator, Generator):
        kind = type(generator).__name__
        raise TypeError(f"{function}: generator is {kind}: expected an infinicore.Generator")
    if _core.is_recording():
        raise RuntimeError(
            f"{function}: generator is given while a graph is recorded: expected none, since a"
            " replay takes its numbers from the default generator"
        )
    _core.draw_from(generator._sequence)
    try:
        return fill(*args)
    finally:
        _core.draw_from(None)


def manual_seed(seed: int) -> Generator:
    """Set the seed of the default generator, and restart its sequence.

    >>> generator = infinicore.manual_seed(0)
    """
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed of the default generator.

    >>> generator = infinicore.manual_seed(7)
    >>> infinicore.initial_seed()
    7
    """
    return default_generator.initial_seed()


def seed() -> int:
    """Set a nondeterministic seed for the default generator, and return it.

    >>> number = infinicore.seed()
    """
    return default_generator.seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes for `set_rng_state`.

    >>> state = infinicore.get_rng_state()
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state that `get_rng_state` returned.

    >>> infinicore.set_rng_state(infinicore.get_rng_state())
    """
    default_generator.set_state(new_state)
