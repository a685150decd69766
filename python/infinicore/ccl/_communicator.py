"""Communicators over tensors."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import infinicore
from infinicore import _core, context
from infinicore._device import device as device_class
from infinicore.ccl import _interruptible
from infinicore.ccl._group import NOT_YET, group, is_open, made_now
from infinicore.ccl._library import CclError, call, last_message
from infinicore.ccl._prototypes import UniqueId

_OPS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}
# InfiniCollectiveKind.
_KINDS = {
    "AllReduce": 1,
    "Reduce": 2,
    "Broadcast": 3,
    "AllGather": 4,
    "ReduceScatter": 5,
    "Gather": 6,
    "Scatter": 7,
    "AllToAll": 8,
    "Send": 9,
    "Recv": 10,
}
# Tensors that consist of one part per rank.
_WHOLE = {
    ("AllGather", "out"),
    ("Gather", "out"),
    ("Scatter", "x"),
    ("ReduceScatter", "x"),
    ("AllToAll", "x"),
    ("AllToAll", "out"),
}
_changing_environment = threading.Lock()


def unique_id() -> bytes:
    """An id with which ranks find each other: one rank creates it and sends it to the others.

    >>> len(ccl.unique_id())
    128
    """
    made = UniqueId()
    call("GetUniqueId", ctypes.byref(made))
    return bytes(made)


def init_all(devices: int | Sequence[Any]) -> list[Communicator]:
    """One communicator for each of several devices of this process, given as a number or a list.

    >>> a, b = ccl.init_all(["cpu", "cpu"])
    """
    if isinstance(devices, int):
        here = context.get_device()
        chosen = [device_class(here.type, index) for index in range(devices)]
    else:
        chosen = [device_class(each) for each in devices]
    if not chosen:
        raise ValueError("init_all: devices is empty: expected at least one")
    kinds = {each._underlying[0] for each in chosen}
    if len(kinds) > 1:
        raise ValueError(f"init_all: expected devices of one kind, got {chosen}")
    made = (ctypes.c_void_p * len(chosen))()
    numbers = (ctypes.c_int * len(chosen))(*(each._underlying[1] for each in chosen))
    call("CommInitAll", kinds.pop(), made, len(chosen), numbers)
    return [Communicator._of(handle, each) for handle, each in zip(made, chosen, strict=True)]


class Communicator:
    """A communicator: one rank of several.

    >>> comm = ccl.Communicator(ranks=1, id=ccl.unique_id(), rank=0)
    >>> comm.all_reduce(infinicore.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, ranks: int, id: bytes, rank: int, *, timeout: float | None = None) -> None:
        """Joins on the current device, and waits for the others for `timeout` seconds, which also
        applies to later operations; 0 waits forever. Default: INFINI_CCL_TIMEOUT."""
        if len(id) != ctypes.sizeof(UniqueId):
            raise ValueError(f"Communicator: id has {len(id)} bytes: expected one of unique_id()")
        handle = ctypes.c_void_p(NOT_YET)
        place = (ctypes.byref(handle), ranks, UniqueId.from_buffer_copy(id), rank)

        def join() -> None:
            if timeout is None:
                call("CommInitRank", *place)
                return
            # The time-out is read from the environment at the call; the waiting happens at the end
            # of the group.
            with group(), _environment("INFINI_CCL_TIMEOUT", f"{float(timeout)}"):
                call("CommInitRank", *place)

        if is_open():
            join()  # groups are per thread
        else:
            _interruptible.run(join, lambda: call("CommAbort", handle))
        self._begin(made_now("Communicator", handle.value), context.get_device())

    @classmethod
    def _of(cls, handle: int | None, device: Any) -> Communicator:
        made = cls.__new__(cls)
        made._begin(handle, device)
        return made

    def _begin(self, handle: int | None, device: Any) -> None:
        self._handle, self.device = handle, device
        self._ranks, self._rank = self._ask("CommCount"), self._ask("CommRank")
        # Operations use the native fast path; calls that it does not accept go to _run.
        caller = _core.CollectiveCaller(self._live(), self._ranks, self._rank, device)
        self._enqueue: Callable[..., int] = caller.run

    # ---- Properties ------------------------------------------------------------------------------

    @property
    def ranks(self) -> int:
        self._live()
        return self._ranks

    @property
    def rank(self) -> int:
        self._live()
        return self._rank

    def _ask(self, name: str) -> int:
        answer = ctypes.c_int()
        call(name, self._live(), ctypes.byref(answer))
        return answer.value

    def _live(self) -> int:
        if self._handle is None:
            raise ValueError("the communicator was closed")
        return self._handle

    def set_timeout(self, seconds: float) -> None:
        """How long an operation waits for other ranks before it fails; 0: forever."""
        call("CommSetTimeout", self._live(), seconds)

    def check(self) -> None:
        """Raises an asynchronous failure, if there was one."""
        status = ctypes.c_int()
        call("CommGetAsyncError", self._live(), ctypes.byref(status))
        if status.value:
            raise CclError(status.value, last_message())

    def split(self, color: int, key: int = 0) -> Communicator | None:
        """A communicator of the ranks that pass the same color; None for a negative color."""
        made = ctypes.c_void_p(NOT_YET)
        call("CommSplit", self._live(), color, key, ctypes.byref(made))
        handle = made_now("split", made.value)
        return Communicator._of(handle, self.device) if handle else None

    def close(self) -> None:
        """Waits for its work on this rank and closes; raises failures not reported yet."""
        if self._handle is not None:
            _core.wait_unless_interrupted(self.device)
        self._leave("CommDestroy")

    def abort(self) -> None:
        """Closes immediately: pending operations fail, here and on the other ranks."""
        self._leave("CommAbort")

    def _leave(self, name: str) -> None:
        if self._handle is None:
            return
        try:
            call(name, self._handle)  # until it is done, another thread can abort it
        finally:
            self._handle, self._enqueue = None, _refuse

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The other ranks would wait for one that fails here.
        if kind is not None:
            self.abort()
        else:
            try:
                self.check()
            finally:
                self.close()

    def __repr__(self) -> str:
        if self._handle is None:
            return "<Communicator, closed>"
        return f"<Communicator, rank {self.rank} of {self.ranks} on {self.device}>"

    # ---- Operations ------------------------------------------------------------------------------

    def all_reduce(self, x: Any, op: str = "sum", *, out: Any = None) -> Any:
        """Reduces the tensors of all ranks, in place or into `out`."""
        out = x if out is None else out
        self._run("AllReduce", x, out, _op(op))
        return out

    def reduce(self, x: Any, root: int = 0, op: str = "sum", *, out: Any = None) -> Any:
        """Reduces the tensors of all ranks to rank `root` only."""
        out = x if out is None else out
        self._run("Reduce", x, out, _op(op), _root("Reduce", root))
        return out

    def broadcast(self, x: Any, root: int = 0, *, out: Any = None) -> Any:
        """Copies the tensor of `root` to all ranks, in place or into `out`."""
        out = x if out is None else out
        self._run("Broadcast", x, out, None, _root("Broadcast", root))
        return out

    def all_gather(self, x: Any, *, out: Any = None) -> Any:
        """Concatenates the tensors of all ranks along the first dimension."""
        if out is None:
            out = self._new(x, (self.ranks * (x.shape[0] if x.ndim else 1), *x.shape[1:]))
        self._run("AllGather", x, out)
        return out

    def reduce_scatter(self, x: Any, op: str = "sum", *, out: Any = None) -> Any:
        """Reduces the tensors of all ranks, and returns this rank's part along the first
        dimension."""
        ranks = self._ranks
        if x.ndim == 0 or x.shape[0] % ranks:
            raise ValueError(
                f"reduce_scatter: x has shape {tuple(x.shape)}: expected a first dimension that "
                f"{ranks} ranks can share"
            )
        if out is None:
            out = self._new(x, (x.shape[0] // ranks, *x.shape[1:]))
        self._run("ReduceScatter", x, out, _op(op))
        return out

    def gather(self, x: Any, root: int = 0, *, out: Any = None) -> Any:
        """Gathers the tensors of all ranks on `root`; None on the others."""
        if self.rank != root:
            self._run("Gather", x, None, None, _root("Gather", root))
            return None
        if out is None:
            out = self._new(x, (self.ranks * (x.shape[0] if x.ndim else 1), *x.shape[1:]))
        self._run("Gather", x, out, None, _root("Gather", root))
        return out

    def scatter(self, x: Any, out: Any, root: int = 0) -> Any:
        """Fills `out` with this rank's part of the tensor `x` of `root`."""
        self._run("Scatter", x if self.rank == root else None, out, None, _root("Scatter", root))
        return out

    def all_to_all(self, x: Any, *, out: Any = None) -> Any:
        """Sends part i of the tensor, along its first dimension, to rank i."""
        ranks = self._ranks
        if x.ndim == 0 or x.shape[0] % ranks:
            raise ValueError(
                f"all_to_all: x has shape {tuple(x.shape)}: expected a first dimension that "
                f"{ranks} ranks can share"
            )
        out = self._new(x, tuple(x.shape)) if out is None else out
        self._run("AllToAll", x, out)
        return out

    def send(self, x: Any, to: int) -> None:
        """Sends a tensor to a rank, which must receive it."""
        self._message("Send", x, to)

    def recv(self, x: Any, source: int) -> Any:
        """Receives a tensor from a rank."""
        self._message("Recv", x, source)
        return x

    def barrier(self) -> None:
        """Blocks the host until all ranks have called it."""
        if _is_written_down():
            raise RuntimeError("barrier: the host can't wait while a graph is recorded")
        with context.device(self.device):
            self.all_reduce(infinicore.zeros(1, dtype=infinicore.int32, device=self.device))
            context.sync_stream()
        self.check()

    # ---- Implementation
    # -----------------------------------------------------------------------------

    def _new(self, x: Any, shape: tuple[int, ...]) -> Any:
        return infinicore.empty(shape, dtype=x.dtype, device=x.device)

    def _check(self, name: str, word: str, tensor: Any) -> None:
        if tensor is None:
            return
        if not tensor.is_contiguous():
            raise ValueError(f"{name}: {word} is not contiguous: expected .contiguous() of it")
        if tensor.device != self.device:
            raise ValueError(f"{name}: {word} is on {tensor.device}: expected {self.device}")

    def _run(
        self, name: str, x: Any, out: Any, op: int | None = None, root: int | None = None
    ) -> None:
        status = self._enqueue(_KINDS[name], x, out, op or 0, root or 0)
        if status > 0:
            raise CclError(status, last_message())
        if status == 0:
            return
        # Something is wrong, or recorded.
        word, typed = ("out", out) if name == "Scatter" else ("x", x)
        count = typed.numel() // self._parts(name, word)
        for word, tensor in (("x", x), ("out", out)):
            if tensor is None:
                continue
            self._check(name, word, tensor)
            if tensor.dtype != typed.dtype:
                raise TypeError(f"{name}: {word} has dtype {tensor.dtype}: expected {typed.dtype}")
            wanted = count * self._parts(name, word)
            if tensor.numel() != wanted:
                raise ValueError(f"{name}: {word} has {tensor.numel()} elements: expected {wanted}")
        if _is_written_down():
            _core.collective(_KINDS[name], x, out, self._live(), op or 0, root or 0)
            return
        rest = [each for each in (op, root) if each is not None]
        number = typed.dtype._underlying
        call(name, _address(x), _address(out), count, number, *rest, self._live(), self._stream())

    def _parts(self, name: str, word: str) -> int:
        """The number of parts in a tensor."""
        return self.ranks if (name, word) in _WHOLE else 1

    def _message(self, name: str, x: Any, peer: int) -> None:
        send, recv = (x, None) if name == "Send" else (None, x)
        status = self._enqueue(_KINDS[name], send, recv, 0, peer)
        if status > 0:
            raise CclError(status, last_message())
        if status == 0:
            return
        self._check(name, "x", x)
        if _is_written_down():
            _core.collective(_KINDS[name], send, recv, self._live(), 0, peer)
            return
        number = x.dtype._underlying
        call(name, x.data_ptr(), x.numel(), number, peer, self._live(), self._stream())

    def _stream(self) -> int | None:
        return _core.stream_on(self.device) or None


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    with _changing_environment:
        before = os.environ.get(name)
        os.environ[name] = value
        try:
            yield
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before


def _refuse(*arguments: Any) -> int:
    """Called by operations of a closed communicator; _run raises the error."""
    return -1


def _is_written_down() -> bool:
    """Whether operations are deferred: a graph is being recorded, or a function traced, which is
    refused."""
    return _core.is_graph_recording() or _core.is_tracing()


def _address(tensor: Any) -> Any:
    return None if tensor is None else tensor.data_ptr()


def _root(name: str, root: Any) -> int:
    if not isinstance(root, int):
        raise TypeError(f"{name}: root is {root!r}: expected the number of a rank")
    return root


def _op(word: str) -> int:
    number = _OPS.get(word)
    if number is None:
        raise ValueError(f"op is {word!r}: expected one of {', '.join(_OPS)}")
    return number
