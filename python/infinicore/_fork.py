"""Lets fork() wait until no other thread is importing a module of this package.

The child has only the forking thread, and the lock of a module that another thread was importing
would stay held there for ever: Python resets its lock of all imports, but not those of modules.
An import that has not come so far as this file cannot be waited for.
"""

from __future__ import annotations

# Nothing that takes time to import: until the end of this file, a fork does not wait.
import _frozen_importlib
import _imp
import _thread
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PREFIX = f"{__package__}."
_LOCKS = getattr(_frozen_importlib, "_module_locks", {})  # weak references by modules' names


def _held_by_other() -> Any:
    """The lock of a module of this package that another thread holds."""
    for name, reference in list(_LOCKS.items()):
        if name == __package__ or name.startswith(_PREFIX):
            lock = reference()
            if lock is not None and lock.count and lock.owner != _thread.get_ident():
                return lock
    return None


def _before() -> None:
    while True:
        # With this lock nobody begins an import; but those that began need it to go on.
        _imp.acquire_lock()
        lock = _held_by_other()
        if lock is None:
            return
        _imp.release_lock()
        try:
            lock.acquire()
        except RuntimeError:  # its owner waits for this thread, which forks in an import
            _imp.acquire_lock()
            return
        lock.release()


def _after() -> None:
    _imp.release_lock()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
registered = True
