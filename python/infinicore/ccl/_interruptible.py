"""Makes blocking library calls of the main thread interruptible with Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable

from infinicore import context


def run(wait: Callable[[], None], undo: Callable[[], None]) -> None:
    """Calls `wait` on the current device. For the main thread, where Python handles signals,
    another thread calls it; if a signal handler raised, a later result is undone."""
    if threading.current_thread() is not threading.main_thread():
        wait()
        return
    device = context.get_device()
    lock, done = threading.Lock(), threading.Event()
    failures: list[BaseException] = []
    is_abandoned = False

    def work() -> None:
        try:
            context.set_device(device)
            wait()
        except BaseException as error:
            failures.append(error)
        with lock:
            done.set()
        if is_abandoned and not failures:
            undo()

    threading.Thread(target=work, name="infinicore.ccl join", daemon=True).start()
    try:
        done.wait()
    except BaseException:
        with lock:
            is_abandoned = not done.is_set()
        if not is_abandoned and not failures:
            undo()
        raise
    if failures:
        raise failures[0]
