"""Makes fork() wait until no other thread is importing a module of this package.

Only the forking thread exists in the child, where the lock of a module that another thread was
importing would stay held forever: Python resets its global import lock, but not those of modules.
Imports that have not reached this file yet are not waited for.
"""

from __future__ import annotations

# Only quick imports: until the end of this file, fork() does not wait.
import _frozen_importlib
import _imp
import _thread
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PREFIX = f"{__package__}."
_LOCKS = getattr(_frozen_importlib, "_module_locks", {})  # weak references by module name


def _held_by_other() -> Any:
    """A module lock of this package that another thread holds."""
    for name, reference in list(_LOCKS.items()):
        if name == __package__ or name.startswith(_PREFIX):
            lock = reference()
            if lock is not None and lock.count and lock.owner != _thread.get_ident():
                return lock
    return None


def _before() -> None:
    while True:
        # While this lock is held no import can begin, but imports that have begun need it to
        # continue.
        _imp.acquire_lock()
        lock = _held_by_other()
        if lock is None:
            return
        _imp.release_lock()
        try:
            lock.acquire()
        except RuntimeError:  # its owner waits for this thread, which forks during an import
            _imp.acquire_lock()
            return
        lock.release()


def _after() -> None:
    _imp.release_lock()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
registered = True
